//! Hits remove more rows than they add, so a store in steady use shrinks to its live rows, whoever
//! hits.

use std::path::Path;
use std::time::Duration;

use ratelite::{Limiter, Options};

use crate::support::{self, Mode, mode};
use crate::{hit_until_written, rows};

const MINUTE: i64 = 60_000;
const START: i64 = 1_600_000_000_000 / MINUTE * MINUTE;
const KEYS_A_MINUTE: i64 = 200;
/// The windows of the current minute and of the one before.
const LIVE_ROWS: i64 = 2 * KEYS_A_MINUTE;
/// Left by a time of more clients, or without pruning.
const OLD_ROWS: i64 = 10 * LIVE_ROWS;

fn open(store: &Path, policy: &str, set: impl FnOnce(&mut Options)) -> Limiter {
    let mut options = support::options();
    options.flush_interval = Duration::from_millis(1);
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), policy, &options).unwrap()
}

/// A store with rows that expired long ago.
fn neglected(store: &Path) {
    let limiter = open(store, "r: 9/min", |options| options.auto_prune = false);
    for number in 0..OLD_ROWS {
        limiter.hit(None, &number.to_le_bytes(), 1, Some(START - 9 * MINUTE)).unwrap();
    }
    if mode() != Mode::Hit {
        support::write_out(store);
    }
    assert_eq!(rows(store, "rate_limit_windows"), OLD_ROWS);
}

/// Other clients each minute, as many as in the last. At the end of each, `and_then` of its last.
fn steady_use(minutes: i64, mut hit: impl FnMut(&[u8], i64), mut and_then: impl FnMut(&[u8], i64)) {
    for number in 0..minutes * KEYS_A_MINUTE {
        let (key, now) = (number.to_be_bytes(), START + number * MINUTE / KEYS_A_MINUTE);
        hit(&key, now);
        if (number + 1) % KEYS_A_MINUTE == 0 {
            and_then(&key, now);
        }
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
        let hit = |key: &[u8], now| {
            limiter.hit(None, key, 1, Some(now)).unwrap();
        };
        let minutes = OLD_ROWS / KEYS_A_MINUTE + 4;
        steady_use(minutes, hit, |key, now| hit_until_written(&limiter, key, now));
        let rows = rows(&store, "rate_limit_windows");
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
    let open = || {
        open(&store, "r: 9/min", |options| {
            options.keep_open = false;
            options.flush_interval = support::options().flush_interval;
        })
    };
    let hit = |key: &[u8], now| {
        open().hit(None, key, 1, Some(now)).unwrap();
    };
    steady_use(2, hit, |key, now| hit_until_written(&open(), key, now));
    let rows = rows(&store, "rate_limit_windows");
    println!("{OLD_ROWS} old rows, then {rows}, of which {LIVE_ROWS} live");
    assert!(rows <= 2 * LIVE_ROWS, "{rows}");
}
