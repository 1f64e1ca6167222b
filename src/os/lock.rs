//! Record locks that belong to the open file description, where the kernel has them.
//!
//! A POSIX lock belongs to the process and is dropped by any `close()` of any descriptor of its
//! file, by anyone in the process. A lock of the open file description (Linux 3.15) is not, and it
//! conflicts with the POSIX locks of the same process, so two copies of SQLite in one process
//! exclude each other.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::switches;

/// Which locks this process takes on stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// Of the open file description: the host may use its own SQLite on the store.
    OpenFileDescription,
    /// Of the process: the host must not open the store file by any other way than this library.
    Posix,
}

const UNKNOWN: u8 = 0;
const OFD: u8 = 1;
const POSIX: u8 = 2;
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The kind in force. The first call asks the kernel, by a question on `fd` that changes nothing.
pub(super) fn kind(fd: RawFd) -> LockKind {
    match KIND.load(Ordering::Relaxed) {
        OFD => LockKind::OpenFileDescription,
        POSIX => LockKind::Posix,
        _ => match probe(fd) {
            Some(kind) => {
                let code = if kind == LockKind::OpenFileDescription { OFD } else { POSIX };
                KIND.store(code, Ordering::Relaxed);
                kind
            }
            None => LockKind::OpenFileDescription,
        },
    }
}

/// The kind in force, if a lock was asked for yet.
pub(crate) fn kind_in_force() -> Option<LockKind> {
    match KIND.load(Ordering::Relaxed) {
        OFD => Some(LockKind::OpenFileDescription),
        POSIX => Some(LockKind::Posix),
        _ => None,
    }
}

/// Whether this system has locks of open file descriptions.
pub(crate) fn are_of_descriptions() -> bool {
    if let Some(kind) = kind_in_force() {
        return kind == LockKind::OpenFileDescription;
    }
    // SAFETY: a constant name; the descriptor is closed below and known to nobody else.
    let fd = unsafe { libc::memfd_create(c"ratelite".as_ptr(), libc::MFD_CLOEXEC) };
    let kind = kind(fd);
    if fd >= 0 {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
    kind == LockKind::OpenFileDescription
}

/// `None` when this descriptor cannot tell: only EINVAL says that the kernel has no such locks.
fn probe(fd: RawFd) -> Option<LockKind> {
    if switches::POSIX_LOCKS.is_on() {
        return Some(LockKind::Posix);
    }
    let mut question = range(libc::F_RDLCK as libc::c_short, 0, 1);
    // SAFETY: F_OFD_GETLK reads and writes the `flock` on this stack.
    if unsafe { libc::fcntl(fd, libc::F_OFD_GETLK, &raw mut question) } == 0 {
        return Some(LockKind::OpenFileDescription);
    }
    let is_unknown = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
    is_unknown.then_some(LockKind::Posix)
}

/// Takes a shared lock of the open file description on `length` bytes from `start`, without
/// waiting. False when it cannot be had.
pub(super) fn try_share(fd: RawFd, start: i64, length: i64) -> bool {
    set(fd, libc::F_RDLCK, start, length)
}

/// Takes an exclusive lock as [`try_share`] takes a shared one.
pub(super) fn try_own(fd: RawFd, start: i64, length: i64) -> bool {
    set(fd, libc::F_WRLCK, start, length)
}

/// Gives up a lock of the open file description.
pub(super) fn unlock(fd: RawFd, start: i64, length: i64) {
    set(fd, libc::F_UNLCK, start, length);
}

/// Whether nobody else holds an exclusive lock there. If the kernel does not answer, whoever tries
/// will see.
pub(super) fn is_free(fd: RawFd, start: i64, length: i64) -> bool {
    let mut question = range(libc::F_RDLCK as libc::c_short, start, length);
    // SAFETY: F_OFD_GETLK reads and writes the `flock` on this stack.
    let is_answered = unsafe { libc::fcntl(fd, libc::F_OFD_GETLK, &raw mut question) } == 0;
    !is_answered || libc::c_int::from(question.l_type) == libc::F_UNLCK
}

/// Gives up every lock of the open file description behind `fd`. With POSIX locks it does nothing:
/// that would drop the host's locks too, and SQLite has given up its own.
pub(super) fn unlock_all(fd: RawFd) {
    if kind(fd) == LockKind::OpenFileDescription {
        set(fd, libc::F_UNLCK, 0, 0);
    }
}

fn set(fd: RawFd, kind: libc::c_int, start: i64, length: i64) -> bool {
    let mut wanted = range(kind as libc::c_short, start, length);
    // SAFETY: F_OFD_SETLK reads the `flock` on this stack.
    unsafe { libc::fcntl(fd, libc::F_OFD_SETLK, &raw mut wanted) == 0 }
}

fn range(kind: libc::c_short, start: i64, length: i64) -> libc::flock {
    libc::flock {
        l_type: kind,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0, // OFD locks demand it
    }
}
