//! Where denials are remembered. A hit may look without holding signals back, which would take most of
//! its time. So a handler may come in its midst that forks, or that stops its thread until all others
//! have stopped, as some collectors of garbage do; and nobody may wait for it:
//!
//! * Who looks like that does not wait either, and neither allocates nor frees.
//! * Who holds signals back waits for a moment, then goes on as if nothing were remembered.
//! * A fork takes the lock only if it is free. Else its child begins with a memory of its own, and leaves
//!   the old one to whoever was in it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::denied::Denied;
use crate::deadline::Deadline;
use crate::os::mutex::{Guard, Mutex, OwnedGuard};

/// Longer than a thread is away that another takes the place of.
const PATIENCE: Duration = Duration::from_millis(20);

/// By how many counters it is told apart whose units were given back.
const PLACES: usize = 256;

pub(super) struct Memory {
    denied: Arc<Mutex<Denied>>,
    /// By place, how often units may have been given back: what was asked before such a moment is not
    /// believed after it.
    given_back: [AtomicU64; PLACES],
    /// Whether somebody who gave units back could not wait until he might say so.
    is_outdated: AtomicBool,
    /// In a child: what it began with.
    next: OnceLock<Box<Memory>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            denied: Arc::default(),
            given_back: std::array::from_fn(|_| AtomicU64::new(0)),
            is_outdated: AtomicBool::new(false),
            next: OnceLock::new(),
        }
    }
}

impl Memory {
    /// For calls that hold signals back. Nobody waits for a server while holding it.
    pub(super) fn lock(&self) -> Option<Guard<'_, Denied>> {
        let newest = self.newest();
        let mut denied = newest.denied.lock(&Deadline::after(PATIENCE))?;
        if newest.is_outdated.swap(false, Ordering::AcqRel) {
            denied.ask_again_all();
        }
        Some(denied)
    }

    /// If nobody else is in there, for those who do not.
    pub(super) fn glance(&self) -> Option<Guard<'_, Denied>> {
        let newest = self.newest();
        let denied = newest.denied.try_lock()?;
        (!newest.is_outdated.load(Ordering::Acquire)).then_some(denied)
    }

    /// How often units may have been given back until now, at a [`place`](super::scheme::Scheme::place).
    pub(super) fn given_back(&self, place: u64) -> u64 {
        self.newest().given_back[place as usize % PLACES].load(Ordering::Acquire)
    }

    /// Units were given back there, as `note` tells.
    pub(super) fn give_back(&self, place: u64, note: impl FnOnce(&mut Denied)) {
        let newest = self.newest();
        newest.given_back[place as usize % PLACES].fetch_add(1, Ordering::AcqRel);
        match self.lock() {
            Some(mut denied) => note(&mut denied),
            None => newest.is_outdated.store(true, Ordering::Release),
        }
    }

    /// For a fork; if nobody is in there.
    pub(super) fn hold(&self) -> Option<OwnedGuard<Denied>> {
        self.newest().denied.try_lock_owned()
    }

    /// In a child that could not hold it.
    pub(super) fn begin_anew(&self) {
        let _ = self.newest().next.set(Box::default());
    }

    fn newest(&self) -> &Self {
        let mut newest = self;
        while let Some(next) = newest.next.get() {
            newest = next;
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_who_is_in_there() {
        let memory = Memory::default();
        let somebody = memory.glance();
        assert!(somebody.is_some() && memory.glance().is_none() && memory.hold().is_none());
        assert!(memory.lock().is_none());
        memory.begin_anew();
        assert!(memory.glance().is_some());
        drop(somebody);
        let held = memory.hold();
        assert!(held.is_some() && memory.glance().is_none());
    }

    #[test]
    fn what_could_not_be_said_makes_all_ask_again() {
        let memory = Memory::default();
        let (before, others) = (memory.given_back(7), memory.given_back(8));
        let somebody = memory.glance();
        memory.give_back(7, |_| unreachable!());
        assert!(memory.given_back(7) > before && memory.given_back(8) == others);
        drop(somebody);
        assert!(memory.glance().is_none() && memory.lock().is_some() && memory.glance().is_some());
    }
}
