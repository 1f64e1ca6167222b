//! How many descriptors stay open, and a host that closes them all.

use crate::support::{self, Mode, Report};

/// What the header promises of a store; without a table it is one less.
fn a_store() -> i64 {
    if support::mode() == Mode::Rows { 5 } else { 6 }
}

#[test]
fn ten_thousand_opens_and_closes_leave_the_documented_number_open() {
    for manner in ["keeps", "closes"] {
        for stores in [1, 4] {
            let times = if manner == "keeps" { 10_000 } else { 1_000 } * support::scale();
            at_most_documented(manner, times, stores);
        }
    }
}

#[test]
fn two_hundred_forks_leave_the_documented_number_open_and_the_child_none() {
    at_most_documented("forks", 200 * support::scale(), 1);
    at_most_documented("forks", 50 * support::scale(), 4);
}

#[test]
fn deleted_stores_leave_no_descriptors() {
    at_most_documented("deletes", 500 * support::scale(), 4);
}

/// A test suite whose every test has a store of its own, and deletes it, must not run out.
#[test]
fn stores_that_are_deleted_while_they_are_kept_open_do_not_pile_up() {
    let report = opened("abandons", 150, 150);
    assert!(report.number("most") <= 4 * a_store(), "{report}");
}

#[test]
fn a_host_that_closes_every_descriptor_after_rl_close_is_survived() {
    closed_by_host("opens");
}

#[test]
fn a_host_that_closes_every_descriptor_before_a_fork_is_survived() {
    closed_by_host("forks");
}

#[test]
fn a_daemon_that_closes_every_descriptor_in_its_child_is_survived() {
    closed_by_host("forks_in_child");
}

#[test]
fn a_host_without_standard_descriptors_keeps_its_store_and_its_numbers() {
    let program = support::compile("locks/closed_std.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    is_exact(&report, "no standard descriptors");
    // Those of the store, /dev/null three times, the two of this test, and what it was given.
    assert!(report.number("descriptors") <= a_store() + 3 + 2 + 3, "{report}");
}

fn at_most_documented(manner: &str, times: u32, stores: i64) {
    let report = opened(manner, times, stores);
    assert!(report.number("most") <= a_store() * stores, "{manner}: {report}");
    assert!(report.number("counted") <= a_store() * stores, "{manner}: {report}");
}

fn opened(manner: &str, times: u32, stores: i64) -> Report {
    let program = support::compile("locks/descriptors.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let words =
        [directory.path().to_str().unwrap(), manner, &times.to_string(), &stores.to_string()];
    let report = support::run_well(&program, &support::library_dir(), 300, &words);
    println!("{manner}, {times} times, {stores} stores: {report}");
    assert_eq!(report.number("rl_info"), report.number("counted"), "{manner}: {report}");
    assert_eq!(report.number("hung"), 0, "{manner}: {report}");
    report
}

fn closed_by_host(then: &str) {
    let program = support::compile("locks/closed_by_host.c", &["-lsqlite3"]);
    for numbers in ["reuses", "leaves"] {
        for manner in ["keeps", "closes"] {
            let directory = support::fresh_directory();
            let store = directory.path().join("store.db");
            let words = [store.to_str().unwrap(), then, numbers, manner];
            let report = support::run_well(&program, &support::library_dir(), 60, &words);
            is_exact(&report, &format!("{then}, {numbers}, {manner}"));
        }
    }
}

fn is_exact(report: &Report, what: &str) {
    assert_eq!(report.number("failed"), 0, "{what}: {report}");
    assert_eq!(report.number("hung"), 0, "{what}: {report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{what}: {report}");
}
