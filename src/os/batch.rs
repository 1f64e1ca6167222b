//! Fewer system calls for a hit: a third of them ask for what nobody sees.
//!
//! While a transaction lasts, and only then,
//! * an unlock of bytes in the WAL index is put off until the end, or until SQLite asks for the next
//!   lock: an exclusive lock that it gives up to take a shared one becomes shared in one step, and
//!   the two locks that it holds to the end are given up together;
//! * the header of a frame in the log is written together with its page.
//!
//! Invariants:
//! * A lock that SQLite believes to hold is held. One that it believes to be free may be held for
//!   less than a microsecond more: the log is moved, which takes long, after the transaction.
//! * A range is unlocked as a whole only if no lock in it is held.
//! * What is put off belongs to one thread, and to one transaction of it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;

use super::vfs::set_errno;
use super::{lock, written_log};

/// UNIX_SHM_BASE and SQLITE_SHM_NLOCK of SQLite's unix VFS: where -shm is locked.
const FIRST_LOCK_BYTE: i64 = 120;
const LOCK_BYTES: i64 = 8;

/// WAL_FRAME_HDRSIZE of SQLite's write-ahead log.
const FRAME_HEADER: usize = 24;

thread_local! {
    static BATCH: Cell<Option<Batch>> = const { Cell::new(None) };
}

/// Until this is dropped, this thread's system calls for SQLite are put together.
pub(crate) struct Transaction(());

impl Transaction {
    pub(crate) fn begin() -> Self {
        if !cfg!(feature = "test-undefended") {
            BATCH.set(Some(Batch { unlocks: Unlocks::NONE, header: None }));
        }
        Self(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(mut batch) = BATCH.take() {
            batch.unlocks.make();
            // SQLite never ends a transaction between a header and its page.
            debug_assert!(batch.header.is_none());
        }
    }
}

#[derive(Clone, Copy)]
struct Batch {
    unlocks: Unlocks,
    header: Option<FrameHeader>,
}

/// Of one -shm. Bit i stands for byte 120 + i.
#[derive(Clone, Copy)]
struct Unlocks {
    fd: RawFd,
    put_off: u8,
    /// What SQLite has locked.
    held: u8,
}

/// Put off until its page comes.
#[derive(Clone, Copy)]
struct FrameHeader {
    fd: RawFd,
    offset: i64,
    bytes: [u8; FRAME_HEADER],
}

/// Locks or unlocks as `request` says by `call`, or puts it off; returns what `call` would.
pub(super) fn lock(fd: RawFd, request: &libc::flock, call: impl FnOnce() -> c_int) -> c_int {
    let (Some(mut batch), Some(bits)) = (BATCH.get(), lock_bits(request)) else { return call() };
    let answer = match c_int::from(request.l_type) {
        libc::F_UNLCK => batch.unlocks.put_off(fd, bits),
        _ => batch.unlocks.make_before_lock(fd, bits, call),
    };
    BATCH.set(Some(batch));
    answer
}

/// `None` for what is no lock of a WAL index.
fn lock_bits(request: &libc::flock) -> Option<u8> {
    let first = request.l_start.checked_sub(FIRST_LOCK_BYTE)?;
    let fits = first >= 0 && request.l_len >= 1 && first + request.l_len <= LOCK_BYTES;
    fits.then(|| (0xFF >> (LOCK_BYTES - request.l_len) << first) as u8)
}

impl Unlocks {
    const NONE: Self = Self { fd: -1, put_off: 0, held: 0 };

    fn put_off(&mut self, fd: RawFd, bits: u8) -> c_int {
        self.be_for(fd);
        self.held &= !bits;
        self.put_off |= bits;
        0
    }

    fn make_before_lock(&mut self, fd: RawFd, bits: u8, call: impl FnOnce() -> c_int) -> c_int {
        self.be_for(fd);
        // What the kernel still holds, it turns into what is asked for.
        let turned = self.put_off & bits;
        self.put_off &= !bits;
        self.make();
        let answer = call();
        if answer == 0 {
            self.held |= bits;
        } else if turned != 0 {
            let error = io::Error::last_os_error();
            self.put_off = turned;
            self.make();
            set_errno(error.raw_os_error().unwrap_or(libc::EIO));
        }
        answer
    }

    fn be_for(&mut self, fd: RawFd) {
        if fd != self.fd {
            self.make();
            *self = Self { fd, ..Self::NONE };
        }
    }

    fn make(&mut self) {
        let put_off = std::mem::take(&mut self.put_off);
        if put_off == 0 {
            return;
        }
        let (first, last) = (put_off.trailing_zeros(), put_off.ilog2());
        let range = 0xFF >> (7 - (last - first)) << first;
        if range & u32::from(self.held) == 0 {
            self.unlock(first, last);
        } else {
            for bit in (first..=last).filter(|bit| put_off & (1 << bit) != 0) {
                self.unlock(bit, bit);
            }
        }
    }

    fn unlock(&self, first: u32, last: u32) {
        lock::unlock(self.fd, FIRST_LOCK_BYTE + i64::from(first), i64::from(last - first) + 1);
    }
}

/// Writes, or puts off a frame's header; returns what `pwrite` would.
///
/// # Safety
///
/// `buffer` is readable for `count` bytes.
pub(super) unsafe fn write(fd: RawFd, buffer: *const c_void, count: usize, offset: i64) -> isize {
    let mut batch = BATCH.get();
    let header = batch.as_mut().and_then(|batch| batch.header.take());
    let written = match (header, &mut batch) {
        (Some(header), _) if header.is_before(fd, offset) => {
            written_log::note(fd, header.offset, offset + count as i64);
            // SAFETY: the caller's promise.
            unsafe { header.write_with(buffer, count) }
        }
        (None, Some(batch)) if count == FRAME_HEADER => {
            let mut bytes = [0; FRAME_HEADER];
            // SAFETY: the caller's promise, for as many bytes as the array has.
            unsafe { bytes.as_mut_ptr().copy_from(buffer.cast(), FRAME_HEADER) };
            batch.header = Some(FrameHeader { fd, offset, bytes });
            count as isize
        }
        // SQLite writes nothing between a header and its page; if it did, the header goes first.
        (Some(header), _) if !header.write_alone() => -1,
        // SAFETY: the caller's promise.
        _ => unsafe { libc::pwrite64(fd, buffer, count, offset) },
    };
    BATCH.set(batch);
    written
}

impl FrameHeader {
    fn is_before(&self, fd: RawFd, offset: i64) -> bool {
        self.fd == fd && self.offset + FRAME_HEADER as i64 == offset
    }

    /// Returns how much of the page was written.
    ///
    /// # Safety
    ///
    /// `page` is readable for `count` bytes.
    unsafe fn write_with(&self, page: *const c_void, count: usize) -> isize {
        let parts = [
            libc::iovec { iov_base: self.bytes.as_ptr().cast_mut().cast(), iov_len: FRAME_HEADER },
            libc::iovec { iov_base: page.cast_mut(), iov_len: count },
        ];
        // SAFETY: both parts are readable, by this borrow and by the caller's promise; pwritev
        // writes to neither.
        let written = unsafe { libc::pwritev64(self.fd, parts.as_ptr(), 2, self.offset) };
        if written < 0 { written } else { (written - FRAME_HEADER as isize).max(0) }
    }

    fn write_alone(&self) -> bool {
        let bytes = self.bytes.as_ptr().cast();
        // SAFETY: the array is as long as is said.
        let written = unsafe { libc::pwrite64(self.fd, bytes, FRAME_HEADER, self.offset) };
        written == FRAME_HEADER as isize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lock_bytes_of_a_wal_index_are_put_together() {
        let request = |start, length| libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: length,
            l_pid: 0,
        };
        for (start, length, bits) in [
            (120, 1, Some(0b1)),
            (124, 1, Some(0b1_0000)),
            (123, 5, Some(0b1111_1000)),
            (120, 8, Some(0xFF)),
            (119, 2, None),
            (120, 9, None),
            (128, 1, None),
            (120, 0, None),
            (0x4000_0002, 510, None),
        ] {
            assert_eq!(lock_bits(&request(start, length)), bits, "{start} {length}");
        }
    }
}
