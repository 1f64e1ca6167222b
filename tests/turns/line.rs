//! The line for the write lock, which is one byte that a process locks.

use crate::support::{self, Mode, Report};

/// By the two processes that come past the one that is stopped.
const BY_OTHERS: i64 = 2 * 1_000;

#[test]
fn a_process_that_is_stopped_in_line_is_no_outage_and_hits_when_it_goes_on() {
    let report = line("continued");
    assert_eq!(report.number("stored"), BY_OTHERS + 1, "{report}");
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
    // The attempt of a hit that failed, or was never answered, stays in a table.
    let unanswered = match (manner, support::mode()) {
        ("continued", _) | (_, Mode::Rows) => 0,
        _ => 1,
    };
    assert_eq!(report.number("stored"), report.number("acknowledged") + unanswered, "{report}");
    report
}
