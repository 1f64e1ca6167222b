//! Moving the write-ahead log into the database, so that it stays short.
//!
//! SQLite's own way is to let others go on writing meanwhile. With a few busy writers the log is
//! then never wholly moved and never begins anew: it grew by 330 MB in seconds. Holding the write
//! lock meanwhile bounds it, but everybody waits for the disk. So both: moved without the lock
//! first, and with it, when little is left to sync, only if that does not help.

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;

use super::failure::Failure;

/// Each time the log has grown by so many pages (4 MiB), the hit that made it so moves it.
const MOVE_EVERY_PAGES: i32 = 1_000;

/// From this length on (16 MiB), hits make it begin anew.
const BEGIN_ANEW_PAGES: i32 = 4 * MOVE_EVERY_PAGES;

/// More than the pages of one hit, so that just one hit or two see a multiple being passed.
const PAGES_OF_A_HIT: i32 = 8;

/// Where a log is cut to when it begins anew, if a long reader had made it longer.
const KEPT_BYTES: i64 = 4 << 20;

/// Lets this connection's commits see to the log.
pub(super) fn by_hits(connection: &mut Connection) -> Result<(), Failure> {
    connection.pragma_update(None, "journal_size_limit", KEPT_BYTES)?;
    connection.wal_hook(Some(|wal: &mut Wal, pages| {
        // Never the hit's failure: it is committed. A log that cannot be moved now (others are at
        // it, a reader needs it, the disk is full) is tried again.
        if pages >= MOVE_EVERY_PAGES && pages % MOVE_EVERY_PAGES < PAGES_OF_A_HIT {
            let _ = wal.checkpoint_v2(CheckpointMode::PASSIVE);
        }
        if pages >= BEGIN_ANEW_PAGES {
            let _ = wal.checkpoint_v2(CheckpointMode::RESTART);
        }
        Ok(())
    }))?;
    Ok(())
}

/// Moves what it can, without waiting for anybody. What it cannot stays in the log.
pub(super) fn now(connection: &Connection) {
    let _ = connection.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE);
}
