//! Opens a store file: never fails in a race, never touches a file that is not ours.
//!
//! The order of steps is the point. Who lets SQLite look first has a foreign hot journal rolled
//! back and a foreign WAL checkpointed and deleted; who sets `journal_mode` and a busy timeout and
//! hopes loses one open in a hundred when 32 processes race, since SQLite does not wait there.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::blank::{configure, make_tables};
use super::checkpoint::Log;
use super::failure::Failure;
use super::files::{create, foreign_journal, has_journal, refuse_remote};
use super::meta::{self, Counting, Meta, Settings};
use super::patience::patiently;
use super::refusal::{open_error, refusal};
use super::{schema, transaction, upgrade};
use crate::deadline::Deadline;
use crate::error::{Code, Result, quoted};
use crate::os::fork;
use crate::os::stat::{self, FileFacts, FileId};
use crate::os::store_file::StoreFile;

/// SQLite's file header: 100 bytes, the magic first, two numbers of ours.
const HEADER: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The version needed for writing; 2 is WAL.
const WAL_VERSION: usize = 18;
const USER_VERSION: std::ops::Range<usize> = 60..64;
const APPLICATION_ID: std::ops::Range<usize> = 68..72;

/// SQLite's MAX_PATHNAME, less the longest ending that it adds.
const LONGEST_PATH: usize = 503;

const ANOTHER_PROGRAM: &str = "it is another program's database";

/// The absolute path of a store, symbolic links resolved; the file itself need not exist.
pub(super) fn resolve(path: &Path) -> Result<PathBuf> {
    let failed = |error: io::Error| match error.raw_os_error() {
        // The caller's mistake here; later, of a store that was once opened, it is a failure.
        Some(libc::ENOENT | libc::ENOTDIR) => {
            refusal(path, Code::Invalid, "its directory does not exist; create it first")
        }
        Some(libc::ENAMETOOLONG | libc::ELOOP | libc::EINVAL) => {
            refusal(path, Code::Invalid, &format!("it cannot be the path of a file: {error}"))
        }
        _ => open_error(path, &error, ""),
    };
    let name = path.as_os_str().as_bytes();
    if name.ends_with(b"/") || name.ends_with(b"/.") {
        return Err(refusal(path, Code::Invalid, "it names a directory"));
    }
    let short_enough = |resolved: PathBuf| match resolved.as_os_str().len() {
        0..=LONGEST_PATH => Ok(resolved),
        length => Err(refusal(
            path,
            Code::Invalid,
            &format!("its whole path has {length} bytes, SQLite takes {LONGEST_PATH}"),
        )),
    };
    loop {
        match stat::canonical(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map_err(failed).and_then(short_enough),
        }
        // Asked once: another process may make the file at any moment.
        match stat::lstat(path) {
            Ok(facts) if facts.is_symbolic_link() => {
                return Err(refusal(path, Code::NotStore, "it is a symbolic link to nothing"));
            }
            Ok(_made_meanwhile) => continue,
            Err(_) => {}
        }
        let Some(name) = path.file_name() else {
            return Err(refusal(path, Code::Invalid, "it names no file"));
        };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        return short_enough(stat::canonical(directory).map_err(failed)?.join(name));
    }
}

/// The file that stands at a store's path.
pub(super) struct Standing {
    pub(super) id: FileId,
    /// To be filled under an exclusive lock.
    pub(super) is_empty: bool,
    is_wal: bool,
}

/// Makes sure that a store of ours, or an empty file, stands at this resolved path.
pub(super) fn ensure_file(
    path: &Path,
    settings: &Settings,
    deadline: &Deadline,
) -> std::result::Result<Standing, Failure> {
    // A file that is deleted between two of these looks is looked at anew.
    for _ in 0..100 {
        match stat::lstat(path) {
            Ok(facts) => {
                let Some(standing) = inspect(path, &facts)? else { continue };
                if standing.is_wal {
                    await_no_journal(path, deadline)?;
                }
                return Ok(standing);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path, settings, deadline)?;
            }
            Err(error) => return Err(open_error(path, &error, "").into()),
        }
    }
    Err(refusal(path, Code::Io, "the file appears and vanishes again").into())
}

/// A store in WAL mode has no rollback journal, but for the moment in which it becomes one.
fn await_no_journal(path: &Path, deadline: &Deadline) -> std::result::Result<(), Failure> {
    let look = || match has_journal(path) {
        true => Err(refusal(path, Code::Busy, "it is becoming a store").into()),
        false => Ok(()),
    };
    match patiently(deadline, look) {
        Err(_) if !fork::is_under_way() => Err(foreign_journal(path).into()),
        other => other,
    }
}

/// Refuses what is not a store; `None` when the file has gone meanwhile.
fn inspect(path: &Path, facts: &FileFacts) -> Result<Option<Standing>> {
    if !facts.is_regular() {
        return Err(refusal(path, Code::NotStore, &format!("it is {}", facts.kind_name())));
    }
    if stat::is_mount_point(path).map_err(|error| open_error(path, &error, ""))? {
        let why = "it is mounted by itself, without the files that belong beside it, so that others \
                   would count apart; mount its directory";
        return Err(refusal(path, Code::NotStore, why));
    }
    if facts.links > 1 {
        return Err(refusal(
            path,
            Code::NotStore,
            "it has a second name (a hard link), under which others would keep another WAL",
        ));
    }
    refuse_remote(path, path)?;
    // From here on the descriptor is parked, whatever follows: closing it would drop the locks
    // that the host may hold on its own database.
    let opened = match StoreFile::open(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(open_error(path, &error, "")),
    };
    let mut header = [0; HEADER];
    let length = opened.read_start(&mut header).map_err(|error| open_error(path, &error, ""))?;
    judge_header(path, &header[..length])?;
    let id = opened.facts().map_err(|error| open_error(path, &error, ""))?.id;
    Ok((id == facts.id).then_some(Standing {
        id,
        is_empty: length == 0,
        is_wal: header[WAL_VERSION] == 2,
    }))
}

fn judge_header(path: &Path, header: &[u8]) -> Result<()> {
    if header.is_empty() {
        return Ok(());
    }
    if header.len() < HEADER || !header.starts_with(MAGIC) {
        return Err(refusal(path, Code::NotStore, "it is not a SQLite database"));
    }
    if number(header, APPLICATION_ID) != i64::from(schema::APPLICATION_ID) {
        return Err(refusal(path, Code::NotStore, ANOTHER_PROGRAM));
    }
    let format = number(header, USER_VERSION);
    if format > schema::NEWEST_FORMAT {
        return Err(meta::unknown_format(&quoted(path), format));
    }
    Ok(())
}

fn number(header: &[u8], at: std::ops::Range<usize>) -> i64 {
    header[at].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// Opens the file with SQLite. Each step is tried again while others are in the way, but not while
/// a fork waits for this store: then the whole opening is tried again after the fork.
pub(super) fn connect(
    path: &Path,
    settings: &Settings,
    deadline: &Deadline,
) -> std::result::Result<(Connection, Meta), Failure> {
    // No CREATE: the file stands there, or was deleted this moment. No URI: a path is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = patiently(deadline, || Ok(Connection::open_with_flags(path, flags)?))?;
    configure(&mut connection)?;
    let application_id = patiently(deadline, || Ok(pragma::<i32>(&connection, "application_id")?))?;
    if application_id != 0 && application_id != schema::APPLICATION_ID {
        // Put there since its header was looked at.
        return Err(refusal(path, Code::NotStore, ANOTHER_PROGRAM).into());
    }
    if application_id == 0 {
        connection.pragma_update(None, "page_size", schema::PAGE_BYTES)?;
        patiently(deadline, || fill_empty_file(&connection, path, settings))?;
    }
    let mode = patiently(deadline, || Ok(pragma::<String>(&connection, "journal_mode")?))?;
    if mode != "wal" {
        patiently(deadline, || {
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if mode == "wal" {
                return Ok(());
            }
            let message = "SQLite cannot use a write-ahead log here";
            Err(refusal(path, Code::Io, message).into())
        })?;
    }
    // A connection that has seen the file empty believes so until it has read it undisturbed: "no such
    // table", while others are in its way.
    patiently(deadline, || Ok(connection.query_one(schema::COUNT_TABLES, [], |_| Ok(()))?))?;
    let format = patiently(deadline, || meta::format(&connection))?;
    if format > schema::NEWEST_FORMAT {
        return Err(meta::unknown_format(&quoted(path), format).into());
    }
    if format == schema::FIRST_FORMAT {
        patiently(deadline, || upgrade::from_first_format(&connection, path, settings))?;
    }
    let agreed = patiently(deadline, || Meta::read(&connection))?;
    Log::take_over(&connection)?;
    Ok((connection, agreed))
}

/// Somebody made an empty file (or this filesystem can do no better): fills it in rollback mode,
/// under SQLite's write lock, so that its header is ours as soon as it is not empty.
fn fill_empty_file(
    connection: &Connection,
    path: &Path,
    settings: &Settings,
) -> std::result::Result<(), Failure> {
    transaction::write_unchecked(connection, |connection| {
        if pragma::<i32>(connection, "application_id")? == schema::APPLICATION_ID {
            return Ok(());
        }
        let tables: i64 = connection.query_one(schema::COUNT_TABLES, [], |row| row.get(0))?;
        if tables > 0 {
            return Err(refusal(path, Code::NotStore, ANOTHER_PROGRAM).into());
        }
        make_tables(connection, settings, Counting::at(path)?)
    })
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
