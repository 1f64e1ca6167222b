//! Clocks that are nowhere.

use crate::support;

fn wrong_clocks(manner: &str) {
    let program = support::compile("clock/range.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let words = [directory.path().to_str().unwrap(), manner];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("times"), 6);
}

#[test]
fn a_clock_before_1970_or_after_9998_is_an_error_and_no_panic() {
    wrong_clocks("now");
}

#[test]
fn with_a_wrong_clock_a_time_that_is_given_is_enough() {
    wrong_clocks("given");
}
