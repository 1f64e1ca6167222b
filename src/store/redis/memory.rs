//! Where denials are remembered. A hit may look without holding signals back, which would take most of
//! its time. So a handler that forks may come in its midst, and then nobody may wait for it:
//!
//! * Who looks like that does not wait either, and neither allocates nor frees.
//! * A fork takes the lock only if it is free. Else its child begins with a memory of its own, and leaves
//!   the old one to whoever was in it.

use std::sync::{Arc, OnceLock};

use super::denied::Denied;
use crate::os::mutex::{Guard, Mutex, OwnedGuard};

#[derive(Default)]
pub(super) struct Memory {
    denied: Arc<Mutex<Denied>>,
    /// In a child: what it began with.
    next: OnceLock<Box<Memory>>,
}

impl Memory {
    /// For calls that hold signals back. Nobody waits for a server while holding it.
    pub(super) fn lock(&self) -> Guard<'_, Denied> {
        self.newest().denied.lock_unbounded()
    }

    /// If nobody else is in there, for those who do not.
    pub(super) fn glance(&self) -> Option<Guard<'_, Denied>> {
        self.newest().denied.try_lock()
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
    fn who_finds_somebody_in_there_does_not_wait() {
        let memory = Memory::default();
        let somebody = memory.glance();
        assert!(somebody.is_some() && memory.glance().is_none() && memory.hold().is_none());
        memory.begin_anew();
        assert!(memory.glance().is_some());
        drop(somebody);
        let held = memory.hold();
        assert!(held.is_some() && memory.glance().is_none());
    }
}
