//! The line for the write lock, which is one byte that a process locks.

use crate::support::{self, Mode, Report, mode};

/// By the two processes that come past the one that is stopped.
const BY_OTHERS: i64 = 2 * 1_000;

#[test]
fn a_process_that_is_stopped_in_line_is_no_outage_and_hits_when_it_goes_on() {
    let report = line("continued");
    assert_eq!(report.number("acknowledged"), BY_OTHERS + 1, "{report}");
}

#[test]
fn a_process_that_is_killed_in_line_stands_there_no_more() {
    let report = line("killed");
    assert_eq!(report.number("acknowledged"), BY_OTHERS, "{report}");
}

#[test]
fn a_child_of_a_process_in_line_does_not_stand_there_for_it() {
    line("forked");
}

#[test]
fn a_call_that_waits_in_vain_leaves_the_line() {
    line("gives-up");
}

fn line(manner: &str) -> Report {
    let program = support::compile("turns/line.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), manner];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    println!("{manner}: {report}");
    // A hit that died before it was written was never answered, but is counted in the table.
    let was_killed = manner == "killed" || manner == "forked";
    let unanswered = i64::from(was_killed && mode() != Mode::Rows);
    assert_eq!(report.number("granted"), report.number("acknowledged") + unanswered, "{report}");
    report
}
