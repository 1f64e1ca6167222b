//! Moving the write-ahead log into the database, so that it stays short.
//!
//! SQLite's own way is to let others go on writing meanwhile. With a few busy writers the log is
//! then never wholly moved and never begins anew: it grew by 330 MB in seconds. Holding the write
//! lock meanwhile bounds it, but everybody waits for the disk. So there are three steps, each taken
//! only if the one before does not help: move the log beside the writers; move what is left of it
//! under the write lock, if that is free; wait for the lock, which slows the writers down.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;

use super::failure::Failure;
use crate::deadline::Deadline;
use crate::os::{batch, fork};

/// Each time the log has grown by so much, the hit that made it so moves it.
const MOVE_EVERY_BYTES: i32 = 8 << 20;

/// From this length on, hits try to make it begin anew.
const BEGIN_ANEW_BYTES: i32 = 16 << 20;

/// From this length on, hits wait until it begins anew, but not for a reader's sake, and no longer
/// than [`LONGEST_WAIT`].
const WAIT_BYTES: i32 = 20 << 20;
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// More than the pages of one hit, so that just one hit or two see a multiple being passed.
const PAGES_OF_A_HIT: i32 = 8;

/// Where a log is cut to when it begins anew, if a long reader had made it longer.
const KEPT_BYTES: i64 = 8 << 20;

/// Lets this connection's commits see to the log. A log that cannot be moved is never the hit's
/// failure, since the hit is committed: it is tried again by the next one.
pub(super) fn by_hits(connection: &mut Connection) -> Result<(), Failure> {
    connection.pragma_update(None, "journal_size_limit", KEPT_BYTES)?;
    // SQLite knows it once it has read the file.
    let page_bytes: i32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let [move_every, begin_anew_from, wait_from] =
        [MOVE_EVERY_BYTES, BEGIN_ANEW_BYTES, WAIT_BYTES].map(|bytes| bytes / page_bytes);
    let mut moved_until = 0;
    connection.wal_hook(Some(move |wal: &mut Wal, pages| {
        batch::finish();
        if pages >= move_every && pages % move_every < PAGES_OF_A_HIT {
            let _ = wal.checkpoint_v2(CheckpointMode::PASSIVE);
        }
        if pages >= begin_anew_from {
            let patience = if pages >= wait_from { LONGEST_WAIT } else { Duration::ZERO };
            begin_anew(wal, &mut moved_until, &Deadline::after(patience));
        }
        Ok(())
    }))?;
    Ok(())
}

/// `moved_until` is the page up to which the log was moved at the last try that failed.
fn begin_anew(wal: &mut Wal, moved_until: &mut i32, patience: &Deadline) {
    while wal.checkpoint_v2(CheckpointMode::RESTART).is_err() {
        if let Ok((pages, moved)) = wal.checkpoint_v2(CheckpointMode::PASSIVE) {
            // Nobody else is moving it, and it does not get further: a reader needs the rest, who
            // may stay for long. Hits must not wait for him.
            let is_stuck = moved < pages && moved == *moved_until;
            *moved_until = moved;
            if is_stuck {
                return;
            }
        }
        if fork::is_under_way() || !patience.pause() {
            return;
        }
    }
}

/// Moves what it can, without waiting for anybody. What it cannot stays in the log.
pub(super) fn now(connection: &Connection) {
    let _ = connection.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE);
}
