//! A fork while a process stands in line.

use crate::support;

#[test]
fn a_call_that_waits_in_vain_while_another_thread_forks_leaves_the_line() {
    let program = support::compile("turns/fork_in_line.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    assert_eq!(report.number("left"), 1, "{report}");
}
