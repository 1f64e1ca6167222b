//! Tells a process that was forked behind the fork handlers' back (`clone()`, `_Fork()`).
//!
//! Invariant: the mark is set in a process whose handlers have run, or that never was a child.
//! It lives in a page that the kernel wipes in every child; the child handler sets it again.
//! Reading it costs a nanosecond, `getpid()` a hundred. Where the kernel cannot wipe, the mark is
//! the process number instead.

use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::switches;

static PAGE: AtomicPtr<AtomicI32> = AtomicPtr::new(std::ptr::null_mut());
static OWNER_PID: AtomicI32 = AtomicI32::new(0);

const SET: i32 = 1;

/// Sets the mark for this process, and makes its page at the first call.
/// Two threads must not make that first call at once.
pub(super) fn set() {
    if PAGE.load(Ordering::Acquire).is_null()
        && OWNER_PID.load(Ordering::Relaxed) == 0
        && let Some(page) = wiped_page()
    {
        PAGE.store(page, Ordering::Release);
    }
    match page() {
        Some(mark) => mark.store(SET, Ordering::Release),
        None => OWNER_PID.store(process_number(), Ordering::Release),
    }
}

#[inline]
pub(super) fn is_set() -> bool {
    match page() {
        Some(mark) => mark.load(Ordering::Acquire) == SET,
        None => OWNER_PID.load(Ordering::Acquire) == process_number(),
    }
}

#[inline]
fn page() -> Option<&'static AtomicI32> {
    // SAFETY: PAGE is NULL or the start of a page that `wiped_page` mapped and nobody unmaps; zero
    // bytes, and what is stored through it, are valid for an AtomicI32.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

fn wiped_page() -> Option<*mut AtomicI32> {
    const SIZE: usize = 4096;
    if switches::NO_WIPE.is_on() {
        return None;
    }
    // SAFETY: a fresh anonymous private mapping touches no existing memory.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the range is the mapping just made.
    if unsafe { libc::madvise(page, SIZE, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: as above, and nobody else has seen the address.
        unsafe { libc::munmap(page, SIZE) };
        return None;
    }
    Some(page.cast())
}

fn process_number() -> i32 {
    std::process::id() as i32
}
