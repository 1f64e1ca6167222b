//! What a call leaves locked.

use crate::support;

#[test]
fn no_call_leaves_a_lock_behind_whatever_comes_of_it() {
    // Of the shim this uses a part.
    let flags = ["-lsqlite3", "-ldl", "-Wno-unused-function"];
    let program = support::compile("turns/left.c", &flags);
    let directory = support::fresh_directory();
    let stores = ["store.db", "at-an-interval.db"].map(|name| directory.path().join(name));
    let report = support::run_well(&program, &support::library_dir(), 60, &stores);
    println!("{report}");
    assert!(report.number("faults") > 10, "{report}");
}
