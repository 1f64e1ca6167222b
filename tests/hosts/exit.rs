//! Processes that end without a word of farewell.

use crate::support::{self, Report};

fn ends(manner: &str, rounds: u32) -> Report {
    let program = support::compile("hosts/exit.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), manner, &(rounds * support::scale()).to_string()];
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    println!("{manner}: {report}");
    assert_eq!(report.number("hung"), 0, "{manner}: {report}");
    report
}

#[test]
fn a_process_that_ends_with_open_limiters_ends_well_and_loses_nothing() {
    for manner in ["returns", "exits", "hits_at_exit", "main_thread_ends"] {
        let report = ends(manner, 20);
        assert_eq!(report.number("failed"), 0, "{manner}: {report}");
        assert_eq!(report.number("stored"), report.number("acknowledged"), "{manner}: {report}");
    }
}

#[test]
fn a_process_that_ends_while_threads_are_inside_a_hit_loses_nothing_that_was_answered() {
    let report = ends("is_inside", 20);
    assert_eq!(report.number("failed"), 0, "{report}");
    let stored = report.number("stored");
    assert!(stored >= report.number("acknowledged"), "{report}");
    assert!(stored <= report.number("started"), "{report}");
}

#[test]
fn limiters_that_are_closed_at_once_leave_nothing_unwritten() {
    let program = support::compile("hosts/last_closes.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let processes = 400 * support::scale();
    let words = [store.to_str().unwrap(), &processes.to_string()];
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    assert_eq!(report.number("written"), i64::from(processes), "{report}");
}
