//! Fewer system calls for a hit: a third of them ask for what nobody sees.
//!
//! While a transaction lasts, and only then,
//! * an unlock of bytes in the WAL index is put off until the end, or until SQLite asks for the next
//!   lock: an exclusive lock that it gives up to take a shared one becomes shared in one step, and
//!   the two locks that it holds to the end are given up together;
//! * the header of a frame in the log is written together with its page.
//!
//! Invariants:
//! * A lock that SQLite believes to hold is held. One that it believes to be free may be held for a
//!   moment more, but not while it sleeps, nor while the log is moved: that is after the transaction.
//! * A range is unlocked as a whole only if no lock in it is held. The descriptor has one connection:
//!   [`crate::store`] opens a file once in a process, whatever its names.
//! * A header is put off only for a frame that is new, and a write is whole or an error.
//! * What is put off belongs to one thread, and to one transaction of it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;

use super::errno::set_errno;
use super::{lock, written_log};
use crate::switches;

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
        if !switches::UNDEFENDED.is_on() {
            BATCH.set(Some(Batch { unlocks: Unlocks::NONE, header: None, log_end: 0 }));
        }
        Self(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(mut batch) = BATCH.take() {
            // SQLite ends no transaction between a header and its page. It was told that the header
            // is written, so it is, whatever a later version does.
            if let Some(header) = batch.header {
                header.write_alone();
            }
            batch.unlocks.make();
        }
    }
}

/// Gives up at once what SQLite believes to have given up: it is about to sleep.
pub(super) fn make_unlocks() {
    if let Some(mut batch) = BATCH.get() {
        batch.unlocks.make();
        BATCH.set(Some(batch));
    }
}

#[derive(Clone, Copy)]
struct Batch {
    unlocks: Unlocks,
    header: Option<FrameHeader>,
    /// The end of the frames that this transaction has written.
    log_end: i64,
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
        libc::F_UNLCK if bits & NEVER_PUT_OFF == 0 => batch.unlocks.put_off(fd, bits),
        libc::F_UNLCK => batch.unlocks.unlock_now(fd, bits, call),
        _ => batch.unlocks.make_before_lock(fd, bits, call),
    };
    BATCH.set(Some(batch));
    answer
}

/// Of checkpointing and of recovery. Others look whether these are free again and again.
const NEVER_PUT_OFF: u8 = 0b110;

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

    fn unlock_now(&mut self, fd: RawFd, bits: u8, call: impl FnOnce() -> c_int) -> c_int {
        self.be_for(fd);
        self.make();
        self.held &= !bits;
        call()
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

/// Writes, or puts off a frame's header; returns what `pwrite` would, but never a part of `count`: a
/// rest of 24 bytes that SQLite asks for by itself would look like a header.
///
/// # Safety
///
/// `buffer` is readable for `count` bytes.
pub(super) unsafe fn write(fd: RawFd, buffer: *const c_void, count: usize, offset: i64) -> isize {
    let Some(mut batch) = BATCH.get() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pwrite64(fd, buffer, count, offset) };
    };
    // SAFETY: the caller's promise; the slice lives no longer than this call.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), count) };
    let is_written = match batch.header.take() {
        Some(header) if header.is_before(fd, offset) => {
            batch.log_end = offset + count as i64;
            written_log::note(fd, header.offset, batch.log_end);
            write_all(fd, [&header.bytes, bytes], header.offset)
        }
        Some(header) => header.write_alone() && write_all(fd, [bytes, &[]], offset),
        // A new frame's. Headers of frames that are in the log already are written again without
        // their pages, when a page is stored twice in one transaction.
        None => match <[u8; FRAME_HEADER]>::try_from(bytes) {
            Ok(bytes) if offset >= batch.log_end => {
                batch.header = Some(FrameHeader { fd, offset, bytes });
                true
            }
            _ => write_all(fd, [bytes, &[]], offset),
        },
    };
    BATCH.set(Some(batch));
    if is_written { count as isize } else { -1 }
}

/// Writes everything, or says in errno why not.
fn write_all(fd: RawFd, mut parts: [&[u8]; 2], mut offset: i64) -> bool {
    while parts.iter().any(|part| !part.is_empty()) {
        let vectors = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: both parts are borrowed for the time of the call, which reads them.
        let written = unsafe { libc::pwritev64(fd, vectors.as_ptr(), 2, offset) };
        match usize::try_from(written) {
            Ok(0) => {
                set_errno(libc::ENOSPC);
                return false;
            }
            Ok(written) => {
                let of_first = written.min(parts[0].len());
                parts = [&parts[0][of_first..], &parts[1][written - of_first..]];
                offset += written as i64;
            }
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

impl FrameHeader {
    fn is_before(&self, fd: RawFd, offset: i64) -> bool {
        self.fd == fd && self.offset + FRAME_HEADER as i64 == offset
    }

    fn write_alone(&self) -> bool {
        write_all(self.fd, [&self.bytes, &[]], self.offset)
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
