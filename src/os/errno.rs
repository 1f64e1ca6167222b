//! This thread's `errno`, by which SQLite learns why a call of its VFS failed.

use std::ffi::c_int;

pub(super) fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

pub(super) fn set_errno(code: c_int) {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = code };
}
