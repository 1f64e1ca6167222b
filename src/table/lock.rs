//! Locks in the table, whose owners' lives the kernel vouches for.

use std::sync::atomic::Ordering;

use super::Trouble;
use super::layout::LockWord;
use super::mapping::Mapping;
use super::process::{Owner, Process};
use crate::deadline::Deadline;
use crate::error::{Code, Error};

/// A claim takes a third of a microsecond.
const SPINS: u32 = 200;

/// Held until it is dropped.
pub(super) struct Held<'a> {
    word: &'a LockWord,
    me: Owner,
}

impl LockWord {
    /// Waits until the deadline. Taken from an owner who died: nothing he can have left needs repair.
    pub(super) fn lock<'a>(
        &'a self,
        mapping: &Mapping,
        process: &Process,
        deadline: &Deadline,
    ) -> Result<Held<'a>, Trouble> {
        let me = process.owner(mapping, deadline)?;
        let mut spins = 0;
        loop {
            match self.take(0, me) {
                Ok(held) => return Ok(held),
                Err(seen) if spins >= SPINS => {
                    if process.is_dead(mapping, seen, me)
                        && let Ok(held) = self.take(seen, me)
                    {
                        return Ok(held);
                    }
                    if !deadline.pause() {
                        return Err(busy(deadline).into());
                    }
                }
                Err(_) => {
                    spins += 1;
                    std::hint::spin_loop();
                }
            }
        }
    }

    /// Without waiting; `None` while a living one has it.
    pub(super) fn try_lock<'a>(
        &'a self,
        mapping: &Mapping,
        process: &Process,
        deadline: &Deadline,
    ) -> Result<Option<Held<'a>>, Trouble> {
        let me = process.owner(mapping, deadline)?;
        Ok(match self.take(0, me) {
            Ok(held) => Some(held),
            Err(seen) if process.is_dead(mapping, seen, me) => self.take(seen, me).ok(),
            Err(_) => None,
        })
    }

    fn take(&self, seen: u64, me: Owner) -> Result<Held<'_>, u64> {
        self.0
            .compare_exchange(seen, me.word(), Ordering::AcqRel, Ordering::Relaxed)
            .map(|_| Held { word: self, me })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Unless it was taken from us, as from a dead one: a host had closed our descriptors.
        let _ =
            self.word.0.compare_exchange(self.me.word(), 0, Ordering::Release, Ordering::Relaxed);
    }
}

fn busy(deadline: &Deadline) -> Error {
    Error::new(
        Code::Busy,
        format!(
            "another process kept a lock of the shared table for {} ms: it is stopped, or waits for \
             the disk; raise busy_timeout_ms",
            deadline.patience().as_millis()
        ),
    )
}
