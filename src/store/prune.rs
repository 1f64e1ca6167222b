//! Removing what no limit asks for any more.

use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::failure::Failure;
use super::schema;
use crate::window::Time;

/// How many rows one slice of pruning removes under the write lock: about a millisecond's work.
pub(super) const SLICE_ROWS: i64 = 1_000;

/// How often a pruner moves the log into the database: each MiB or so, before a hit has to.
pub(super) const SLICES_BETWEEN_MOVES: u64 = 20;

/// Whether there is a counter row to remove. Reads one row, and waits for nobody.
pub(super) fn has_expired(connection: &Connection, now: Time) -> Result<bool, Failure> {
    let mut first = connection.prepare_cached(schema::FIRST_EXPIRY)?;
    // A value of any type: see below.
    let first: Option<Value> = first.query_row([], |row| row.get(0)).optional()?;
    Ok(match first {
        None => false,
        Some(Value::Integer(expires_ms)) => expires_ms <= now.millis(),
        Some(_) => true,
    })
}

/// Removes counter rows whose window ended a whole window ago, at most about `at_most` of them, in
/// the order of their expiry. Returns how many went, and whether there may be more.
pub(super) fn counters(
    connection: &Connection,
    now: Time,
    at_most: i64,
) -> Result<(usize, bool), Failure> {
    let mut end_of_slice = connection.prepare_cached(schema::END_OF_SLICE)?;
    let mut rows = end_of_slice.query((now.millis(), at_most - 1))?;
    if let Some(row) = rows.next()? {
        // Values of any type: a damaged row must not stop the pruning of the others.
        let value = |column| row.get::<_, Value>(column);
        let end = (value(0)?, value(1)?, value(2)?, value(3)?, value(4)?);
        let removed = connection.prepare_cached(schema::PRUNE_SLICE)?.execute(end)?;
        return Ok((removed, true));
    }
    let removed = connection.prepare_cached(schema::PRUNE_REST)?.execute([now.millis()])?;
    Ok((removed, false))
}

/// Removes audit rows from before `retention_start_ms`; returns whether there may be more.
pub(super) fn audit(
    connection: &Connection,
    retention_start_ms: i64,
    at_most: i64,
) -> Result<bool, Failure> {
    let removed = connection
        .prepare_cached(schema::PRUNE_AUDIT_SLICE)?
        .execute((retention_start_ms, at_most))?;
    Ok(removed as i64 == at_most)
}

/// How long a pruner lets the store go between two slices: long enough that somebody who looks
/// every 20 to 100 µs gets in.
pub(super) const PAUSE_BETWEEN_SLICES: Duration = Duration::from_micros(200);
