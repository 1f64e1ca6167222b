//! Steps while a hit waits.

use crate::support;

#[test]
fn a_step_during_a_wait_for_the_lock_counts_the_hit_where_the_wait_ended() {
    let program = support::compile("clock/wait.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    assert_eq!(report.number("steps"), 6);
}
