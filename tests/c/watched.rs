//! The C programs under tools that see every byte: no leak, no access outside of its memory, no
//! undefined behaviour.

use std::path::Path;

use super::{passes, program, support};

/// Programs and their arguments after a fresh directory, sized for a tool that slows them down.
const PROGRAMS: [(&str, &[&str]); 5] =
    [("cases", &[]), ("arguments", &[]), ("options", &[]), ("texts", &[]), ("hygiene", &["20"])];

const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Memory that is reachable at the end is the registry of open stores, as designed; "possibly lost"
/// are hash tables, which Rust points into the middle of.
const VALGRIND: [&str; 5] = [
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect",
];

fn under_valgrind(program: &Path, args: &[&str]) {
    let program = [program.to_str().unwrap()];
    passes(Path::new("valgrind"), 100, &[&VALGRIND[..], &program, args].concat());
}

#[test]
fn valgrind_finds_nothing_in_any_program() {
    for (name, more) in PROGRAMS {
        let directory = support::fresh_directory();
        let directory = directory.path().to_str().unwrap();
        under_valgrind(&program(name, &[]), &[&[directory], more].concat());
    }
}

#[test]
fn valgrind_finds_nothing_in_eight_threads() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let exactness = program("exactness", &[]);
    under_valgrind(&exactness, &["threads", store.to_str().unwrap(), "30"]);
}

#[test]
fn address_and_undefined_behaviour_sanitizers_find_nothing_in_any_program() {
    for (name, more) in PROGRAMS {
        let directory = support::fresh_directory();
        let directory = directory.path().to_str().unwrap();
        passes(&program(name, &SANITIZERS), 60, &[&[directory], more].concat());
    }
}

#[test]
fn address_and_undefined_behaviour_sanitizers_find_nothing_in_eight_processes() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let exactness = program("exactness", &SANITIZERS);
    passes(&exactness, 60, &["processes", store.to_str().unwrap()]);
}
