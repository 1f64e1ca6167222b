//! Noticing that the file under an open connection is no longer what its path names.
//!
//! SQLite does not notice in WAL mode: it goes on writing into a nameless file, while others begin
//! a new one.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::os::parked;
use crate::os::stat::{self, FileId};

const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) struct WatchedFile {
    pub(super) id: FileId,
    looked_at: Instant,
}

impl WatchedFile {
    pub(super) fn new(id: FileId) -> Self {
        Self { id, looked_at: Instant::now() }
    }

    /// What happened to the files. Looks twice a second, or at once.
    pub(super) fn look(&mut self, path: &Path, at_once: bool) -> Found {
        if !at_once && self.looked_at.elapsed() < LOOK_EVERY {
            return Found::Same;
        }
        self.looked_at = Instant::now();
        let Ok(facts) = stat::lstat(path) else { return Found::Another };
        let is_same = facts.id == self.id;
        match (beside(path, "-wal"), beside(path, "-shm")) {
            _ if is_same && facts.links != 1 => Found::Another,
            (Beside::Ours, _) if !is_same && facts.is_regular() => Found::DatabaseReplaced,
            _ if !is_same => Found::Another,
            (Beside::Ours, Beside::Ours) => Found::Same,
            (Beside::Nothing | Beside::Ours, _) => Found::LogDeleted,
            (Beside::Another, _) => Found::Another,
        }
    }
}

/// What the path of an open store leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// What was opened.
    Same,
    /// Our database, but somebody deleted its -wal or -shm, and nobody has begun a new log: what
    /// ours holds can still be moved into the database.
    LogDeleted,
    /// Another file, with our log still beside it, to which that does not belong.
    DatabaseReplaced,
    /// Nothing, another file, or our database with a log that others have begun.
    Another,
}

enum Beside {
    Ours,
    Another,
    Nothing,
}

/// Whether this process has the file open that stands beside the database now.
fn beside(path: &Path, suffix: &str) -> Beside {
    match stat::lstat(&stat::beside(path, suffix)) {
        Ok(facts) if parked::is_in_use(facts.id) => Beside::Ours,
        Ok(_) => Beside::Another,
        Err(_) => Beside::Nothing,
    }
}
