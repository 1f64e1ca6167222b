//! Hits remove more rows than they add, so a store in steady use shrinks to its live rows, whoever
//! hits.

use std::path::Path;

use ratelite::{Limiter, Options};

use crate::support;

const MINUTE: i64 = 60_000;
const START: i64 = 1_600_000_000_000 / MINUTE * MINUTE;
const KEYS_A_MINUTE: i64 = 200;
/// The windows of the current minute and of the one before.
const LIVE_ROWS: i64 = 2 * KEYS_A_MINUTE;
/// Left by a time of more clients, or without pruning.
const OLD_ROWS: i64 = 10 * LIVE_ROWS;

fn open(store: &Path, policy: &str, set: impl FnOnce(&mut Options)) -> Limiter {
    let mut options = Options::default();
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), policy, &options).unwrap()
}

/// A store with rows that expired long ago.
fn neglected(store: &Path) {
    let limiter = open(store, "r: 9/min", |options| options.auto_prune = false);
    for number in 0..OLD_ROWS {
        limiter.hit(None, &number.to_le_bytes(), 1, Some(START - 9 * MINUTE)).unwrap();
    }
    assert_eq!(rows(store), OLD_ROWS);
}

fn rows(store: &Path) -> i64 {
    let connection = rusqlite::Connection::open(store).unwrap();
    connection.query_row("SELECT count(*) FROM rate_limit_windows", [], |row| row.get(0)).unwrap()
}

/// Other clients each minute, as many as in the last.
fn steady_use(minutes: i64, mut hit: impl FnMut(&[u8], i64)) {
    for number in 0..minutes * KEYS_A_MINUTE {
        hit(&number.to_be_bytes(), START + number * MINUTE / KEYS_A_MINUTE);
    }
}

#[test]
fn a_neglected_store_in_steady_use_shrinks_to_twice_its_live_rows() {
    // Of half a minute's windows, half the keys are live.
    for (policy, live_rows) in [("r: 9/min", LIVE_ROWS), ("r: 9/min, 9/30s", LIVE_ROWS * 3 / 2)] {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        neglected(&store);
        let limiter = open(&store, policy, |_| {});
        steady_use(OLD_ROWS / KEYS_A_MINUTE + 4, |key, now| {
            limiter.hit(None, key, 1, Some(now)).unwrap();
        });
        let rows = rows(&store);
        println!("{policy}: {OLD_ROWS} old rows, then {rows}, of which {live_rows} live");
        assert!(rows <= 2 * live_rows, "{policy}: {rows}");
    }
}

#[test]
fn hits_that_open_and_close_the_store_each_shrink_it_too() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    neglected(&store);
    // As a process of a single hit: nothing of it is left in this one.
    let close_for_good = |options: &mut Options| options.keep_open = false;
    steady_use(2, |key, now| {
        open(&store, "r: 9/min", close_for_good).hit(None, key, 1, Some(now)).unwrap();
    });
    let rows = rows(&store);
    println!("{OLD_ROWS} old rows, then {rows}, of which {LIVE_ROWS} live");
    assert!(rows <= 2 * LIVE_ROWS, "{rows}");
}
