//! The table of every descriptor that this process holds on store files.
//!
//! Invariants:
//! * A descriptor on which locks were taken, of a file that still has a name, is never closed. It
//!   is unlocked and *parked*, and handed out again to the next who opens that file. Closing it
//!   would drop the POSIX locks that the host's own SQLite holds on the file, and the host would
//!   then write unlocked into our WAL.
//! * A number is closed, locked or handed out only if it still names the file it was opened for: a
//!   host may have closed every descriptor (a daemon does) and opened others under those numbers.
//! * What the fork handlers need when nobody can be asked (which numbers are ours) is also kept in
//!   a bitmap, which is read without a lock.

use std::ffi::{CStr, c_int};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock;
use super::mutex::{Guard, Mutex};
use super::stat::{self, FileId};
use crate::switches;

static TABLE: Mutex<Table> = Mutex::new(Table { entries: Vec::new() });

/// Numbers that are in the table; and those on which a lock was ever asked for.
static OURS: Bitmap = Bitmap::new();
static LOCKING: Bitmap = Bitmap::new();
/// Numbers whose connection is to be closed without another lock, since the host closed some of
/// its descriptors.
static ABANDONED: Bitmap = Bitmap::new();

pub(super) struct Table {
    entries: Vec<Entry>,
}

struct Entry {
    fd: RawFd,
    id: FileId,
    access: c_int,
    is_parked: bool,
}

impl Entry {
    /// Whether the number still names the file it was opened for.
    fn is_intact(&self) -> bool {
        stat::fstat(self.fd).is_ok_and(|facts| facts.id == self.id)
    }
}

/// Opens a file, or hands out a parked descriptor of it.
pub(super) fn open(path: &CStr, flags: c_int, mode: libc::mode_t) -> io::Result<RawFd> {
    let mut table = TABLE.lock_unbounded();
    if flags & libc::O_EXCL == 0
        && let Some(fd) = table.take_parked(path, flags & libc::O_ACCMODE)
    {
        return Ok(fd);
    }
    let fd = open_above_standard(path, flags, mode)?;
    table.add(fd, flags & libc::O_ACCMODE);
    Ok(fd)
}

/// Opens a file under a number that no host takes for stdin, stdout or stderr. One that closed
/// them would else print into the store.
pub(super) fn open_above_standard(
    path: &CStr,
    flags: c_int,
    mode: libc::mode_t,
) -> io::Result<RawFd> {
    let mut fillers = Vec::new();
    for standard in 0..=2 {
        // SAFETY: F_GETFD of any number; an open of a constant path.
        unsafe {
            if libc::fcntl(standard, libc::F_GETFD) == -1 {
                fillers.push(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC));
            }
        }
    }
    let outcome = loop {
        // SAFETY: a NUL-terminated path; the mode is read only with O_CREAT.
        let fd = unsafe { libc::open(path.as_ptr(), flags, libc::c_uint::from(mode)) };
        if fd >= 0 {
            break Ok(fd);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            break Err(error);
        }
    };
    fillers.into_iter().filter(|&filler| filler >= 0).for_each(close);
    outcome
}

/// Enters a descriptor that was made without a path.
pub(super) fn adopt(fd: RawFd) {
    TABLE.lock_unbounded().add(fd, libc::O_RDWR);
    // It names a store file, so it must not be closed while the file has a name.
    LOCKING.set(fd);
}

/// Ends the use of a descriptor: parks it, or closes it where that can harm nobody.
pub(super) fn give_back(fd: RawFd) {
    TABLE.lock_unbounded().give_back(fd);
}

/// Notes that locks are taken on this descriptor. False when they must not be.
pub(super) fn note_locking(fd: RawFd) -> bool {
    LOCKING.set(fd);
    !ABANDONED.has(fd)
}

/// Whether the host has left every descriptor in use alone.
pub(crate) fn all_intact() -> bool {
    let table = TABLE.lock_unbounded();
    table.entries.iter().all(|entry| entry.is_parked || entry.is_intact())
}

/// Whether a descriptor of this file is in use.
pub(crate) fn is_in_use(id: FileId) -> bool {
    // Without the overrides nobody enters what SQLite opens.
    switches::UNDEFENDED.is_on()
        || TABLE.lock_unbounded().entries.iter().any(|entry| !entry.is_parked && entry.id == id)
}

/// Lets no lock be taken any more on the descriptors in use, so that closing their connections
/// neither checkpoints nor deletes: some of the numbers may be a stranger's by now.
pub(crate) fn abandon_all() {
    for entry in &TABLE.lock_unbounded().entries {
        if !entry.is_parked {
            ABANDONED.set(entry.fd);
        }
    }
}

/// How many descriptors the process holds on store files.
pub(crate) fn count() -> usize {
    TABLE.lock_unbounded().entries.len()
}

/// Keeps every other thread out of the table while a fork is under way.
pub(super) fn hold() -> Guard<'static, Table> {
    TABLE.lock_unbounded()
}

/// In a child whose handlers could not run: puts /dev/null under every number of ours, without a
/// lock, since the thread that held it may not exist here.
pub(super) fn overlay_with_null() {
    // SAFETY: a constant path.
    let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    OURS.for_each(|fd| {
        // SAFETY: both are descriptors of this child; the number under `fd` was ours.
        unsafe {
            if null < 0 {
                libc::close(fd);
            } else {
                libc::dup3(null, fd, libc::O_CLOEXEC);
            }
        }
    });
    if null >= 0 {
        // SAFETY: opened above and used nowhere else.
        unsafe { libc::close(null) };
    }
}

impl Table {
    fn add(&mut self, fd: RawFd, access: c_int) {
        if let Ok(facts) = stat::fstat(fd) {
            self.entries.retain(|entry| entry.fd != fd);
            self.entries.push(Entry { fd, id: facts.id, access, is_parked: false });
            OURS.set(fd);
            LOCKING.clear(fd);
            ABANDONED.clear(fd);
        }
    }

    fn take_parked(&mut self, path: &CStr, access: c_int) -> Option<RawFd> {
        let id = stat::lstat_c(path).ok()?.id;
        self.forget_lost();
        let entry = self
            .entries
            .iter_mut()
            .find(|entry| entry.is_parked && entry.id == id && entry.access == access)?;
        entry.is_parked = false;
        Some(entry.fd)
    }

    fn give_back(&mut self, fd: RawFd) {
        let Some(position) = self.entries.iter().position(|entry| entry.fd == fd) else { return };
        let has_locks = LOCKING.has(fd);
        ABANDONED.clear(fd);
        if !self.entries[position].is_intact() {
            self.remove(position);
        } else if has_locks && stat::fstat(fd).is_ok_and(|facts| facts.links > 0) {
            lock::unlock_all(fd);
            self.entries[position].is_parked = true;
        } else {
            self.remove(position);
            close(fd);
        }
        self.close_nameless();
    }

    /// Parked descriptors of files that were deleted meanwhile have nobody to protect.
    fn close_nameless(&mut self) {
        for position in (0..self.entries.len()).rev() {
            let entry = &self.entries[position];
            let (fd, id) = (entry.fd, entry.id);
            if entry.is_parked
                && stat::fstat(fd).is_ok_and(|facts| facts.id == id && facts.links == 0)
            {
                self.remove(position);
                close(fd);
            }
        }
    }

    fn forget_lost(&mut self) {
        for position in (0..self.entries.len()).rev() {
            if self.entries[position].is_parked && !self.entries[position].is_intact() {
                self.remove(position);
            }
        }
    }

    fn remove(&mut self, position: usize) {
        let entry = self.entries.swap_remove(position);
        OURS.clear(entry.fd);
        LOCKING.clear(entry.fd);
        ABANDONED.clear(entry.fd);
    }

    /// In a child of fork: closes everything that is still the file it was. A child owns no POSIX
    /// locks, so that harms nobody; and it must not keep the parent's open file descriptions.
    pub(super) fn close_all_in_child(&mut self) {
        while let Some(entry) = self.entries.last() {
            if entry.is_intact() {
                close(entry.fd);
            }
            self.remove(self.entries.len() - 1);
        }
    }
}

fn close(fd: RawFd) {
    // SAFETY: the caller owns this number: it opened it, or removed it from the table just now.
    unsafe { libc::close(fd) };
}

/// A set of descriptor numbers that is read and changed without a lock.
struct Bitmap {
    words: [AtomicU64; Self::WORDS],
}

impl Bitmap {
    /// Enough for the usual hard limit of descriptors; the pages are touched only when used.
    const WORDS: usize = (1 << 20) / 64;

    const fn new() -> Self {
        Self { words: [const { AtomicU64::new(0) }; Self::WORDS] }
    }

    fn word(&self, fd: RawFd) -> Option<(&AtomicU64, u64)> {
        let number = usize::try_from(fd).ok()?;
        Some((self.words.get(number / 64)?, 1 << (number % 64)))
    }

    fn set(&self, fd: RawFd) {
        if let Some((word, bit)) = self.word(fd)
            && word.load(Ordering::Relaxed) & bit == 0
        {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn clear(&self, fd: RawFd) {
        if let Some((word, bit)) = self.word(fd) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    fn has(&self, fd: RawFd) -> bool {
        self.word(fd).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn for_each(&self, mut visit: impl FnMut(RawFd)) {
        for (index, word) in self.words.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                visit((index * 64) as RawFd + bits.trailing_zeros() as RawFd);
                bits &= bits - 1;
            }
        }
    }
}
