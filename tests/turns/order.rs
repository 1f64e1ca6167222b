//! The clock is read in turn: under the lock that orders the hits.

use crate::support::{self, Mode, mode};

#[test]
fn in_windows_of_milliseconds_the_real_clock_and_the_counts_go_one_way() {
    order(3_000 * support::scale(), "hit");
    if mode() != Mode::Rows {
        order(200_000, "interval");
    }
}

fn order(hits: u32, durability: &str) {
    let program = support::compile("turns/order.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let counted_in = if mode() == Mode::Rows { "rows" } else { "table" };
    let words = [store.to_str().unwrap(), &hits.to_string(), counted_in, durability];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    println!("{durability}: {report}");
    assert!(report.number("windows") > 50, "{report}");
}
