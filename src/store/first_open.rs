//! Opens a store file: never fails in a race, never touches a file that is not ours.
//!
//! The order of steps is the point. Who lets SQLite look first has a foreign hot journal rolled
//! back and a foreign WAL checkpointed and deleted; who sets `journal_mode` and a busy timeout and
//! hopes loses one open in a hundred when 32 processes race, since SQLite does not wait there.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::checkpoint;
use super::failure::Failure;
use super::meta::{self, Meta, Settings};
use super::schema;
use super::transaction;
use crate::clock;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result, quoted};
use crate::os::create::{DirectoryLock, NewFile};
use crate::os::stat::{self, FileFacts, FileId};
use crate::os::store_file::StoreFile;
use crate::os::{fork, parked};

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
    if format > schema::FORMAT {
        return Err(meta::unknown_format(&quoted(path), format));
    }
    Ok(())
}

fn number(header: &[u8], at: std::ops::Range<usize>) -> i64 {
    header[at].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

fn create(
    path: &Path,
    settings: &Settings,
    deadline: &Deadline,
) -> std::result::Result<(), Failure> {
    refuse_remote(directory_of(path), path)?;
    let failed = |error: io::Error| open_error(path, &error, "cannot create it");
    // Written and synced before the lock: others wait for no disk.
    let image = empty_store(settings)?;
    let new = NewFile::write(path, &image, settings.file_mode).map_err(failed)?;
    let _only_here = patiently(deadline, || lock_directory(path))?;
    if stat::lstat(path).is_ok() {
        // Another process was faster; the caller looks at what it made.
        return Ok(());
    }
    if has_journal(path) {
        return Err(foreign_journal(path).into());
    }
    // A log whose database was deleted alone: SQLite would replay it into the new database. Under
    // the lock it cannot be the log of somebody's new one.
    move_log_aside(path)?;
    // False: somebody who knows of no such lock was faster.
    let _named = new.give_name(path).map_err(failed)?;
    Ok(())
}

/// Removes the log that this process has open, after its database was replaced: SQLite would replay
/// it into the new one, a backup say, and so undo the restoration.
pub(super) fn remove_log_of_replaced(
    path: &Path,
    deadline: &Deadline,
) -> std::result::Result<(), Failure> {
    let _only_here = patiently(deadline, || lock_directory(path))?;
    // Others may have begun the new database's own log meanwhile.
    remove_log(path, parked::is_in_use)
}

/// Removes -wal and -shm of these files. The caller holds the directory's lock.
fn remove_log(path: &Path, wanted: impl Fn(FileId) -> bool) -> std::result::Result<(), Failure> {
    for log in ["-wal", "-shm"].map(|suffix| stat::beside(path, suffix)) {
        if !stat::lstat(&log).is_ok_and(|facts| wanted(facts.id)) {
            continue;
        }
        match std::fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(open_error(path, &error, "cannot remove its old log").into());
            }
            _ => {}
        }
    }
    Ok(())
}

fn lock_directory(path: &Path) -> std::result::Result<DirectoryLock, Failure> {
    let lock = DirectoryLock::try_take(directory_of(path))
        .map_err(|error| open_error(path, &error, "its directory"))?;
    lock.ok_or_else(|| {
        let message = "others kept its directory locked; is a program using flock on it?";
        refusal(path, Code::Busy, message).into()
    })
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A log whose database has gone is useless to us, but perhaps not ours.
fn move_log_aside(path: &Path) -> std::result::Result<(), Failure> {
    remove_log(path, parked::is_in_use)?;
    let aside = free_name(path, "orphan");
    for suffix in ["-wal", "-shm"] {
        rename_if_there(path, suffix, &aside)?;
    }
    Ok(())
}

/// `<path>.<what>-<milliseconds since the epoch>`, of which nothing stands there yet.
fn free_name(path: &Path, what: &str) -> PathBuf {
    let mut time = clock::now().map_or(0, |now| now.millis());
    loop {
        let name = stat::beside(path, &format!(".{what}-{time}"));
        if ["", "-wal", "-shm"]
            .iter()
            .all(|suffix| stat::lstat(&stat::beside(&name, suffix)).is_err())
        {
            return name;
        }
        time += 1;
    }
}

fn rename_if_there(path: &Path, suffix: &str, aside: &Path) -> std::result::Result<(), Failure> {
    match std::fs::rename(stat::beside(path, suffix), stat::beside(aside, suffix)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(open_error(path, &error, "cannot move it aside").into())
        }
        _ => Ok(()),
    }
}

/// Whether a rollback journal stands beside the database.
fn has_journal(path: &Path) -> bool {
    stat::lstat(&stat::beside(path, "-journal")).is_ok_and(|facts| facts.size > 0)
}

fn foreign_journal(path: &Path) -> Error {
    refusal(
        path,
        Code::NotStore,
        "another program's rollback journal (-journal) stands beside it, which SQLite would play \
         into it; move that away, to its own database if that is still there",
    )
}

/// Moves a damaged store of ours out of the way, with its log: to `<path>.corrupt-<time>`. Does
/// nothing if another file stands there by now, since then somebody else has done it.
pub(super) fn set_aside(
    path: &Path,
    damaged: FileId,
    deadline: &Deadline,
) -> std::result::Result<(), Failure> {
    let _only_here = patiently(deadline, || lock_directory(path))?;
    match stat::lstat(path) {
        Ok(facts) if facts.id == damaged => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(open_error(path, &error, "cannot move it aside").into());
        }
        _ => return Ok(()),
    }
    let aside = free_name(path, "corrupt");
    // The database first: who finds none waits for this lock before making a new one.
    for suffix in ["", "-wal", "-shm"] {
        rename_if_there(path, suffix, &aside)?;
    }
    Ok(())
}

fn refuse_remote(existing: &Path, path: &Path) -> Result<()> {
    match stat::remote_filesystem(existing) {
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(refusal(
            path,
            Code::Invalid,
            &format!("it is on {name}, where locks do not reach every process; use a local disk"),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(open_error(path, &error, "")),
    }
}

/// The bytes of a complete store with no counters, already in WAL mode: so the file is ours and
/// whole from its first moment, and rollback mode never happens.
fn empty_store(settings: &Settings) -> std::result::Result<Vec<u8>, Failure> {
    let mut connection = in_memory(settings)?;
    let mut image = connection.serialize("main")?.to_vec();
    // The header's write and read version: 2 is WAL.
    if let Some(versions) = image.get_mut(18..20) {
        versions.fill(2);
    }
    connection.close().map_err(|(_, error)| error)?;
    Ok(image)
}

/// A store that lives in this process's memory.
pub(super) fn in_memory(settings: &Settings) -> std::result::Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(":memory:", flags)?;
    configure(&mut connection)?;
    transaction::write_unchecked(&connection, |connection| make_tables(connection, settings))?;
    Ok(connection)
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
    checkpoint::by_hits(&mut connection)?;
    let application_id = patiently(deadline, || Ok(pragma::<i32>(&connection, "application_id")?))?;
    if application_id != 0 && application_id != schema::APPLICATION_ID {
        // Put there since its header was looked at.
        return Err(refusal(path, Code::NotStore, ANOTHER_PROGRAM).into());
    }
    if application_id == 0 {
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
    let agreed = patiently(deadline, || Meta::read(&connection))?;
    if agreed.format > schema::FORMAT {
        return Err(meta::unknown_format(&quoted(path), agreed.format).into());
    }
    Ok((connection, agreed))
}

fn patiently<T>(
    deadline: &Deadline,
    mut step: impl FnMut() -> std::result::Result<T, Failure>,
) -> std::result::Result<T, Failure> {
    loop {
        match step() {
            Err(failure) if failure.is_busy() && !fork::is_under_way() && deadline.pause() => {}
            other => return other,
        }
    }
}

fn configure(connection: &mut Connection) -> std::result::Result<(), Failure> {
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
        let tables: i64 =
            connection.query_one("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            return Err(refusal(path, Code::NotStore, ANOTHER_PROGRAM).into());
        }
        make_tables(connection, settings)
    })
}

fn make_tables(connection: &Connection, settings: &Settings) -> std::result::Result<(), Failure> {
    connection.execute_batch(schema::SCHEMA)?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", schema::FORMAT)?;
    Meta::write(connection, settings)
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn refusal(path: &Path, code: Code, why: &str) -> Error {
    Error::new(code, format!("cannot use {} as a store: {why}", quoted(path)))
}

fn open_error(path: &Path, error: &io::Error, hint: &str) -> Error {
    let (code, cure) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
            (Code::Permission, "it and its directory must be readable and writable for this user")
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            (Code::DescriptorsExhausted, "raise the limit of open files (ulimit -n)")
        }
        Some(libc::ENOSPC | libc::EDQUOT) => (Code::Full, "free space on its disk"),
        Some(libc::ENOMEM) => (Code::NoMemory, "free memory"),
        Some(libc::ENOENT | libc::ENOTDIR) => (Code::Io, "its directory has gone: create it"),
        _ => (Code::Io, "check the disk"),
    };
    let hint = if hint.is_empty() { String::new() } else { format!("{hint}: ") };
    Error::new(code, format!("cannot open store {}: {hint}{error}; {cure}", quoted(path)))
}
