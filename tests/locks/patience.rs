//! A first open waits for others until its own deadline, and not longer for other threads.

use crate::support;

#[test]
fn an_opens_patience_is_its_own_and_a_fork_does_not_wait_for_it() {
    let program = support::compile("locks/patience.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    println!("{report}");
    // Its patience is 0.1 s, the other thread's 4 s.
    assert!((100..1_000).contains(&report.number("alone_ms")), "{report}");
    assert!(report.number("slowest_ms") < 1_000, "{report}");
    assert!(report.number("fork_ms") < 1_000, "{report}");
}
