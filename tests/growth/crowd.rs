//! Many processes at once, whose hits each add a row.

use crate::support;

#[test]
fn a_store_that_eight_processes_use_at_once_shrinks_too() {
    let program = support::compile("growth/crowd.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), "8", "4000"];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    println!("{report}");
    // Two windows of 10 ms are live; a hit of eight processes takes more than 4 µs.
    assert!(report.number("rows") * 4 < report.number("hits"), "{report}");
}
