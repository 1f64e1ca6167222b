//! Finding out where a store counts: in its rows, or in a shared table, which is opened or made.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::failure::Failure;
use super::refusal::{open_error, refusal};
use super::session::Session;
use super::{schema, transaction};
use crate::error::{Code, Error};
use crate::os::random;
use crate::table::Table;
use crate::table::life::{self, Terms};

/// What the database says of its table.
struct Standing {
    terms: Terms,
    highest_start_ms: i64,
}

/// The table of the store that is open, `None` where its rows count. `slots`: how many it must have.
pub(super) fn table_of(
    session: &Session,
    path: Option<&Path>,
    slots: Option<u64>,
) -> Result<Option<Arc<Table>>, Failure> {
    let (false, Some(path)) = (session.meta.counts_in_rows(), path) else { return Ok(None) };
    let standing = Standing::read(session)?;
    if standing.terms.table_id != 0 {
        require_slots(path, &standing, slots)?;
    }
    if let Some(table) = session.tables.find(standing.terms.table_id) {
        if is_of(session, &table)? {
            return Ok(Some(table));
        }
        leave(session, &table);
    }
    let failed = |error: io::Error| Failure::from(open_error(path, &error, "its shared table"));
    if let Some(obstacle) = life::obstacle(path.parent().unwrap_or(path)).map_err(failed)? {
        let why =
            format!("others count it in a shared table, which this process cannot: {obstacle}");
        return Err(refusal(path, Code::NotStore, &why).into());
    }
    let table = match open(session, path)? {
        Some(table) => table,
        None => open_or_make(session, path, slots)?,
    };
    session.tables.leave_all_but(&table);
    Ok(Some(session.tables.add(table)))
}

/// The table that the database tells of, if it stands there and is the database's. Needs no lock: others
/// may be writing.
fn open(session: &Session, path: &Path) -> Result<Option<Table>, Failure> {
    let failed = |error: io::Error| Failure::from(open_error(path, &error, "its shared table"));
    let Standing { terms, .. } = Standing::read(session)?;
    if terms.table_id == 0 {
        return Ok(None);
    }
    let Some(table) = life::open(path, &terms).map_err(failed)? else { return Ok(None) };
    Ok(is_of(session, &table)?.then_some(table))
}

/// Whether the database is the table's: not one that was restored from a backup. Needs no lock.
fn is_of(session: &Session, table: &Table) -> Result<bool, Failure> {
    let done = table.sequence_done();
    let now = Standing::read(session)?.terms;
    let fits = (done..=table.sequence_begun()).contains(&now.sequence);
    Ok(fits && now.table_id == table.id())
}

/// A table that is not, or no longer, the one of the store that is open: of the same store, the others
/// who count in it must look too; of another, which stood here and was moved, they count rightly.
pub(super) fn leave(session: &Session, table: &Table) {
    if table.store_id() == session.meta.place_secret.store_id() {
        table.retire();
    }
    table.leave();
}

/// Under the database's write lock, which is the lock of the table's making too.
fn open_or_make(session: &Session, path: &Path, slots: Option<u64>) -> Result<Table, Failure> {
    let (connection, format) = (&session.connection, session.meta.format);
    let store = crate::error::quoted(path);
    let failed = |error: io::Error| Failure::from(open_error(path, &error, "its shared table"));
    transaction::write_known(connection, &store, format, |connection| {
        if let Some(table) = open(session, path)? {
            return Ok(table);
        }
        let Standing { terms, highest_start_ms } = Standing::read(session)?;
        let mut made = Terms { table_id: new_id(path)?, sequence: 0, ..terms };
        // None was ever made, perhaps for want of space: its maker decides.
        if let (0, Some(slots)) = (terms.table_id, slots) {
            made.slots = life::round_up(slots);
        }
        life::create(path, &made, highest_start_ms).map_err(|error| cannot_make(path, &error))?;
        replace(connection, &made)?;
        let table = life::open(path, &made).map_err(failed)?;
        // Tried again.
        let vanished = || refusal(path, Code::Busy, "its shared table vanishes as it is made");
        table.ok_or_else(|| vanished().into())
    })
}

fn replace(connection: &Connection, made: &Terms) -> Result<(), Failure> {
    connection.execute(schema::REPLACE_TABLE, [made.table_id as i64, made.slots as i64])?;
    Ok(())
}

fn cannot_make(path: &Path, error: &io::Error) -> Failure {
    let hint = "cannot make its shared table (33 MiB unless table_slots says otherwise)";
    open_error(path, error, hint).into()
}

fn new_id(path: &Path) -> Result<u64, Error> {
    let bytes = random::bytes().map_err(|error| open_error(path, &error, "random bytes"))?;
    // Never 0, and never negative for SQLite.
    Ok((u64::from_le_bytes(bytes) >> 1).max(1))
}

fn require_slots(path: &Path, standing: &Standing, wanted: Option<u64>) -> Result<(), Error> {
    match wanted {
        Some(wanted) if life::round_up(wanted) != standing.terms.slots => {
            let why = format!(
                "it was made with table_slots {}, not {wanted}; give that or leave it out",
                standing.terms.slots
            );
            Err(refusal(path, Code::Invalid, &why))
        }
        _ => Ok(()),
    }
}

impl Standing {
    fn read(session: &Session) -> Result<Self, Failure> {
        let store_id = session.meta.place_secret.store_id();
        let mut statement = session.connection.prepare_cached(schema::GET_TABLE)?;
        Ok(statement.query_one([], |row| {
            let [table_id, sequence, highest_start_ms, slots] =
                [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            Ok(Self {
                terms: Terms {
                    table_id: table_id as u64,
                    store_id,
                    slots: slots as u64,
                    sequence: sequence as u64,
                },
                highest_start_ms,
            })
        })?)
    }
}

/// The number of the table for which this database is written; `None` where it counts in rows.
pub(super) fn number_in_force(session: &Session) -> Result<Option<Numbers>, Failure> {
    if session.meta.counts_in_rows() {
        return Ok(None);
    }
    let Standing { terms, highest_start_ms } = Standing::read(session)?;
    Ok(Some(Numbers { table_id: terms.table_id, sequence: terms.sequence, highest_start_ms }))
}

/// What a transaction for a table looks at first.
pub(super) struct Numbers {
    pub(super) table_id: u64,
    pub(super) sequence: u64,
    pub(super) highest_start_ms: i64,
}

impl Numbers {
    pub(super) fn advance(&self, connection: &Connection, start_ms: i64) -> Result<(), Failure> {
        let sequence = self.sequence.wrapping_add(1);
        connection.prepare_cached(schema::ADVANCE_TABLE)?.execute((
            self.table_id as i64,
            sequence as i64,
            start_ms,
        ))?;
        Ok(())
    }
}
