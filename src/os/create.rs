//! Makes a store file that is whole from its first moment.

use std::fs::{File, Metadata, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::stat::c_path;
use super::store_file::StoreFile;
use super::{parked, signals};
use crate::switches;

/// Keeps others from making or removing files of stores in a directory, until it is dropped.
pub(crate) struct DirectoryLock {
    _directory: File,
}

impl DirectoryLock {
    /// `None` when somebody else has it.
    pub(crate) fn try_take(directory: &Path) -> io::Result<Option<Self>> {
        let directory = File::open(directory)?;
        match directory.try_lock() {
            Ok(()) => Ok(Some(Self { _directory: directory })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(None)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A whole file that has no name yet, or only a temporary one. Unless it is given its name, it goes
/// when it is dropped.
pub(crate) struct NewFile {
    file: File,
    mode: u32,
    temporary: Option<Temporary>,
}

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl NewFile {
    /// Writes and syncs a file in the directory of `path`. The mode is exact, whatever the umask.
    pub(crate) fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<Self> {
        let mut new = Self::open(path, mode)?;
        new.file.write_all(content).inspect_err(note_size_error)?;
        new.file.set_permissions(Permissions::from_mode(mode))?;
        new.file.sync_all()?;
        Ok(new)
    }

    /// A file of so many zero bytes, each of which has its place on the disk.
    pub(crate) fn allocate(path: &Path, bytes: u64, mode: u32) -> io::Result<Self> {
        let new = Self::open(path, mode)?;
        let length = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        loop {
            // SAFETY: a descriptor that `new` owns; the call touches no memory.
            match unsafe { libc::posix_fallocate(new.file.as_raw_fd(), 0, length) } {
                0 => break,
                libc::EINTR => {}
                error => {
                    return Err(io::Error::from_raw_os_error(error)).inspect_err(note_size_error);
                }
            }
        }
        new.file.set_permissions(Permissions::from_mode(mode))?;
        Ok(new)
    }

    fn open(path: &Path, mode: u32) -> io::Result<Self> {
        match open_nameless(directory_of(path)) {
            Ok(file) => Ok(Self { file, mode, temporary: None }),
            Err(error) if lacks_support(&error) => {
                let temporary = temporary_name(path);
                let file = open_new(&temporary)?;
                Ok(Self { file, mode, temporary: Some(Temporary(temporary)) })
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// As SQLite does with what it puts beside a database: what root makes belongs to its owner.
    pub(crate) fn give_to_owner_of(&self, database: &Metadata) -> io::Result<()> {
        // SAFETY: it only asks.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(());
        }
        std::os::unix::fs::fchown(&self.file, Some(database.uid()), Some(database.gid()))
    }

    /// Gives the file its name, also where another has it. For those who keep others from doing the
    /// same.
    pub(crate) fn give_name_in_place_of(self, path: &Path) -> io::Result<()> {
        match &self.temporary {
            Some(temporary) => std::fs::rename(&temporary.0, path),
            None => {
                remove_if_there(path)?;
                match link_nameless(&self.file, path)? {
                    true => Ok(()),
                    false => Err(io::ErrorKind::AlreadyExists.into()),
                }
            }
        }
    }

    /// Gives the file its name, and syncs the directory. False when the name is taken.
    pub(crate) fn give_name(self, path: &Path) -> io::Result<bool> {
        let Self { file, mode, temporary } = self;
        let named = match &temporary {
            None => link_nameless(&file, path),
            // A second link would make the file look hard-linked to others for a moment.
            Some(temporary) => rename_new(&temporary.0, path),
        };
        let file = match named {
            Ok(true) => {
                // It has no temporary name any more.
                std::mem::forget(temporary);
                file
            }
            Ok(false) => return Ok(false),
            // No rename either that leaves others alone: an empty file, which the first open fills
            // under SQLite's lock.
            Err(error) if temporary.is_some() && lacks_support(&error) => match open_new(path) {
                Ok(empty) => {
                    empty.set_permissions(Permissions::from_mode(mode))?;
                    empty
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        // From now on it is a descriptor of a store.
        drop(StoreFile::adopt(file.into_raw_fd()));
        File::open(directory_of(path))?.sync_all()?;
        Ok(true)
    }
}

/// Removes a file that may have gone already.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file in order to map it: the descriptor is closed again, since nobody locks it.
pub(crate) fn open_to_map(path: &Path) -> io::Result<File> {
    open(path, libc::O_NOFOLLOW | libc::O_NONBLOCK)
}

fn note_size_error(error: &io::Error) {
    if error.kind() == io::ErrorKind::FileTooLarge {
        signals::note_file_size_error();
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn open_nameless(directory: &Path) -> io::Result<File> {
    // A nameless file gets its name by way of /proc.
    if switches::NO_TMPFILE.is_on() || !Path::new("/proc/self/fd").is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    open(directory, libc::O_TMPFILE)
}

fn open_new(path: &Path) -> io::Result<File> {
    open(path, libc::O_CREAT | libc::O_EXCL)
}

fn open(path: &Path, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC;
    let fd = parked::open_above_standard(&c_path(path)?, flags, 0o600)?;
    // SAFETY: the descriptor was opened a moment ago and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn link_nameless(file: &File, path: &Path) -> io::Result<bool> {
    let source = c_path(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))?;
    let target = c_path(path)?;
    // SAFETY: two NUL-terminated paths.
    let result = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            source.as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    made_or_exists(result)
}

fn temporary_name(path: &Path) -> PathBuf {
    let unique = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since_epoch| since_epoch.as_nanos());
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{unique}.new", std::process::id()));
    path.with_file_name(name)
}

fn rename_new(from: &Path, to: &Path) -> io::Result<bool> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    // SAFETY: two NUL-terminated paths; the raw call, since older C libraries lack the wrapper.
    let result = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    made_or_exists(result as libc::c_int)
}

fn made_or_exists(result: libc::c_int) -> io::Result<bool> {
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(false) } else { Err(error) }
}

/// What kernels and filesystems answer that know no O_TMPFILE or no RENAME_NOREPLACE.
/// (An old kernel takes O_TMPFILE for opening the directory itself: EISDIR.)
fn lacks_support(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOSYS)
    )
}
