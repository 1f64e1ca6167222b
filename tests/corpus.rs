//! The fuzz targets' corpus, through the C ABI and without a fuzzer: what was once found stays
//! mended, and every kind of answer is met.

#![allow(unsafe_code)]

mod support;

#[path = "../fuzz/oracle/mod.rs"]
mod oracle;

use std::fs;

/// Runs a target on every file of its corpus.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = support::root().join("fuzz/corpus").join(name);
    let mut files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8, "{} has lost its files", folder.display());
    for file in files {
        // Shown only when the test fails: which file it was.
        println!("{}", file.display());
        target(&fs::read(&file).unwrap());
    }
}

#[test]
fn any_bytes_as_a_policy_are_a_sound_policy_or_an_error_with_its_place() {
    replay("policy", oracle::policy);
}

#[test]
fn any_request_gets_the_same_rule_however_its_target_is_written() {
    replay("route", oracle::route);
}

#[test]
fn any_text_as_an_address_is_a_key_of_its_network_or_refused() {
    replay("ip_key", oracle::ip_key);
}

#[test]
fn any_result_gives_header_lines_and_json_or_is_refused() {
    replay("texts", oracle::texts);
}

#[test]
fn any_arguments_of_any_function_get_a_documented_code_and_nothing_crashes() {
    replay("abi", oracle::abi);
}
