//! A write transaction of the host's, which keeps the store's write lock.

use crate::support::{self, Mode};

#[test]
fn the_hits_of_live_keys_go_on_in_a_hosts_transaction_and_the_lag_tells_of_it() {
    // In rows such a hit waits for the host's end, in vain: see `signal_mask.c`.
    if support::mode() == Mode::Rows {
        return;
    }
    let program = support::compile("locks/host_transaction.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    println!("{report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
    // Its patience is 10 s; but one that tries to write for all waits for a moment.
    assert!(report.number("slowest_ms") < 1_000, "{report}");
}
