//! What happens to stores when the process forks.
//!
//! Invariants:
//! * At the instant of a fork no thread is inside SQLite and no connection is open: the child
//!   would share the parent's lock owner and its idea of who holds what (1,200 acknowledged hits,
//!   204 stored), and a busy thread's mutexes would stay locked in the child for ever.
//! * Who waits for a store gives it up while [`is_under_way`], and every such wait ends with its
//!   call's deadline. Else a host lock that is held around a hit and taken in the host's own
//!   prepare handler would be a deadlock.
//! * A child closes what it inherited and starts anew; its parent's descriptors are its parent's.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex as StdMutex, OnceLock, PoisonError};

use super::mutex::{Guard, Mutex};
use super::signals::HeldBack;
use super::{fork_mark, parked, vfs};
use crate::deadline::Deadline;

/// Who owns connections.
pub(crate) trait AcrossFork: Sync {
    /// Closes every connection and keeps every other thread out until what it returns is dropped.
    fn close_and_hold(&self) -> Box<dyn Held>;
}

/// Connections that are closed and held while a fork is under way.
pub(crate) trait Held {
    /// In the child: forgets what belonged to the parent.
    fn forget_parent(&mut self);
}

static INSTALLED: AtomicBool = AtomicBool::new(false);
static INSTALLING: Mutex<()> = Mutex::new(());
static OWNER: OnceLock<&'static dyn AcrossFork> = OnceLock::new();
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Between prepare and parent or child. One thread at a time is in between, since it holds the
/// owner's locks; so nobody can be inside this mutex when a fork happens.
static BETWEEN: StdMutex<Option<Between>> = StdMutex::new(None);

struct Between {
    held: Option<Box<dyn Held>>,
    table: Guard<'static, parked::Table>,
    /// A handler that forks or hits in between would wait for its own thread.
    _signals: HeldBack,
}

// SAFETY: parent and child handler run in the thread that ran prepare, so nothing in here ever
// moves to another thread; the static needs the bound only to be a static.
unsafe impl Send for Between {}

thread_local! {
    static SKIPPED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// While this lives, its thread is inside a call: a fork that it makes all the same (from a crash
/// handler) leaves the stores alone. Not `Send`: it counts for its thread.
pub(super) struct Inside {
    _this_thread: PhantomData<*const ()>,
}

impl Inside {
    pub(super) fn enter() -> Self {
        CALLS.set(CALLS.get() + 1);
        Self { _this_thread: PhantomData }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CALLS.set(CALLS.get() - 1);
    }
}

/// Names the owner of all connections, once.
pub(crate) fn register_owner(owner: &'static dyn AcrossFork) {
    let _ = OWNER.set(owner);
}

/// Whether some thread of this process is waiting to fork.
pub(crate) fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::Acquire) > 0
}

/// Whether this process, or one it was forked from, has used a store.
pub(super) fn is_installed() -> bool {
    INSTALLED.load(Ordering::Acquire)
}

/// Sets the fork mark, registers the handlers and puts SQLite's system calls in place, at the
/// process's first call. False when another thread has been at it until the deadline.
pub(super) fn install_once(deadline: &Deadline) -> bool {
    if INSTALLED.load(Ordering::Acquire) {
        return true;
    }
    let Some(_installing) = INSTALLING.lock(deadline) else { return false };
    if !INSTALLED.load(Ordering::Acquire) {
        fork_mark::set();
        vfs::install();
        if !cfg!(feature = "test-no-fork-handlers") {
            // SAFETY: three functions that live as long as the process: the library is linked
            // with `-z nodelete`. A failure (no memory) leaves the fork mark to tell.
            unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
        }
        INSTALLED.store(true, Ordering::Release);
    }
    true
}

extern "C" fn prepare() {
    // Inside a call (a crash handler that forks) this thread may hold what prepare would wait for;
    // without the mark, threads that do not exist here may.
    if CALLS.get() > 0 || !fork_mark::is_set() {
        SKIPPED.set(true);
        return;
    }
    let signals = HeldBack::begin();
    UNDER_WAY.fetch_add(1, Ordering::AcqRel);
    let held = OWNER.get().map(|owner| owner.close_and_hold());
    let table = parked::hold();
    *between() = Some(Between { held, table, _signals: signals });
}

extern "C" fn in_parent() {
    if SKIPPED.take() {
        return;
    }
    drop(between().take());
    UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
}

extern "C" fn in_child() {
    if SKIPPED.take() {
        parked::overlay_with_null();
        return;
    }
    let Some(Between { held, mut table, _signals }) = between().take() else { return };
    table.close_all_in_child();
    drop(table);
    if let Some(mut held) = held {
        held.forget_parent();
    }
    UNDER_WAY.store(0, Ordering::Release);
    fork_mark::set();
}

fn between() -> std::sync::MutexGuard<'static, Option<Between>> {
    BETWEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
