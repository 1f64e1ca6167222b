//! The system calls of our private SQLite.
//!
//! Invariants:
//! * The copy of SQLite is private to this library, so the host's SQLite never sees these.
//! * Set once, before the first connection, and never taken back.
//! * `fcntl` locks become locks of the open file description, `close` parks, `open` hands out what
//!   is parked ([`super::parked`]); everything else is the system's own.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

use rusqlite::ffi;

use super::lock::{self, LockKind};
use super::parked;

/// Puts the overrides in place. The caller sees to it that this runs once, before any connection.
pub(super) fn install() {
    if cfg!(feature = "test-undefended") {
        return;
    }
    // SAFETY: NULL asks for the default VFS, which SQLite registers itself and never frees; its
    // xSetSystemCall is the documented way to replace these three, and each replacement has the
    // signature that SQLite calls it by.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(std::ptr::null());
        let Some(set_system_call) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) else { return };
        let replacements: [(&CStr, ffi::sqlite3_syscall_ptr); 3] = [
            (c"open", Some(std::mem::transmute::<OpenFn, unsafe extern "C" fn()>(open))),
            (c"close", Some(std::mem::transmute::<CloseFn, unsafe extern "C" fn()>(close))),
            (c"fcntl", Some(std::mem::transmute::<FcntlFn, unsafe extern "C" fn()>(fcntl))),
        ];
        for (name, replacement) in replacements {
            set_system_call(vfs, name.as_ptr(), replacement);
        }
    }
}

thread_local! {
    static LAST_OPEN_ERROR: Cell<c_int> = const { Cell::new(0) };
}

/// Why SQLite's last failed `open` in this thread failed, as an errno: SQLite says only that.
pub(crate) fn last_open_error() -> c_int {
    LAST_OPEN_ERROR.get()
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
            LAST_OPEN_ERROR.set(code);
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
    let command = match command {
        libc::F_SETLK | libc::F_SETLKW | libc::F_GETLK => {
            if !parked::note_locking(fd) {
                set_errno(libc::EBADF);
                return -1;
            }
            match lock::kind(fd) {
                LockKind::Posix => command,
                LockKind::OpenFileDescription => {
                    // SAFETY: with these commands SQLite's third argument points to its `flock`.
                    unsafe { (*(argument as *mut libc::flock)).l_pid = 0 };
                    match command {
                        libc::F_SETLK => libc::F_OFD_SETLK,
                        libc::F_SETLKW => libc::F_OFD_SETLKW,
                        _ => libc::F_OFD_GETLK,
                    }
                }
            }
        }
        other => other,
    };
    // SAFETY: SQLite's own arguments, whose meaning the command does not change.
    unsafe { libc::fcntl(fd, command, argument) }
}

fn set_errno(code: c_int) {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = code };
}
