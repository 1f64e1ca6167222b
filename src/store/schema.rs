//! The store's SQL: every statement there is, and why the tables are as they are.

/// `application_id` of a store: "rLit". Tells our files from all others by byte 68 of the header.
pub(super) const APPLICATION_ID: i32 = 0x724C_6974;

/// `user_version` of a store, and `format` in its `meta` table. Who counts is decided when a store is
/// made, for all processes alike: its rows alone, or the shared table, of which the rows are a copy.
pub(super) const FORMAT_ROWS: i64 = 2;
pub(super) const FORMAT_TABLE: i64 = 3;

/// Brought up to date when it is opened.
pub(super) const FIRST_FORMAT: i64 = 1;

/// A newer one is refused.
pub(super) const NEWEST_FORMAT: i64 = FORMAT_TABLE;

/// A hit writes one page into the log: with small ones it is cheaper, and the log is shorter (13.6 µs
/// a hit on disk, 19.5 with 4 KiB). At 512 bytes rows of long keys would need a second page.
pub(super) const PAGE_BYTES: i32 = 1024;

/// Everything a new store consists of, but for the values in `meta`.
///
/// * `expires_ms` comes first in the key: it is the end of the window *after* the row's own, which
///   is what pruning asks for. So live rows sit together, pruning is one range delete from the
///   front of the tree, and no second index is needed. With `window_ms` it fixes the row's start.
/// * `hash` comes second, so that rows which the shared table writes together sit together: see
///   [`crate::table::place`].
/// * `WITHOUT ROWID`: the key is the tree, 35 bytes a row instead of 70.
/// * `STRICT`: the types need no `CHECK`, which each hit would pay for.
/// * `window_ms` is 0 for the calendar month, which has no one length.
/// * `attempts` and `admitted` end at 2^53 - 1; SQLite would turn an overflow into REAL, so the
///   schema says what they are, for whoever writes here by hand.
/// * `rate_limit_rules` tells which windows a rule has, whoever asks; its `id` stands for both.
/// * `shared_table` has one row where the store counts in a table: which one (0: none was made yet),
///   the number of the last transaction that wrote for it, and the latest start of a row.
/// * `api_calls` is a plain rowid table, appended to and read in order of time; its index serves
///   the retention.
pub(super) const SCHEMA: [&str; 4] = [META, COUNTERS, AUDITED, VIEW];

pub(super) const META: &str = "
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value
) WITHOUT ROWID;";

pub(super) const COUNTERS: &str = "
CREATE TABLE rate_limit_rules (
    id        INTEGER NOT NULL PRIMARY KEY,
    rule      TEXT    NOT NULL,
    window_ms INTEGER NOT NULL CHECK (window_ms >= 0),
    UNIQUE (rule, window_ms)
) STRICT;

CREATE TABLE shared_table (
    id               INTEGER NOT NULL,
    sequence         INTEGER NOT NULL,
    highest_start_ms INTEGER NOT NULL,
    slots            INTEGER NOT NULL
) STRICT;

CREATE TABLE rate_limit_windows (
    expires_ms INTEGER NOT NULL,
    hash       INTEGER NOT NULL,
    rule       TEXT    NOT NULL,
    window_ms  INTEGER NOT NULL CHECK (window_ms >= 0),
    key        BLOB    NOT NULL,
    attempts   INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 9007199254740991),
    admitted   INTEGER NOT NULL CHECK (admitted BETWEEN 0 AND attempts),
    PRIMARY KEY (expires_ms, hash, rule, window_ms, key)
) STRICT, WITHOUT ROWID;";

pub(super) const AUDITED: &str = "
CREATE TABLE api_calls (
    time_ms INTEGER NOT NULL,
    rule    TEXT    NOT NULL,
    key     BLOB    NOT NULL,
    cost    INTEGER NOT NULL CHECK (cost > 0)
) STRICT;
CREATE INDEX api_calls_by_time ON api_calls (time_ms);";

pub(super) const VIEW: &str = "
CREATE VIEW rate_limit_status AS
WITH spans AS (
    SELECT
        rule, key, window_ms, attempts, admitted,
        CASE window_ms
            WHEN 0 THEN strftime('%s', expires_ms / 1000, 'unixepoch', '-2 months') * 1000
            ELSE expires_ms - 2 * window_ms
        END AS start_ms,
        CASE window_ms
            WHEN 0 THEN strftime('%s', expires_ms / 1000, 'unixepoch', '-1 months') * 1000
            ELSE expires_ms - window_ms
        END AS end_ms
    FROM rate_limit_windows
)
SELECT
    rule,
    CAST(key AS TEXT) AS key,
    CASE
        WHEN window_ms = 0 THEN 'month'
        WHEN window_ms % 1000 = 0 THEN (window_ms / 1000) || ' s'
        ELSE window_ms || ' ms'
    END AS window,
    strftime('%Y-%m-%dT%H:%M:%fZ', start_ms / 1000.0, 'unixepoch') AS window_start,
    strftime('%Y-%m-%dT%H:%M:%fZ', end_ms / 1000.0, 'unixepoch') AS window_end,
    attempts,
    admitted
FROM spans;
";

pub(super) const COUNT_TABLES: &str = "SELECT count(*) FROM sqlite_schema";

pub(super) const SET_META: &str = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
pub(super) const GET_META: &str = "SELECT value FROM meta WHERE name = ?1";

pub(super) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
pub(super) const BEGIN_READ: &str = "BEGIN";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";

pub(super) const GET_COUNTER: &str = "
SELECT attempts, admitted
FROM rate_limit_windows
WHERE expires_ms = ?1 AND hash = ?2 AND rule = ?3 AND window_ms = ?4 AND key = ?5";

/// A hit under a rule of one limit, whole; its functions are those of [`super::one_limit`]. Changes
/// no row where the store has another format.
pub(super) const HIT: &str = "
INSERT INTO rate_limit_windows (expires_ms, hash, rule, window_ms, key, attempts, admitted)
SELECT hit_expires_ms(), ?1, ?2, ?3, ?4, hit_attempts(), hit_admitted()
FROM meta WHERE name = 'format' AND value = ?5
ON CONFLICT (expires_ms, hash, rule, window_ms, key) DO UPDATE SET
    attempts = hit_attempts(attempts, admitted),
    admitted = hit_admitted(attempts, admitted)";

pub(super) const PUT_COUNTER: &str = "
INSERT INTO rate_limit_windows (expires_ms, hash, rule, window_ms, key, attempts, admitted)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO UPDATE SET attempts = excluded.attempts, admitted = excluded.admitted";

pub(super) const AUDIT: &str = "
INSERT INTO api_calls (time_ms, rule, key, cost) VALUES (?1, ?2, ?3, ?4)";

/// When the row that expires first does.
pub(super) const FIRST_EXPIRY: &str = "
SELECT expires_ms FROM rate_limit_windows ORDER BY expires_ms LIMIT 1";

/// The last key of the first `?2 + 1` expired rows: where a slice of pruning ends.
pub(super) const END_OF_SLICE: &str = "
SELECT expires_ms, hash, rule, window_ms, key
FROM rate_limit_windows
WHERE expires_ms <= ?1
ORDER BY expires_ms, hash, rule, window_ms, key
LIMIT 1 OFFSET ?2";

pub(super) const PRUNE_SLICE: &str = "
DELETE FROM rate_limit_windows
WHERE (expires_ms, hash, rule, window_ms, key) <= (?1, ?2, ?3, ?4, ?5)";

pub(super) const PRUNE_REST: &str = "DELETE FROM rate_limit_windows WHERE expires_ms <= ?1";

pub(super) const PRUNE_AUDIT_SLICE: &str = "
DELETE FROM api_calls
WHERE rowid IN (SELECT rowid FROM api_calls WHERE time_ms <= ?1 ORDER BY time_ms LIMIT ?2)";

/// The next time at which rows expire after ?1. The key does not begin with the client, so a
/// client's rows are found by stepping from time to time, each one seek.
pub(super) const NEXT_EXPIRY: &str = "
SELECT expires_ms FROM rate_limit_windows WHERE expires_ms > ?1 ORDER BY expires_ms LIMIT 1";

pub(super) const DELETE_COUNTER: &str = "
DELETE FROM rate_limit_windows
WHERE expires_ms = ?1 AND hash = ?2 AND rule = ?3 AND window_ms = ?4 AND key = ?5";

pub(super) const WINDOWS_OF_RULE: &str = "
SELECT window_ms, id FROM rate_limit_rules WHERE rule = ?1";

pub(super) const RULE_OF_NUMBER: &str = "
SELECT rule FROM rate_limit_rules WHERE id = ?1";

pub(super) const ADD_RULE: &str = "
INSERT INTO rate_limit_rules (rule, window_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

pub(super) const ADD_TABLE: &str = "
INSERT INTO shared_table (id, sequence, highest_start_ms, slots) VALUES (0, 0, ?1, ?2)";

pub(super) const GET_TABLE: &str = "
SELECT id, sequence, highest_start_ms, slots FROM shared_table";

pub(super) const REPLACE_TABLE: &str = "
UPDATE shared_table SET id = ?1, slots = ?2, sequence = 0";

pub(super) const ADVANCE_TABLE: &str = "
UPDATE shared_table SET sequence = ?2, highest_start_ms = max(highest_start_ms, ?3) WHERE id = ?1";

/// From the first format to this one, but for the rows, which need their hash.
pub(super) const UPGRADE_BEGIN: &str = "
ALTER TABLE rate_limit_windows RENAME TO rate_limit_windows_1;
DROP VIEW IF EXISTS rate_limit_status;";

pub(super) const UPGRADE_RULES: &str = "
INSERT INTO rate_limit_rules (rule, window_ms)
SELECT DISTINCT rule, window_ms
FROM rate_limit_windows_1
WHERE typeof(rule) = 'text' AND typeof(window_ms) = 'integer' AND window_ms >= 0";

pub(super) const UPGRADE_ROWS: &str = "
SELECT expires_ms, rule, window_ms, key, attempts, admitted FROM rate_limit_windows_1";

pub(super) const UPGRADE_END: &str = "
DROP TABLE rate_limit_windows_1";

#[cfg(test)]
mod tests {
    use super::super::one_limit::OneLimit;
    use super::*;

    /// Each statement that stands in a hot path or under a lock must seek, never scan.
    #[test]
    fn every_statement_seeks() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(&SCHEMA.concat()).unwrap();
        OneLimit::install(&connection).unwrap();
        for sql in [
            HIT,
            GET_META,
            GET_COUNTER,
            END_OF_SLICE,
            PRUNE_SLICE,
            PRUNE_REST,
            PRUNE_AUDIT_SLICE,
            NEXT_EXPIRY,
            DELETE_COUNTER,
            WINDOWS_OF_RULE,
            RULE_OF_NUMBER,
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let nulls = vec![None::<i64>; statement.parameter_count()];
            let plan: Vec<String> = statement
                .query_map(rusqlite::params_from_iter(nulls), |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert!(plan.iter().all(|step| !step.starts_with("SCAN")), "{sql}: {plan:?}");
        }
    }
}
