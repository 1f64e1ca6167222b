//! A store without counters: in memory, or as the bytes of a file.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::failure::Failure;
use super::meta::{Counting, Meta, Settings};
use super::{schema, transaction};

/// The bytes of a complete store with no counters, already in WAL mode: so the file is ours and
/// whole from its first moment, and rollback mode never happens.
pub(super) fn empty_store(settings: &Settings, counting: Counting) -> Result<Vec<u8>, Failure> {
    let mut connection = connect_in_memory(settings, counting)?;
    let mut image = connection.serialize("main")?.to_vec();
    // The header's write and read version: 2 is WAL.
    if let Some(versions) = image.get_mut(18..20) {
        versions.fill(2);
    }
    connection.close().map_err(|(_, error)| error)?;
    Ok(image)
}

/// A store that lives in this process's memory.
pub(super) fn in_memory(settings: &Settings) -> Result<Connection, Failure> {
    connect_in_memory(settings, Counting::Rows)
}

fn connect_in_memory(settings: &Settings, counting: Counting) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(":memory:", flags)?;
    configure(&mut connection)?;
    connection.pragma_update(None, "page_size", schema::PAGE_BYTES)?;
    transaction::write_unchecked(&connection, |connection| {
        make_tables(connection, settings, counting)
    })?;
    Ok(connection)
}

pub(super) fn configure(connection: &mut Connection) -> Result<(), Failure> {
    // Waiting is ours: SQLite's own lets one process win and the others starve.
    connection.busy_timeout(std::time::Duration::ZERO)?;
    connection.set_prepared_statement_cache_capacity(32);
    // What somebody else put into the file must not run here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // NORMAL: a killed process loses nothing, a power cut at most the last moments.
    // secure_delete: a pruned key does not linger in free pages.
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cell_size_check = ON;",
    )?;
    Ok(())
}

pub(super) fn make_tables(
    connection: &Connection,
    settings: &Settings,
    counting: Counting,
) -> Result<(), Failure> {
    connection.execute_batch(&schema::SCHEMA.concat())?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    Meta::write(connection, settings, counting)
}
