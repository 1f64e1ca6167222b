//! The clock is read in turn: under the lock that orders the hits.

use crate::support;

#[test]
fn in_windows_of_milliseconds_the_real_clock_and_the_counts_go_one_way() {
    let program = support::compile("turns/order.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let hits = (3_000 * support::scale()).to_string();
    let counted_in = if support::mode() == support::Mode::Rows { "rows" } else { "table" };
    let words = [store.to_str().unwrap(), &hits, counted_in];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    println!("{report}");
    assert!(report.number("windows") > 50, "{report}");
}
