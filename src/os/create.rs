//! Makes a store file that is whole from its first moment.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::stat::c_path;
use super::store_file::StoreFile;

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
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Writes `content` to a nameless file in the directory of `path`, syncs it, and gives it the name.
/// False when somebody else's file has the name by then. The mode is exact, whatever the umask.
pub(crate) fn create_whole(path: &Path, content: &[u8], mode: u32) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let made = match nameless_file(directory) {
        Ok(mut file) => {
            fill(&mut file, content, mode)?;
            let outcome = link_nameless(&file, path);
            // The descriptor is one of a store file now, if it got the name.
            if matches!(outcome, Ok(true)) {
                drop(StoreFile::adopt(file.into_raw_fd()));
            }
            outcome
        }
        Err(error) => Err(error),
    };
    let made = match made {
        Err(error) if lacks_support(&error) => create_by_rename(path, content, mode)?,
        other => other?,
    };
    if made {
        File::open(directory)?.sync_all()?;
    }
    Ok(made)
}

fn nameless_file(directory: &Path) -> io::Result<File> {
    if cfg!(feature = "test-no-tmpfile") {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    let directory = c_path(directory)?;
    // SAFETY: a NUL-terminated path; O_TMPFILE reads the mode.
    let fd = unsafe { libc::open(directory.as_ptr(), flags, 0o600 as libc::c_uint) };
    owned(fd)
}

fn owned(fd: RawFd) -> io::Result<File> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened a moment ago and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn fill(file: &mut File, content: &[u8], mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.write_all(content)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.sync_all()
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

/// Where the filesystem has no O_TMPFILE, or /proc is not there. A second link to a named
/// temporary would make the file look hard-linked to others for a moment; a rename does not.
fn create_by_rename(path: &Path, content: &[u8], mode: u32) -> io::Result<bool> {
    let temporary = temporary_name(path);
    let mut file =
        File::options().read(true).write(true).create_new(true).mode(0o600).open(&temporary)?;
    let outcome = fill(&mut file, content, mode).and_then(|()| rename_new(&temporary, path));
    match outcome {
        Ok(true) => drop(StoreFile::adopt(file.into_raw_fd())),
        _ => std::fs::remove_file(&temporary)?,
    }
    match outcome {
        // Neither way is there: an empty file, which the first open fills under SQLite's lock.
        Err(error) if lacks_support(&error) => create_empty(path, mode),
        other => other,
    }
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

fn create_empty(path: &Path, mode: u32) -> io::Result<bool> {
    match File::options().read(true).write(true).create_new(true).mode(mode).open(path) {
        Ok(file) => {
            drop(StoreFile::adopt(file.into_raw_fd()));
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn made_or_exists(result: libc::c_int) -> io::Result<bool> {
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(false) } else { Err(error) }
}

/// What kernels and filesystems answer that know no O_TMPFILE, no /proc or no RENAME_NOREPLACE.
/// (An old kernel takes O_TMPFILE for opening the directory itself: EISDIR.)
fn lacks_support(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOSYS | libc::ENOENT)
    )
}
