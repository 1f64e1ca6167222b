//! Many processes at once, whose hits each add a row.

use crate::support::{self, Report};

#[test]
fn a_store_that_eight_processes_use_at_once_shrinks_too() {
    let report = crowd("4000", "hit");
    // Two windows of 10 ms are live; a hit of eight processes takes more than 4 µs.
    assert!(report.number("rows") * 4 < report.number("hits"), "{report}");
}

#[test]
fn a_store_that_eight_processes_write_at_an_interval_holds_little_more_than_live_rows() {
    let report = crowd("40000", "interval");
    assert!(report.number("rows") * 16 < report.number("hits"), "{report}");
}

fn crowd(hits: &str, durability: &str) -> Report {
    let program = support::compile("growth/crowd.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), "8", hits, durability];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    println!("{durability}: {report}");
    report
}
