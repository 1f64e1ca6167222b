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
use std::sync::{Mutex as StdMutex, PoisonError};

use super::mutex::{Guard, Mutex};
use super::signals::HeldBack;
use super::{fork_mark, parked, vfs};
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::switches;

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

/// What connections lead to.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Files,
    #[cfg(feature = "redis")]
    Servers,
}

const KINDS: usize = 2;

type Owners = [Option<&'static dyn AcrossFork>; KINDS];

/// Whether the handlers are registered; whether the rest is in place too.
static REGISTERED: AtomicBool = AtomicBool::new(false);
static READY: AtomicBool = AtomicBool::new(false);
static SETTING_UP: Mutex<()> = Mutex::new(());
static OWNERS: Mutex<Owners> = Mutex::new([None; KINDS]);
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Between prepare and parent or child. One thread at a time is in between, since it holds the
/// owner's locks; so nobody can be inside this mutex when a fork happens.
static BETWEEN: StdMutex<Option<Between>> = StdMutex::new(None);

struct Between {
    table: Guard<'static, parked::Table>,
    held: [Option<Box<dyn Held>>; KINDS],
    kept: Kept,
}

/// Given back in this order, the signals last: a handler that comes in at once may fork.
struct Kept {
    _owners: Guard<'static, Owners>,
    _setting_up: Guard<'static, ()>,
    _inside: Inside,
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

/// Names the owner of all connections of a kind.
pub(crate) fn register_owner(kind: Kind, owner: &'static dyn AcrossFork) {
    OWNERS.lock_unbounded()[kind as usize] = Some(owner);
}

/// Whether some thread of this process is waiting to fork.
pub(crate) fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::Acquire) > 0
}

/// Whether this process, or one it was forked from, has used a store.
#[inline]
pub(super) fn is_ready() -> bool {
    READY.load(Ordering::Acquire)
}

/// When the library is loaded, no other thread can be in the midst of anything: a fork during some
/// thread's first call must not leave the child with a half-done beginning.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = register_handlers;

extern "C" fn register_handlers() {
    if REGISTERED.swap(true, Ordering::AcqRel) {
        return;
    }
    fork_mark::set();
    if !switches::NO_FORK_HANDLERS.is_on() {
        // SAFETY: three functions that live as long as the process: the library is linked with
        // `-z nodelete`. A failure (no memory) leaves the fork mark to tell.
        unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
    }
}

/// Puts everything in place at the process's first call. Fails with [`Code::Busy`] when another
/// thread has been at it until the deadline, and with [`Code::NoMemory`].
pub(super) fn set_up(deadline: &Deadline) -> Result<()> {
    if is_ready() {
        return Ok(());
    }
    let Some(_setting_up) = SETTING_UP.lock(deadline) else {
        return Err(Error::new(Code::Busy, "another thread is still loading the library"));
    };
    if !is_ready() {
        register_handlers();
        // Again, for a child of clone(): it inherited no store, so it may begin.
        fork_mark::set();
        // Never without them: two copies of SQLite would not see each other's locks.
        if !vfs::install() {
            return Err(Error::new(
                Code::NoMemory,
                "SQLite has no memory to begin with; free some",
            ));
        }
        READY.store(true, Ordering::Release);
    }
    Ok(())
}

extern "C" fn prepare() {
    // Inside a call, or between prepare and parent, this thread holds what it would wait for here
    // (a crash handler that forks); without the mark, threads that do not exist here may.
    if CALLS.get() > 0 || !fork_mark::is_set() {
        SKIPPED.set(true);
        return;
    }
    let (signals, inside) = (HeldBack::begin(), Inside::enter());
    UNDER_WAY.fetch_add(1, Ordering::AcqRel);
    let setting_up = SETTING_UP.lock_unbounded();
    let owners = OWNERS.lock_unbounded();
    let held = owners.map(|owner| owner.map(|owner| owner.close_and_hold()));
    *between() = Some(Between {
        table: parked::hold(),
        held,
        kept: Kept { _owners: owners, _setting_up: setting_up, _inside: inside, _signals: signals },
    });
}

extern "C" fn in_parent() {
    if SKIPPED.take() {
        return;
    }
    let Some(Between { table, held, kept }) = take_between() else { return };
    drop(table);
    drop(held);
    UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
    drop(kept);
}

extern "C" fn in_child() {
    if SKIPPED.take() {
        parked::overlay_with_null();
        return;
    }
    let Some(Between { mut table, held, kept }) = take_between() else { return };
    table.close_all_in_child();
    drop(table);
    for mut held in held.into_iter().flatten() {
        held.forget_parent();
    }
    UNDER_WAY.store(0, Ordering::Release);
    fork_mark::set();
    drop(kept);
}

/// In a statement of its own, so that nothing in it is dropped while the mutex is held.
fn take_between() -> Option<Between> {
    between().take()
}

fn between() -> std::sync::MutexGuard<'static, Option<Between>> {
    BETWEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
