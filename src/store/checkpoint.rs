//! Moving the write-ahead log into the database, so that it stays short.
//!
//! SQLite's own way is to let others go on writing meanwhile. With a few busy writers the log is
//! then never wholly moved and never begins anew: it grew by 330 MB in seconds. Holding the write
//! lock meanwhile bounds it, but everybody waits for the disk. So there are three steps, each taken
//! only if the one before does not help: move the log beside the writers; move what is left of it
//! under the write lock, if that is free; wait for the lock, which slows the writers down.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::failure::Failure;
use crate::deadline::Deadline;
use crate::os::fork;
use crate::os::written_log::WrittenLog;
use crate::switches;

/// Each time the log has grown by so much, the kernel is told to begin with its way to the disk: the
/// hit that moves the log then waits for a third of the time (3 ms in place of 9).
const SYNC_EVERY_BYTES: i64 = 1 << 20;

/// And about ten times a second, with each round that writes for all, so that a power cut takes little
/// more. Nobody waits for the disk.
const SYNC_EVERY: Duration = Duration::from_millis(80);

/// Each time the log has grown by so much, the hit that made it so moves it.
const MOVE_EVERY_BYTES: i64 = 8 << 20;

/// From this length on, hits try to make it begin anew.
const BEGIN_ANEW_BYTES: i64 = 16 << 20;

/// From this length on, hits wait until it begins anew, but not for a reader's sake, and no longer
/// than [`LONGEST_WAIT`].
const WAIT_BYTES: i64 = 20 << 20;
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Where a log is cut to when it begins anew, if a long reader had made it longer.
const KEPT_BYTES: i64 = 8 << 20;

/// What one connection knows of its store's log.
#[derive(Default)]
pub(super) struct Log {
    /// The frame up to which it was moved at the last try that failed.
    moved_until: Cell<i32>,
    /// When it was last sent to the disk.
    sent: Cell<Option<Instant>>,
}

impl Log {
    /// Leaves the log to [`Log::see_to`].
    pub(super) fn take_over(connection: &Connection) -> Result<(), Failure> {
        if !switches::UNDEFENDED.is_on() {
            connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        }
        connection.pragma_update(None, "journal_size_limit", KEPT_BYTES)?;
        Ok(())
    }

    /// Keeps the log short, after a call has written to it. A log that cannot be moved is never that
    /// call's failure, since the hit is committed: the next one tries again.
    ///
    /// What it waits for others, it waits no longer than `patience`.
    pub(super) fn see_to(&self, connection: &Connection, written: WrittenLog, patience: Duration) {
        let is_old = self.sent.get().is_none_or(|sent| sent.elapsed() >= SYNC_EVERY);
        if is_old || written.passes(SYNC_EVERY_BYTES) {
            self.sent.set(Some(Instant::now()));
            written.begin_to_sync();
        }
        if written.passes(MOVE_EVERY_BYTES) {
            let _ = now(connection);
        }
        if written.end >= BEGIN_ANEW_BYTES {
            let waits = written.end >= WAIT_BYTES;
            let patience = if waits { patience.min(LONGEST_WAIT) } else { Duration::ZERO };
            self.begin_anew(connection, &Deadline::after(patience));
        }
    }

    fn begin_anew(&self, connection: &Connection, patience: &Deadline) {
        while connection.wal_checkpoint_v2(Some("main"), CheckpointMode::RESTART).is_err() {
            if let Ok((frames, moved)) = now(connection) {
                // Nobody else is moving it, and it does not get further: a reader needs the rest,
                // who may stay for long. Hits must not wait for him.
                let is_stuck = moved < frames && moved == self.moved_until.replace(moved);
                if is_stuck {
                    return;
                }
            }
            if fork::is_under_way() || !patience.pause() {
                return;
            }
        }
    }
}

/// Moves what it can, without waiting for anybody; what it cannot stays in the log. Returns how many
/// frames the log has, and how many of them are moved.
pub(super) fn now(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    connection.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE)
}
