//! Transactions whose every error is seen, the commit's own included.
//!
//! (A `query_row` over `INSERT … RETURNING` commits when its statement is reset, and drops that
//! error: on a full disk it answered "ok" for ever. Nothing here relies on a reset.)

use rusqlite::Connection;

use super::failure::Failure;
use super::{meta, schema};
use crate::os::batch;

/// Runs `work` under the store's write lock and commits. All or nothing: after a failure, of the
/// commit too, nothing of it is stored.
pub(super) fn write<T>(
    connection: &Connection,
    store: &str,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    write_known(connection, store, schema::FORMAT_ROWS, work)
}

/// As [`write()`], for a store of this format.
pub(super) fn write_known<T>(
    connection: &Connection,
    store: &str,
    format: i64,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(connection, schema::BEGIN_WRITE, checked(store, format, work))
}

/// As [`write()`], for a store that has no format yet.
pub(super) fn write_unchecked<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(connection, schema::BEGIN_WRITE, work)
}

/// Runs `work` on one snapshot of the store, without a lock that others would wait for.
pub(super) fn read<T>(
    connection: &Connection,
    store: &str,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(connection, schema::BEGIN_READ, checked(store, schema::FORMAT_ROWS, work))
}

/// As [`read()`], where `work` itself sees to it that it reads what it knows.
pub(super) fn read_unchecked<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(connection, schema::BEGIN_READ, work)
}

/// `work`, behind the question whether this library still knows the store's format: an older
/// library on a store that was upgraded meanwhile must fail instead of miscounting.
fn checked<T>(
    store: &str,
    known: i64,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> impl FnOnce(&Connection) -> Result<T, Failure> {
    move |connection| {
        let format = meta::format(connection)?;
        if format != known {
            return Err(meta::unknown_format(store, format).into());
        }
        work(connection)
    }
}

fn within<T>(
    connection: &Connection,
    begin: &str,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let _together = batch::Transaction::begin();
    run(connection, begin)?;
    let _unfinished = RollBack(connection);
    let value = work(connection)?;
    run(connection, schema::COMMIT)?;
    Ok(value)
}

/// Ends a transaction that was not committed, whether by an error or by a panic.
struct RollBack<'a>(&'a Connection);

impl Drop for RollBack<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If this fails too, the connection is reopened.
            let _ = run(self.0, schema::ROLLBACK);
        }
    }
}

fn run(connection: &Connection, sql: &str) -> Result<(), Failure> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
