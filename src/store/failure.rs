//! What SQLite's errors mean for a caller.

use rusqlite::Error as Sqlite;
use rusqlite::ffi;

use crate::errno;
use crate::error::{Code, Error};
use crate::os;

/// Why one try of an operation did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(Sqlite),
    /// The file was replaced while it was used: the same, tried again, may succeed.
    Replaced(Error),
    /// The file itself is damaged, as we have seen and SQLite has not.
    Damaged(Error),
    Own(Error),
}

impl From<Sqlite> for Failure {
    fn from(error: Sqlite) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl Failure {
    /// Whether another process or thread is in the way, so that trying again may help.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Own(error) => error.code() == Code::Busy,
            Self::Replaced(_) => true,
            Self::Damaged(_) => false,
            Self::Sqlite(error) => matches!(
                primary_code(error),
                ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL
            ),
        }
    }

    /// Whether the file itself is damaged, not only a row in it.
    pub(super) fn is_damaged_file(&self) -> bool {
        match self {
            Self::Own(_) | Self::Replaced(_) => false,
            Self::Damaged(_) => true,
            Self::Sqlite(error) => {
                matches!(primary_code(error), ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB)
            }
        }
    }

    /// Whether the connection may be left in a state that only opening it anew mends.
    pub(super) fn breaks_connection(&self) -> bool {
        match self {
            Self::Own(_) | Self::Damaged(_) => false,
            Self::Replaced(_) => true,
            Self::Sqlite(error) => matches!(
                primary_code(error),
                ffi::SQLITE_IOERR
                    | ffi::SQLITE_CORRUPT
                    | ffi::SQLITE_NOTADB
                    | ffi::SQLITE_READONLY
                    | ffi::SQLITE_CANTOPEN
            ),
        }
    }

    /// In words, for the store of this name.
    pub(super) fn describe(self, store: &str) -> Error {
        let error = match self {
            Self::Own(error) | Self::Replaced(error) | Self::Damaged(error) => return error,
            Self::Sqlite(error) => error,
        };
        let (code, cure) = meaning(&error);
        Error::new(code, format!("store {store}: {}; {cure}", in_words(&error)))
    }
}

fn meaning(error: &Sqlite) -> (Code, &'static str) {
    if !matches!(error, Sqlite::SqliteFailure(..)) {
        return (Code::Corrupt, "its tables or rows are not as this library made them");
    }
    match primary_code(error) {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => {
            (Code::Busy, "others held its lock until the deadline; raise busy_timeout_ms")
        }
        ffi::SQLITE_FULL => (Code::Full, "free space on its disk"),
        ffi::SQLITE_NOMEM => (Code::NoMemory, "free memory"),
        ffi::SQLITE_IOERR => failed_io(extended_code(error)),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM | ffi::SQLITE_AUTH => {
            (Code::Permission, "it and its directory must be readable and writable for this user")
        }
        ffi::SQLITE_CANTOPEN => cannot_open(),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => {
            (Code::Corrupt, "restore a backup, or move it away to begin anew")
        }
        ffi::SQLITE_CONSTRAINT | ffi::SQLITE_ERROR | ffi::SQLITE_SCHEMA | ffi::SQLITE_MISMATCH => {
            (Code::Corrupt, "its tables are not as this library made them")
        }
        _ => (Code::Internal, "please report this as a bug"),
    }
}

fn failed_io(extended_code: i32) -> (Code, &'static str) {
    let meaning = errno::meaning(os::vfs::last_error());
    match (meaning, extended_code) {
        // Of an open file, only these can be its cause; of -shm, which is opened late, any.
        (Some(meaning @ (Code::Full | Code::NoMemory, _)), _)
        | (
            Some(meaning),
            ffi::SQLITE_IOERR_SHMOPEN | ffi::SQLITE_IOERR_SHMMAP | ffi::SQLITE_IOERR_SHMSIZE,
        ) => meaning,
        (_, ffi::SQLITE_IOERR_NOMEM | ffi::SQLITE_IOERR_SHMMAP) => (Code::NoMemory, "free memory"),
        _ => (Code::Io, "check its disk and this process's file-size limit (ulimit -f)"),
    }
}

/// SQLite says only that it could not open a file; the system said why.
fn cannot_open() -> (Code, &'static str) {
    errno::meaning(os::vfs::last_error())
        .unwrap_or((Code::Io, "check that its directory exists and can be written"))
}

fn in_words(error: &Sqlite) -> String {
    match error {
        Sqlite::SqliteFailure(failure, Some(message)) => {
            format!("{message} (SQLite code {})", failure.extended_code)
        }
        Sqlite::SqliteFailure(failure, None) => {
            format!("{failure} (SQLite code {})", failure.extended_code)
        }
        // Not its Display: that shows the value found, which may be a key.
        _ => "a row or statement does not fit its table".into(),
    }
}

fn primary_code(error: &Sqlite) -> i32 {
    extended_code(error) & 0xFF
}

fn extended_code(error: &Sqlite) -> i32 {
    match error {
        Sqlite::SqliteFailure(failure, _) => failure.extended_code,
        Sqlite::SqlInputError { error, .. } => error.extended_code,
        _ => ffi::SQLITE_OK,
    }
}
