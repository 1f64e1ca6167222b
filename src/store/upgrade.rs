//! Bringing a store of the first format up to date.
//!
//! Whoever has it open with an older library fails from then on, since every transaction asks for
//! the format: it never counts beside a newer one.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::failure::Failure;
use super::meta::{Counting, Settings};
use super::{meta, row, schema, transaction};
use crate::judge::Counter;
use crate::table::place::PlaceSecret;
use crate::units::MAX_UNITS;
use crate::window::{Time, Window};

/// In one transaction. Does nothing where another process was faster.
pub(super) fn from_first_format(
    connection: &Connection,
    path: &Path,
    settings: &Settings,
) -> Result<(), Failure> {
    transaction::write_unchecked(connection, |connection| {
        if meta::format(connection)? != schema::FIRST_FORMAT {
            return Ok(());
        }
        connection.execute_batch(schema::UPGRADE_BEGIN)?;
        connection.execute_batch(schema::COUNTERS)?;
        connection.execute_batch(schema::VIEW)?;
        connection.execute(schema::UPGRADE_RULES, [])?;
        let secret = meta::add_place_secret(connection)?;
        let highest_start_ms = add_hashes(connection, &secret)?;
        connection.execute(schema::UPGRADE_END, [])?;
        meta::set_counting(connection, settings, Counting::at(path)?, highest_start_ms)
    })
}

/// Returns the latest start of a row.
fn add_hashes(connection: &Connection, secret: &PlaceSecret) -> Result<i64, Failure> {
    let mut read = connection.prepare(schema::UPGRADE_ROWS)?;
    let mut write = connection.prepare(schema::PUT_COUNTER)?;
    let mut rows = read.query([])?;
    let mut highest_start_ms = i64::MIN;
    while let Some(row) = rows.next()? {
        let place: (Value, Value, Value, Value) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        // What no hit of that library could find, it counted nobody for.
        let (
            Value::Integer(expires_ms),
            Value::Text(rule),
            Value::Integer(window_ms),
            Value::Blob(key),
        ) = place
        else {
            continue;
        };
        let Some(start_ms) = start_of(window_ms, expires_ms) else { continue };
        let place = secret.place(&rule, window_ms, &key);
        // A damaged counter is no allowance: it is taken for a full one.
        let Counter { attempts, admitted } = row::counter(row.get_ref(4)?, row.get_ref(5)?)
            .unwrap_or(Counter { attempts: MAX_UNITS, admitted: MAX_UNITS });
        let row = (expires_ms, place.row_hash(), &rule, window_ms, &key, attempts, admitted);
        write.execute(row)?;
        highest_start_ms = highest_start_ms.max(start_ms);
    }
    Ok(highest_start_ms)
}

/// When the window of a row began, or later; `None` for a row of no window.
fn start_of(window_code: i64, expires_ms: i64) -> Option<i64> {
    let start_ms = match Window::from_code(window_code)? {
        // The window, and the one after it.
        Window::Fixed(_) => expires_ms.checked_sub(2 * window_code)?,
        // Two months are 59 days at least.
        Window::Month => expires_ms.checked_sub(59 * 86_400_000)?,
    };
    Time::from_millis(start_ms).ok().map(Time::millis)
}
