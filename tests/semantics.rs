//! The case files, through the Rust API: the same answers as every other language.

mod support;

use ratelite::{Options, Policy};
use support::cases::{cases, open, run};

#[test]
fn every_case_is_answered_as_expected_on_a_file() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        run(case, &|| open(store.to_str().unwrap(), case, |_| {}), false);
    }
}

#[test]
fn every_case_is_answered_as_expected_in_memory() {
    for case in cases("semantics.json").as_array().unwrap() {
        run(case, &|| open(":memory:", case, |_| {}), false);
    }
}

/// Each step by a limiter of its own, which closes the store for good: nothing may live in a
/// handle.
#[test]
fn every_case_is_answered_as_expected_when_each_step_reopens() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let close_for_good = |options: &mut Options| options.keep_open = false;
        run(case, &|| open(store.to_str().unwrap(), case, close_for_good), true);
    }
}

/// As above, and without the table between two steps: what is asked for is in the rows.
#[test]
fn every_case_is_answered_as_expected_when_each_step_begins_with_an_empty_table() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let open = || {
            let _ = std::fs::remove_file(directory.path().join("limits.db-table"));
            open(store.to_str().unwrap(), case, |options| {
                options.keep_open = false;
                options.table_slots = Some(16);
            })
        };
        run(case, &open, true);
    }
}

#[test]
fn every_policy_is_accepted_or_refused_as_expected() {
    let policies = cases("policies.json");
    for text in policies["accepted"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        assert!(Policy::parse(text.as_bytes()).is_ok(), "{text:?} is refused");
    }
    for text in policies["refused"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        let error = Policy::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.code(), ratelite::Code::Policy);
        assert!(error.to_string().starts_with("policy line "), "{error}");
    }
}
