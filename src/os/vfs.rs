//! The system calls of our private SQLite.
//!
//! Invariants:
//! * The copy of SQLite is private to this library, so the host's SQLite never sees these.
//! * Set once, before the first connection, and never taken back.
//! * `fcntl` locks become locks of the open file description, `close` parks, `open` hands out what
//!   is parked ([`super::parked`]); everything else is the system's own.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::time::Duration;

use rusqlite::ffi;

use super::errno::{errno, set_errno};
use super::lock::{self, LockKind};
use super::{batch, parked, signals};
use crate::switches;

/// Puts the overrides in place. The caller sees to it that this succeeds once, before any
/// connection. False when SQLite has no memory to begin with.
pub(super) fn install() -> bool {
    if switches::UNDEFENDED.is_on() {
        return true;
    }
    // SAFETY: NULL asks for the default VFS, which SQLite registers itself, never frees and, before
    // the first connection, nobody else uses; its xSetSystemCall is the documented way to replace
    // these calls, and each replacement has the signature that SQLite calls it by.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(std::ptr::null());
        let Some(set_system_call) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) else {
            return false;
        };
        (*vfs).xSleep = Some(sleep);
        let replacements: [(&CStr, ffi::sqlite3_syscall_ptr); 9] = [
            (c"open", Some(std::mem::transmute::<OpenFn, unsafe extern "C" fn()>(open))),
            (c"close", Some(std::mem::transmute::<CloseFn, unsafe extern "C" fn()>(close))),
            (c"fcntl", Some(std::mem::transmute::<FcntlFn, unsafe extern "C" fn()>(fcntl))),
            (c"ftruncate", Some(std::mem::transmute::<CutFn, unsafe extern "C" fn()>(ftruncate))),
            (c"mmap", Some(std::mem::transmute::<MapFn, unsafe extern "C" fn()>(mmap))),
            // Of each pair SQLite was built to use one.
            (c"pread", Some(std::mem::transmute::<ReadFn, unsafe extern "C" fn()>(pread))),
            (c"pread64", Some(std::mem::transmute::<ReadFn, unsafe extern "C" fn()>(pread))),
            (c"pwrite", Some(std::mem::transmute::<WriteFn, unsafe extern "C" fn()>(pwrite))),
            (c"pwrite64", Some(std::mem::transmute::<WriteFn, unsafe extern "C" fn()>(pwrite))),
        ];
        for (name, replacement) in replacements {
            set_system_call(vfs, name.as_ptr(), replacement);
        }
    }
    true
}

thread_local! {
    static LAST_ERROR: Cell<c_int> = const { Cell::new(0) };
}

/// Why SQLite's last failed open, read, write or mapping in this thread failed, as an errno: SQLite says
/// only that it did. 0 if none has since [`forget_error`].
pub(crate) fn last_error() -> c_int {
    LAST_ERROR.get()
}

pub(crate) fn forget_error() {
    LAST_ERROR.set(0);
}

type OpenFn = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type CloseFn = unsafe extern "C" fn(c_int) -> c_int;
/// SQLite calls it as variadic; on Linux a third argument travels alike either way on the
/// architectures that `std` supports.
type FcntlFn = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;

unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: SQLite passes a NUL-terminated path that lives for the call.
    let path = unsafe { CStr::from_ptr(path) };
    match parked::open(path, flags, mode as libc::mode_t) {
        Ok(fd) => fd,
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            LAST_ERROR.set(code);
            set_errno(code);
            -1
        }
    }
}

unsafe extern "C" fn close(fd: c_int) -> c_int {
    parked::give_back(fd);
    0
}

unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: SQLite's own arguments, whose meaning the command below does not change.
    let call = |command| unsafe { libc::fcntl(fd, command, argument) };
    let of_the_description = match command {
        libc::F_SETLK => libc::F_OFD_SETLK,
        libc::F_SETLKW => libc::F_OFD_SETLKW,
        libc::F_GETLK => libc::F_OFD_GETLK,
        other => return call(other),
    };
    if !parked::note_locking(fd) {
        set_errno(libc::EBADF);
        return -1;
    }
    if lock::kind(fd) == LockKind::Posix {
        return call(command);
    }
    // SAFETY: with these commands SQLite's third argument points to its `flock`.
    unsafe { (*(argument as *mut libc::flock)).l_pid = 0 };
    if command != libc::F_SETLK {
        return call(of_the_description);
    }
    // SAFETY: as above; a copy, since the call itself reads and writes it.
    let request = unsafe { *(argument as *const libc::flock) };
    batch::lock(fd, &request, || call(of_the_description))
}

type ReadFn = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;
type WriteFn = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;

unsafe extern "C" fn pread(fd: c_int, buffer: *mut c_void, count: usize, offset: i64) -> isize {
    // SAFETY: SQLite's own arguments.
    let got = unsafe { libc::pread64(fd, buffer, count, offset) };
    if got < 0 {
        let code = errno();
        LAST_ERROR.set(code);
        // SQLite takes these for a sign of a damaged file, and one that is set aside for it would
        // be lost: a cable that came loose has damaged nothing.
        if matches!(code, libc::EIO | libc::ENXIO | libc::ERANGE) {
            set_errno(libc::EREMOTEIO);
        }
    }
    got
}

unsafe extern "C" fn pwrite(fd: c_int, buffer: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: SQLite's own arguments.
    let put = unsafe { batch::write(fd, buffer, count, offset) };
    if put < 0 {
        note_error();
    }
    put
}

type CutFn = unsafe extern "C" fn(c_int, i64) -> c_int;

/// It makes files longer too: a new -shm.
unsafe extern "C" fn ftruncate(fd: c_int, length: i64) -> c_int {
    // SAFETY: SQLite's own arguments.
    let answer = unsafe { libc::ftruncate64(fd, length) };
    if answer < 0 {
        note_error();
    }
    answer
}

type MapFn = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void;

unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: SQLite's own arguments.
    let start = unsafe { libc::mmap64(address, length, protection, flags, fd, offset) };
    if start == libc::MAP_FAILED {
        note_error();
    }
    start
}

fn note_error() {
    let code = errno();
    LAST_ERROR.set(code);
    if code == libc::EFBIG {
        signals::note_file_size_error();
    }
}

/// The longest that SQLite sleeps by itself, in microseconds. It does so where it has no busy
/// handler to ask, a hundred times and for up to 0.3 s each, far beyond any deadline of ours.
const LONGEST_SLEEP_US: c_int = 100;

unsafe extern "C" fn sleep(_vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    batch::make_unlocks();
    let slept = microseconds.clamp(0, LONGEST_SLEEP_US);
    std::thread::sleep(Duration::from_micros(slept.unsigned_abs().into()));
    slept
}
