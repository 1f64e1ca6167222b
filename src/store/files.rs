//! The files of a store: made, moved aside, and what must not stand beside them.
//!
//! Whoever makes or moves files of a store holds the lock of their directory meanwhile, so that two
//! processes never take each other's new file for an old one. Nothing foreign is ever removed.

use std::io;
use std::path::{Path, PathBuf};

use super::blank::empty_store;
use super::failure::Failure;
use super::meta::{Counting, Settings};
use super::patience::patiently;
use super::refusal::{open_error, refusal};
use crate::clock;
use crate::deadline::Deadline;
use crate::error::{Code, Error};
use crate::os::create::{DirectoryLock, NewFile};
use crate::os::parked;
use crate::os::stat::{self, FileId};

/// Makes a complete, empty store at a path where nothing stands. Where something does by then, it is
/// left alone: the caller looks at it.
pub(super) fn create(path: &Path, settings: &Settings, deadline: &Deadline) -> Result<(), Failure> {
    refuse_remote(directory_of(path), path)?;
    let failed = |error: io::Error| open_error(path, &error, "cannot create it");
    // Written and synced before the lock: others wait for no disk.
    let image = empty_store(settings, Counting::at(path)?)?;
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
pub(super) fn remove_log_of_replaced(path: &Path, deadline: &Deadline) -> Result<(), Failure> {
    let _only_here = patiently(deadline, || lock_directory(path))?;
    // Others may have begun the new database's own log meanwhile.
    remove_own_log(path)
}

/// Removes -wal and -shm if this process has them open. The caller holds the directory's lock.
fn remove_own_log(path: &Path) -> Result<(), Failure> {
    for log in ["-wal", "-shm"].map(|suffix| stat::beside(path, suffix)) {
        if !stat::lstat(&log).is_ok_and(|facts| parked::is_in_use(facts.id)) {
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

fn lock_directory(path: &Path) -> Result<DirectoryLock, Failure> {
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
fn move_log_aside(path: &Path) -> Result<(), Failure> {
    remove_own_log(path)?;
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

fn rename_if_there(path: &Path, suffix: &str, aside: &Path) -> Result<(), Failure> {
    match std::fs::rename(stat::beside(path, suffix), stat::beside(aside, suffix)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(open_error(path, &error, "cannot move it aside").into())
        }
        _ => Ok(()),
    }
}

/// Whether a rollback journal stands beside the database.
pub(super) fn has_journal(path: &Path) -> bool {
    stat::lstat(&stat::beside(path, "-journal")).is_ok_and(|facts| facts.size > 0)
}

pub(super) fn foreign_journal(path: &Path) -> Error {
    refusal(
        path,
        Code::NotStore,
        "another program's rollback journal (-journal) stands beside it, which SQLite would play \
         into it; move that away, to its own database if that is still there",
    )
}

/// Moves a damaged store of ours out of the way, with its log: to `<path>.corrupt-<time>`. Does
/// nothing if another file stands there by now, since then somebody else has done it.
pub(super) fn set_aside(path: &Path, damaged: FileId, deadline: &Deadline) -> Result<(), Failure> {
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

pub(super) fn refuse_remote(existing: &Path, path: &Path) -> Result<(), Error> {
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
