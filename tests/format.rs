//! What a store is made of: a new one; and one of the first format, which is brought up to date as
//! it is opened, and counts on.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use ratelite::{Code, Durability, Error, Limiter, MAX_UNITS, Options};
use support::{Mode, mode};
use tempfile::TempDir;

const NOW: i64 = 1_767_225_645_000;
const MINUTE: i64 = 60_000;

/// As the first stores of format 1 were made.
const FIRST_SCHEMA: &str = "
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

/// As the last ones were.
const LAST_SCHEMA: &str = "
PRAGMA page_size = 1024;
PRAGMA journal_mode = WAL;
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE rate_limit_windows (
    expires_ms INTEGER NOT NULL,
    rule       TEXT    NOT NULL,
    window_ms  INTEGER NOT NULL CHECK (window_ms >= 0),
    key        BLOB    NOT NULL,
    attempts   INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 9007199254740991),
    admitted   INTEGER NOT NULL CHECK (admitted BETWEEN 0 AND attempts),
    PRIMARY KEY (expires_ms, rule, window_ms, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_calls (
    time_ms INTEGER NOT NULL,
    rule    TEXT    NOT NULL,
    key     BLOB    NOT NULL,
    cost    INTEGER NOT NULL CHECK (cost > 0)
) STRICT;
CREATE INDEX api_calls_by_time ON api_calls (time_ms);

CREATE VIEW rate_limit_status AS
SELECT rule, CAST(key AS TEXT) AS key, attempts, admitted FROM rate_limit_windows;

PRAGMA application_id = 0x724C6974;
PRAGMA user_version = 1;
INSERT INTO meta (name, value) VALUES ('format', 1);";

/// How a library of the first format counts a hit of alice.
const OLD_HIT: &str = "
INSERT INTO rate_limit_windows (expires_ms, rule, window_ms, key, attempts, admitted)
SELECT ?1, 'r', 60000, CAST('alice' AS BLOB), 1, 1
FROM meta WHERE name = 'format' AND value = 1
ON CONFLICT (expires_ms, rule, window_ms, key) DO UPDATE SET
    attempts = attempts + 1,
    admitted = admitted + 1";

/// When the rows of this minute expire.
const EXPIRES: i64 = NOW / MINUTE * MINUTE + 2 * MINUTE;

/// Of the first format, with a row that alice's hits go on from.
fn old_store() -> (TempDir, PathBuf) {
    let alice = format!("({EXPIRES}, 'r', {MINUTE}, CAST('alice' AS BLOB), 2, 2)");
    old_store_with(FIRST_SCHEMA, &alice)
}

fn old_store_with(schema: &str, rows: &str) -> (TempDir, PathBuf) {
    // BEFORE a connection of the test's own: the two share a copy of SQLite here, of which the
    // library replaces the system calls when it is used first.
    drop(open(":memory:".as_ref(), "1/s"));
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let connection = support::connect(&store).unwrap();
    connection.execute_batch(schema).unwrap();
    let insert = format!(
        "PRAGMA ignore_check_constraints = ON; INSERT INTO rate_limit_windows VALUES {rows}"
    );
    connection.execute_batch(&insert).unwrap();
    drop(connection);
    assert_eq!(number(&store, FORMAT), 1);
    (directory, store)
}

const FORMAT: &str = "SELECT value FROM meta WHERE name = 'format'";
const STRICT_TABLES: &str = "SELECT count(*) FROM pragma_table_list WHERE strict";

/// With the pages that it was made with, and a table, if whoever opened it can have one.
fn is_up_to_date(store: &Path, page_bytes: i64) {
    let format = if table_of(store).exists() { 3 } else { 2 };
    assert_eq!([FORMAT, "PRAGMA user_version"].map(|sql| number(store, sql)), [format; 2]);
    assert_eq!(number(store, "PRAGMA page_size"), page_bytes);
    let strict = "SELECT strict FROM pragma_table_list WHERE name = 'rate_limit_windows'";
    assert_eq!(number(store, strict), 1);
    let tables = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table'";
    // SQLite's own, meta, the windows, the rules, the shared table, the calls.
    assert_eq!(number(store, tables), 6);
    number(store, "SELECT count(window_end) FROM rate_limit_status");
}

fn table_of(store: &Path) -> PathBuf {
    store.with_file_name(format!("{}-table", store.file_name().unwrap().to_str().unwrap()))
}

/// As it stands in the file.
fn number(store: &Path, sql: &str) -> i64 {
    support::connect(store).unwrap().query_one(sql, [], |row| row.get(0)).unwrap()
}

/// Once everything is written.
fn written(store: &Path, sql: &str) -> i64 {
    if mode() != Mode::Hit {
        support::write_out(store);
    }
    number(store, sql)
}

fn open(store: &Path, policy: &str) -> Limiter {
    try_open(store, policy, |_| {}).unwrap()
}

fn try_open(store: &Path, policy: &str, set: impl FnOnce(&mut Options)) -> Result<Limiter, Error> {
    let mut options = support::options();
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), policy, &options)
}

#[test]
fn a_new_store_has_pages_of_1024_bytes_and_strict_tables() {
    let directory = support::fresh_directory();
    let (absent, empty) = (directory.path().join("absent.db"), directory.path().join("empty.db"));
    fs::write(&empty, "").unwrap();
    for store in [absent, empty] {
        open(&store, "r: 3/min").hit(None, b"alice", 1, Some(NOW)).unwrap();
        is_up_to_date(&store, 1024);
        // All but `meta`, whose values are of any type.
        assert_eq!(number(&store, STRICT_TABLES), 4);
    }
}

#[test]
fn a_store_of_the_first_format_counts_on_and_is_brought_up_to_date() {
    let (_directory, store) = old_store();
    let limiter = open(&store, "r: 4/min; other: 9/min, 9/h");
    is_up_to_date(&store, 4096);
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
    assert_eq!(written(&store, "SELECT count(*) FROM rate_limit_windows"), 1);
    is_up_to_date(&store, 4096);
}

#[test]
fn every_row_of_the_first_format_counts_on() {
    let hour = 60 * MINUTE;
    let (this_hour, month) = (NOW / hour * hour, 1_767_225_600_000_i64);
    let after_next_month: i64 = 1_772_323_200_000;
    let rows = format!(
        "({EXPIRES}, 'r', {MINUTE}, CAST('alice' AS BLOB), 2, 1),
         ({EXPIRES} - {MINUTE}, 'r', {MINUTE}, CAST('alice' AS BLOB), 9, 3),
         ({this_hour} + 2 * {hour}, 'r', {hour}, CAST('alice' AS BLOB), 11, 4),
         ({after_next_month}, 'r', 0, CAST('alice' AS BLOB), 20, 5),
         ({EXPIRES}, 'another', {MINUTE}, CAST('alice' AS BLOB), 7, 6),
         ({EXPIRES}, 'r', {MINUTE}, x'00', {MAX_UNITS}, 7)"
    );
    for (schema, page_bytes) in [(FIRST_SCHEMA, 4096), (LAST_SCHEMA, 1024)] {
        let (_directory, store) = old_store_with(schema, &rows);
        let calls = format!("INSERT INTO api_calls VALUES ({NOW}, 'r', x'61', 3)");
        support::connect(&store).unwrap().execute_batch(&calls).unwrap();
        let policy = |limit: &str| format!("r: 100/{limit}; another: 100/min");
        for _ in 0..2 {
            let count = |limit: &str, rule: &str, key: &[u8], now: i64| {
                let answer = open(&store, &policy(limit)).status(Some(rule), key, Some(now));
                let answer = answer.unwrap();
                (answer.count, answer.limit - answer.remaining, answer.window_start_ms)
            };
            let this_minute = NOW / MINUTE * MINUTE;
            assert_eq!(count("min", "r", b"alice", NOW), (2, 1, this_minute));
            assert_eq!(count("min", "r", b"alice", NOW - MINUTE), (9, 3, this_minute - MINUTE));
            assert_eq!(count("h", "r", b"alice", NOW), (11, 4, this_hour));
            assert_eq!(count("month", "r", b"alice", NOW), (20, 5, month));
            assert_eq!(count("min", "another", b"alice", NOW), (7, 6, this_minute));
            assert_eq!(count("min", "r", b"\0", NOW), (MAX_UNITS, 7, this_minute));
            assert_eq!(written(&store, "SELECT count(*) FROM rate_limit_windows"), 6);
            assert_eq!(number(&store, "SELECT total(cost) = 3 FROM api_calls"), 1);
            is_up_to_date(&store, page_bytes);
        }
        assert_eq!(open(&store, &policy("min")).reset(Some("r"), b"alice").unwrap(), 4);
        assert_eq!(written(&store, "SELECT count(*) FROM rate_limit_windows"), 2);
    }
}

#[test]
fn a_damaged_row_of_the_first_format_is_a_full_counter() {
    for damage in [
        "'many', 0",
        "1.5, 0",
        "x'00', 0",
        "-1, -1",
        "3, -5",
        "3, 4",
        "9007199254740992, 0",
        "1, 'one'",
    ] {
        let rows = format!(
            "({EXPIRES}, 'r', {MINUTE}, CAST('alice' AS BLOB), {damage}),
             ({EXPIRES}, 'r', {MINUTE}, CAST('bob' AS BLOB), 3, 2)"
        );
        let (_directory, store) = old_store_with(FIRST_SCHEMA, &rows);
        let limiter = open(&store, "r: 9007199254740991/min");
        let answer = limiter.status(None, b"alice", Some(NOW)).unwrap();
        assert_eq!((answer.count, answer.remaining, answer.allowed), (MAX_UNITS, 0, false));
        assert!(!limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().allowed, "{damage}");
        assert_eq!(limiter.hit(None, b"bob", 1, Some(NOW)).unwrap().count, 4, "{damage}");
        assert_eq!(limiter.reset(None, b"alice").unwrap(), 1);
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 1, "{damage}");
    }
}

/// It was no counter of anybody, and in nobody's way before.
#[test]
fn a_row_of_the_first_format_that_no_hit_could_find_is_in_nobodys_way() {
    for lost in [
        "('never', 'r', 60000, x'61', 1, 1)",
        "(9223372036854775807, 'r', 60000, x'61', 1, 1)",
        "(-9223372036854775807, 'r', 60000, x'61', 1, 1)",
        "(120000, x'00', 60000, x'61', 1, 1)",
        "(120000, 'r', 'long', x'61', 1, 1)",
        "(120000, 'r', 1.5, x'61', 1, 1)",
        "(120000, 'r', -5, x'61', 1, 1)",
        "(120000, 'r', 9223372036854775807, x'61', 1, 1)",
        "(120000, 'r', 60000, 'a', 1, 1)",
    ] {
        let rows = format!("({EXPIRES}, 'r', {MINUTE}, CAST('alice' AS BLOB), 2, 2), {lost}");
        let (_directory, store) = old_store_with(FIRST_SCHEMA, &rows);
        let limiter = try_open(&store, "r: 9/min", |_| {});
        let limiter = limiter.unwrap_or_else(|error| panic!("{lost}: {error}"));
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 3);
        assert_eq!(limiter.prune(Some(0)).unwrap(), 0);
        is_up_to_date(&store, 4096);
    }
}

#[test]
fn the_secret_of_a_store_of_the_first_format_stays_its_own() {
    let directory = support::fresh_directory();
    let (new, store) = (directory.path().join("new.db"), directory.path().join("limits.db"));
    let with = |store: &Path, secret: Option<&str>| {
        try_open(store, "r: 9/min", |options| {
            options.key_secret = secret.map(|secret| secret.into());
            options.keep_open = false;
        })
    };
    with(&new, Some("a secret")).unwrap().hit(None, b"alice", 2, Some(NOW)).unwrap();
    // What such a store says of its secret and of alice, in the first format.
    let old = support::connect(&store).unwrap();
    old.execute_batch(FIRST_SCHEMA).unwrap();
    old.execute("ATTACH ?1 AS new", [new.to_str().unwrap()]).unwrap();
    old.execute_batch(
        "INSERT INTO meta SELECT name, value FROM new.meta WHERE name = 'key_secret_check';
         INSERT INTO rate_limit_windows
         SELECT expires_ms, rule, window_ms, key, attempts, admitted FROM new.rate_limit_windows;",
    )
    .unwrap();
    drop(old);
    for other in [None, Some("another")] {
        assert_eq!(with(&store, other).err().unwrap().code(), Code::Invalid);
    }
    let limiter = with(&store, Some("a secret")).unwrap();
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 3);
}

#[test]
fn a_library_of_the_first_format_counts_nothing_in_a_store_that_was_brought_up_to_date() {
    let (_directory, store) = old_store();
    let old_hit = || support::connect(&store).unwrap().execute(OLD_HIT, [EXPIRES]);
    assert_eq!(old_hit().unwrap(), 1);
    let limiter = open(&store, "r: 9/min");
    // By its own check, with which each of its transactions begins: it knows format 1 alone.
    assert_ne!(number(&store, FORMAT), 1);
    assert!(old_hit().is_err());
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 4);
    assert_eq!(written(&store, "SELECT sum(attempts) FROM rate_limit_windows"), 4);
}

#[test]
fn a_store_of_the_first_format_gets_the_table_that_its_first_opener_wants() {
    let (_directory, store) = old_store();
    let slots = |options: &mut Options| options.table_slots = Some(100);
    drop(try_open(&store, "r: 9/min", slots).unwrap());
    let table = fs::metadata(table_of(&store)).unwrap();
    assert!(table.len() < 1 << 20, "{} bytes", table.len());
    has_slots(&store, 112);
}

#[test]
fn a_store_has_the_number_of_slots_that_it_was_made_with() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let slots = |options: &mut Options| options.table_slots = Some(100);
    drop(try_open(&store, "r: 9/min", slots).unwrap());
    has_slots(&store, 112);
    let usual = directory.path().join("usual.db");
    drop(open(&usual, "r: 9/min"));
    has_slots(&usual, 1 << 18);
}

/// For want of space, say: whoever gives a number that fits may go on.
#[test]
fn a_store_whose_table_could_not_be_made_is_given_one_of_another_size() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    drop(try_open(&store, "r: 9/min", |options| options.keep_open = false).unwrap());
    fs::remove_file(table_of(&store)).unwrap();
    let connection = support::connect(&store).unwrap();
    connection.execute_batch("UPDATE shared_table SET id = 0").unwrap();
    drop(connection);
    drop(try_open(&store, "r: 9/min", |options| options.table_slots = Some(100)).unwrap());
    has_slots(&store, 112);
}

/// Which is the next multiple of 16; another one is refused, none is fine.
fn has_slots(store: &Path, slots: u64) {
    let with = |slots: Option<u64>| {
        try_open(store, "r: 9/min", |options| options.table_slots = slots).map(drop)
    };
    for same in [None, Some(slots), Some(slots - 15)] {
        with(same).unwrap();
    }
    for other in [1, slots - 16, slots + 1, 1 << 32] {
        let error = with(Some(other)).unwrap_err();
        assert_eq!(error.code(), Code::Invalid, "{error}");
        assert!(error.to_string().contains(&format!("table_slots {slots}")), "{error}");
    }
    for impossible in [0, (1 << 32) + 1] {
        assert_eq!(with(Some(impossible)).unwrap_err().code(), Code::Invalid);
    }
}

#[test]
fn eight_processes_on_a_store_of_the_first_format_are_each_told_another_count() {
    let (_directory, store) = old_store();
    let program = support::compile("locks/exact.c", &["-lsqlite3"]);
    let words = [store.to_str().unwrap(), "8", "2", "100"];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("acknowledged"), 8 * 2 * 100, "{report}");
    let stored = "SELECT sum(attempts) FROM rate_limit_windows WHERE rule = 'attack'";
    assert_eq!(written(&store, stored), 8 * 2 * 100, "{report}");
    is_up_to_date(&store, 4096);
}

#[test]
fn the_log_of_a_store_with_large_pages_stays_under_32_mib() {
    let (directory, store) = old_store();
    let each_hit = |options: &mut Options| options.durability = Durability::Hit;
    let limiter = try_open(&store, "r: 4/min", each_hit).unwrap();
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

/// A store is counted in one way by everybody, for good: the way that it was made for.
#[test]
fn a_store_that_was_made_without_a_table_counts_in_rows_for_everybody() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let program = support::compile("locks/exact.c", &["-lsqlite3"]);
    let words = [store.to_str().unwrap(), "2", "1", "50"];
    let without_table = support::library_without("no-table");
    support::run_well(&program, &without_table, 60, &words);
    let limiter = open(&store, "attack: 9007199254740991/366d");
    let count = limiter.status(None, b"one key", None).unwrap().count;
    assert_eq!(count, 100);
    assert_eq!(limiter.hit(None, b"one key", 1, None).unwrap().count, 101);
    assert_eq!(number(&store, "SELECT sum(attempts) FROM rate_limit_windows"), 101);
    assert_eq!(number(&store, FORMAT), 2);
    assert!(!table_of(&store).exists());
}

#[test]
fn a_process_that_cannot_have_a_table_is_refused_where_others_count_in_one() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let limiter = open(&store, "r: 9/min");
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    let program = support::compile("locks/open.c", &["-lsqlite3"]);
    let without_table = support::library_without("no-table");
    let report = support::run_well(&program, &without_table, 60, &[&store]);
    assert_eq!(report.number("code"), -9, "{report}");
    assert!(report.text.contains("shared table"), "{report}");
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 2);
    assert_eq!(written(&store, "SELECT sum(attempts) FROM rate_limit_windows"), 2);
}
