//! Holds signals, and the thread's cancellation, back while a call is inside the library.
//!
//! Invariants:
//! * A handler that forks inside a hit, whose child then returns into that hit, would write through
//!   the parent's idea of the WAL index. So no handler runs between entry and exit.
//! * Signals that report a fault of the running instruction are not held back: blocking them turns
//!   a host's crash handler into a silent kill.
//! * A SIGXFSZ that our own write raised is taken back before the mask is restored, else the host
//!   dies of it on the way out. One that was pending before stays: it is the host's.

use std::cell::Cell;
use std::mem::MaybeUninit;

const NEVER_HELD_BACK: [libc::c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

thread_local! {
    static FILE_SIZE_ERROR: Cell<bool> = const { Cell::new(false) };
}

/// To be called when a write of ours failed with EFBIG: with that comes a SIGXFSZ.
pub(super) fn note_file_size_error() {
    FILE_SIZE_ERROR.set(true);
}

/// Signals stay held back until this is dropped. Not `Send`: the mask belongs to the thread.
pub(super) struct HeldBack {
    mask_before: libc::sigset_t,
    file_size_signal_was_pending: bool,
    cancel_state_before: libc::c_int,
    _this_thread: std::marker::PhantomData<*const ()>,
}

impl HeldBack {
    pub(super) fn begin() -> Self {
        let mut held = MaybeUninit::<libc::sigset_t>::uninit();
        let mut mask_before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigfillset initialises `held`, pthread_sigmask initialises `mask_before`; neither
        // can fail with these arguments, and both sets are on this stack.
        let mask_before = unsafe {
            libc::sigfillset(held.as_mut_ptr());
            for signal in NEVER_HELD_BACK {
                libc::sigdelset(held.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, held.as_ptr(), mask_before.as_mut_ptr());
            mask_before.assume_init()
        };
        // Only a thread that blocks the signal itself can have one pending: anyone else's was
        // delivered long ago, so the question costs nothing there.
        let blocks_it = contains(&mask_before, libc::SIGXFSZ);
        let file_size_signal_was_pending = blocks_it && is_pending(libc::SIGXFSZ);
        let mut cancel_state_before = 0;
        // SAFETY: a pointer to this stack. A cancellation would unwind through the call and leave
        // its locks behind.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut cancel_state_before) };
        Self {
            mask_before,
            file_size_signal_was_pending,
            cancel_state_before,
            _this_thread: std::marker::PhantomData,
        }
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        // Asked only then: a system call is 2 % of a hit.
        let may_be_ours = FILE_SIZE_ERROR.take() && !self.file_size_signal_was_pending;
        if may_be_ours && is_pending(libc::SIGXFSZ) {
            consume(libc::SIGXFSZ);
        }
        let mut ours = 0;
        // SAFETY: the state that this thread had in `begin`; a pointer to this stack.
        unsafe { pthread_setcancelstate(self.cancel_state_before, &raw mut ours) };
        // SAFETY: `mask_before` is the mask that pthread_sigmask gave this thread in `begin`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask_before, std::ptr::null_mut());
        }
    }
}

/// PTHREAD_CANCEL_DISABLE of glibc and musl.
const CANCEL_DISABLE: libc::c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
}

fn contains(set: &libc::sigset_t, signal: libc::c_int) -> bool {
    // SAFETY: `set` is an initialised signal set.
    unsafe { libc::sigismember(set, signal) == 1 }
}

fn is_pending(signal: libc::c_int) -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigpending initialises the set when it returns 0; it is read only then.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0 && contains(&pending.assume_init(), signal)
    }
}

fn consume(signal: libc::c_int) {
    let mut only = MaybeUninit::<libc::sigset_t>::uninit();
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: sigemptyset initialises the set; the signal is blocked in this thread, as
    // sigtimedwait wants it, and both pointers are to this stack.
    unsafe {
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::sigtimedwait(only.as_ptr(), std::ptr::null_mut(), &at_once);
    }
}
