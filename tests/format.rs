//! What a store is made of: a new one, and one of before, with larger pages and another schema,
//! which goes on as it is.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use ratelite::{Limiter, Options};
use rusqlite::Connection;
use tempfile::TempDir;

const NOW: i64 = 1_767_225_645_000;
const MINUTE: i64 = 60_000;

/// As the first stores of format 1 were made.
const OLD_SCHEMA: &str = "
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE rate_limit_windows (
    expires_ms INTEGER NOT NULL CHECK (typeof(expires_ms) = 'integer'),
    rule       TEXT    NOT NULL CHECK (typeof(rule) = 'text'),
    window_ms  INTEGER NOT NULL CHECK (typeof(window_ms) = 'integer' AND window_ms >= 0),
    key        BLOB    NOT NULL CHECK (typeof(key) = 'blob'),
    attempts   INTEGER NOT NULL
        CHECK (typeof(attempts) = 'integer' AND attempts BETWEEN 0 AND 9007199254740991),
    admitted   INTEGER NOT NULL
        CHECK (typeof(admitted) = 'integer' AND admitted BETWEEN 0 AND attempts),
    PRIMARY KEY (expires_ms, rule, window_ms, key)
) WITHOUT ROWID;

CREATE TABLE api_calls (
    time_ms INTEGER NOT NULL CHECK (typeof(time_ms) = 'integer'),
    rule    TEXT    NOT NULL,
    key     BLOB    NOT NULL,
    cost    INTEGER NOT NULL CHECK (typeof(cost) = 'integer' AND cost > 0)
);
CREATE INDEX api_calls_by_time ON api_calls (time_ms);

PRAGMA application_id = 0x724C6974;
PRAGMA user_version = 1;
INSERT INTO meta (name, value) VALUES ('format', 1);";

/// With a row that alice's hits go on from.
fn old_store() -> (TempDir, PathBuf) {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let connection = Connection::open(&store).unwrap();
    connection.execute_batch(OLD_SCHEMA).unwrap();
    let row = "INSERT INTO rate_limit_windows VALUES (?1, 'r', ?2, CAST('alice' AS BLOB), 2, 2)";
    connection.execute(row, (NOW / MINUTE * MINUTE + 2 * MINUTE, MINUTE)).unwrap();
    drop(connection);
    is_old(&store);
    (directory, store)
}

fn is_old(store: &Path) {
    assert_eq!(number(store, "PRAGMA page_size"), 4096);
    assert_eq!(number(store, STRICT_TABLES), 0);
}

const STRICT_TABLES: &str = "SELECT count(*) FROM pragma_table_list WHERE strict";

fn number(store: &Path, sql: &str) -> i64 {
    Connection::open(store).unwrap().query_one(sql, [], |row| row.get(0)).unwrap()
}

fn open(store: &Path, policy: &str) -> Limiter {
    Limiter::open(store.to_str().unwrap(), policy, &Options::default()).unwrap()
}

#[test]
fn a_new_store_has_pages_of_1024_bytes_and_strict_tables() {
    let directory = support::fresh_directory();
    let (absent, empty) = (directory.path().join("absent.db"), directory.path().join("empty.db"));
    fs::write(&empty, "").unwrap();
    for store in [absent, empty] {
        open(&store, "r: 3/min").hit(None, b"alice", 1, Some(NOW)).unwrap();
        assert_eq!(number(&store, "PRAGMA page_size"), 1024);
        assert_eq!(number(&store, STRICT_TABLES), 2);
    }
}

#[test]
fn a_store_of_before_counts_on_and_stays_as_it_is() {
    let (_directory, store) = old_store();
    let limiter = open(&store, "r: 4/min; other: 9/min, 9/h");
    let hit = |key: &[u8], now: i64| limiter.hit(Some("r"), key, 1, Some(now)).unwrap();
    assert_eq!(limiter.status(Some("r"), b"alice", Some(NOW)).unwrap().count, 2);
    for count in 3..=6 {
        let outcome = hit(b"alice", NOW);
        assert_eq!((outcome.count, outcome.allowed), (count, count <= 4));
    }
    assert_eq!(limiter.refund(Some("r"), b"alice", 1, Some(NOW)).unwrap().remaining, 1);
    assert!(hit(b"alice", NOW).allowed);
    assert_eq!(hit(b"bob", NOW).count, 1);
    assert_eq!(limiter.hit(Some("other"), b"bob", 1, Some(NOW)).unwrap().count, 1);
    assert_eq!(limiter.reset(None, b"alice").unwrap(), 1);
    assert_eq!(hit(b"alice", NOW).count, 1);
    // The minutes of alice and of bob twice; the hour is bob's still.
    assert_eq!(limiter.prune(Some(NOW + 2 * MINUTE)).unwrap(), 3);
    assert_eq!(limiter.status(Some("other"), b"bob", Some(NOW)).unwrap().count, 1);
    assert_eq!(number(&store, "SELECT count(*) FROM rate_limit_windows"), 1);
    is_old(&store);
}

#[test]
fn eight_processes_on_a_store_of_before_are_each_told_another_count() {
    let (_directory, store) = old_store();
    let program = support::compile("locks/exact.c", &["-lsqlite3"]);
    let words = [store.to_str().unwrap(), "8", "2", "100"];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("acknowledged"), 8 * 2 * 100, "{report}");
    let stored = "SELECT sum(attempts) FROM rate_limit_windows WHERE rule = 'attack'";
    assert_eq!(number(&store, stored), 8 * 2 * 100, "{report}");
    is_old(&store);
}

#[test]
fn the_log_of_a_store_of_before_stays_under_32_mib() {
    let (directory, store) = old_store();
    let limiter = open(&store, "r: 4/min");
    let log = directory.path().join("limits.db-wal");
    let mut longest = 0;
    // Each is a page of the log, and more than one where it has a new row.
    for number in 0..12_000_i32 {
        limiter.hit(None, &(number % 9_000).to_le_bytes(), 1, Some(NOW)).unwrap();
        longest = longest.max(fs::metadata(&log).unwrap().len());
    }
    println!("{longest} bytes");
    assert!(longest < 32 << 20, "{longest} bytes");
    assert_eq!(number(&store, "SELECT sum(attempts) FROM rate_limit_windows"), 12_000 + 2);
}
