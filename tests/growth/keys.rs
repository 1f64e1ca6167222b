//! Random keys without end: the live windows bound the file, and a hit costs what it cost before.

use std::path::Path;
use std::time::{Duration, Instant};

use ratelite::{Limiter, Options};

use crate::support;
use crate::{hit_until_written, rows};

const START: i64 = 1_600_000_000_000 / MINUTE * MINUTE;
const MINUTE: i64 = 60_000;
const KEYS_A_MINUTE: i64 = 2_000;

/// As random as an attacker's: no two alike, in no order (a round of splitmix64 of its number).
fn key(number: u64) -> [u8; 16] {
    let mix = |number: u64| {
        let z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mix(number).to_le_bytes());
    key[8..].copy_from_slice(&mix(!number).to_le_bytes());
    key
}

fn open(store: &Path, set: impl FnOnce(&mut Options)) -> Limiter {
    let mut options = support::options();
    options.flush_interval = Duration::from_millis(1);
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), "9/min", &options).unwrap()
}

struct Minute {
    bytes: u64,
    median: Duration,
}

/// Hits with keys that were never seen, for so many minutes of the store's time.
fn attack(store: &Path, limiter: &Limiter, minutes: i64) -> Vec<Minute> {
    let of_a_minute = |minute: i64| {
        let mut times: Vec<_> = (0..KEYS_A_MINUTE)
            .map(|number| {
                let now = START + minute * MINUTE + number * MINUTE / KEYS_A_MINUTE;
                let key = key((minute * KEYS_A_MINUTE + number) as u64);
                let began = Instant::now();
                limiter.hit(None, &key, 1, Some(now)).unwrap();
                began.elapsed()
            })
            .collect();
        times.sort();
        let end = START + minute * MINUTE + MINUTE - 1;
        hit_until_written(limiter, &key((minute * KEYS_A_MINUTE) as u64), end);
        let bytes = std::fs::metadata(store).unwrap().len();
        Minute { bytes, median: times[times.len() / 2] }
    };
    (0..minutes).map(of_a_minute).collect()
}

#[test]
fn random_keys_without_end_grow_neither_the_file_nor_the_time_of_a_hit() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let minutes = if support::scale() == 1 { 30 } else { 500 };
    let limiter = open(&store, |_| {});
    let attack = attack(&store, &limiter, minutes);
    let (early, late) = (&attack[4], &attack[attack.len() - 1]);
    println!(
        "{} keys: {} then {} bytes, {:?} then {:?} a hit, {} rows",
        minutes * KEYS_A_MINUTE,
        early.bytes,
        late.bytes,
        early.median,
        late.median,
        rows(&store, "rate_limit_windows")
    );
    // The current and the previous minute, and what of a third is still being paid off.
    assert!(rows(&store, "rate_limit_windows") <= 3 * KEYS_A_MINUTE);
    let most = attack.iter().map(|minute| minute.bytes).max().unwrap();
    assert!(most <= 3 * KEYS_A_MINUTE as u64 * 120, "{most} bytes");
    // Medians, since one hit in a few hundred moves the log for all.
    assert!(late.median <= 5 * early.median, "{:?}, then {:?}", early.median, late.median);
}

#[test]
fn audit_rows_without_end_are_bounded_by_their_retention() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let limiter = open(&store, |options| {
        options.audit = true;
        options.audit_retention = Some(Duration::from_secs(120));
    });
    let attack = attack(&store, &limiter, 8 * i64::from(support::scale()));
    assert!(rows(&store, "api_calls") <= 3 * KEYS_A_MINUTE);
    let most = attack.iter().map(|minute| minute.bytes).max().unwrap();
    assert!(most <= 3 * KEYS_A_MINUTE as u64 * 300, "{most} bytes");
}

#[test]
fn without_pruning_the_same_keys_would_grow_the_file() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let limiter = open(&store, |options| options.auto_prune = false);
    attack(&store, &limiter, 8);
    assert_eq!(rows(&store, "rate_limit_windows"), 8 * KEYS_A_MINUTE);
}
