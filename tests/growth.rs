//! What an attacker can make a store grow to.

mod support;

#[path = "growth/crowd.rs"]
mod crowd;
#[path = "growth/house.rs"]
mod house;
#[path = "growth/keys.rs"]
mod keys;
#[path = "growth/log.rs"]
mod log;

use std::path::Path;
use std::time::{Duration, Instant};

use ratelite::Limiter;

/// In the file as it stands.
fn rows(store: &Path, table: &str) -> i64 {
    let connection = support::connect(store).unwrap();
    let count = format!("SELECT count(*) FROM {table}");
    connection.query_row(&count, [], |row| row.get(0)).unwrap()
}

/// Hits of a key until everything is written that they write: what has expired they do not.
fn hit_until_written(limiter: &Limiter, key: &[u8], now: i64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let is_written = || {
        let info: serde_json::Value = serde_json::from_str(&limiter.info().unwrap()).unwrap();
        info["durability"] == "hit" || info["table"]["lag"]["unwritten"] == 0
    };
    while !is_written() {
        assert!(Instant::now() < deadline);
        limiter.hit(None, key, 1, Some(now)).unwrap();
    }
}
