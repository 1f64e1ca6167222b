//! Counters that are taken out: a client's, and expired ones.

use std::sync::atomic::Ordering;

use super::identity::{KeyWords, LimitName};
use super::layout::BUCKET_SLOTS;
use super::lock::Held;
use super::slot::Slot;
use super::write::tells_of_row;
use super::{Table, Trouble};
use crate::deadline::Deadline;
use crate::judge::Counter;
use crate::os::points;
use crate::window::Time;

/// A client's counters under one limit, zeroed; nobody makes one live until this is dropped.
pub(crate) struct Zeroed<'a> {
    /// To be written, once the rows are gone.
    pub(crate) slots: Vec<usize>,
    /// When those expire that had counted anything.
    pub(crate) expire_ms: Vec<i64>,
    table: &'a Table,
    _held: Held<'a>,
}

impl Table {
    /// Zeroes every window's counter of a client.
    pub(crate) fn zero(
        &self,
        limit: &LimitName,
        key: &KeyWords<'_>,
        deadline: &Deadline,
    ) -> Result<Zeroed<'_>, Trouble> {
        let place = super::Identity::place(limit, key);
        let held = self.lock_bucket(place, deadline)?;
        let forgotten = &self.stripe_of(self.bucket_of(place)).forgotten;
        // BEFORE a counter is taken out: nobody is to take back what goes with it.
        forgotten.fetch_add(1, Ordering::SeqCst);
        let (slots, expire_ms) = (Vec::new(), Vec::new());
        let mut zeroed = Zeroed { slots, expire_ms, table: self, _held: held };
        for index in self.slots_of(place) {
            let slot = &self.mapping.slots()[index];
            while let Some(state) = slot.live_of_client(limit, key) {
                let Some((_, counted)) = slot.snapshot() else { break };
                // A new life, so that no late undo takes from what is counted next.
                if slot.state.replace(state, state.reborn(Counter::default())).is_ok() {
                    points::pass("reset-zeroed");
                    self.announce(index);
                    zeroed.slots.push(index);
                    if state.counter() != Counter::default() {
                        zeroed.expire_ms.push(counted.expires_ms());
                    }
                    break;
                }
            }
        }
        // AFTER that once more, for those who have counted in between in what then was taken out.
        forgotten.fetch_add(1, Ordering::SeqCst);
        Ok(zeroed)
    }

    /// Lets no mark tell any more of rows that expire until then, which are about to be removed, and
    /// nobody take back what was admitted there.
    pub(crate) fn note_pruning(&self, past: Time) {
        let pruned_until = &self.mapping.header().rounds.pruned_until_ms;
        pruned_until.fetch_max(past.millis(), Ordering::AcqRel);
    }

    /// Counters that expire until then may be gone.
    pub(super) fn pruned_until_ms(&self) -> i64 {
        self.mapping.header().rounds.pruned_until_ms.load(Ordering::Acquire)
    }

    /// Frees the slots of counters that expired until `past`, unwritten. Returns how many of them had
    /// counted anything and had no row.
    pub(crate) fn prune(&self, past: Time, deadline: &Deadline) -> Result<u64, Trouble> {
        // BEFORE a counter is taken out, as in a reset.
        self.note_pruning(past);
        let mut removed = 0;
        for (bucket, slots) in self.mapping.slots().chunks(BUCKET_SLOTS).enumerate() {
            if !slots.iter().any(|slot| is_expired(slot, past)) {
                continue;
            }
            let _held = self.lock_bucket_at(bucket, deadline)?;
            for (at, slot) in slots.iter().enumerate() {
                removed += u64::from(self.prune_slot(bucket * BUCKET_SLOTS + at, slot, past));
            }
        }
        Ok(removed)
    }

    /// Under the bucket's lock.
    fn prune_slot(&self, index: usize, slot: &Slot, past: Time) -> bool {
        while let Some((state, _)) = slot.snapshot().filter(|_| is_expired(slot, past)) {
            let mark = slot.mark.read_whole();
            if self.free(index, state).is_some() {
                slot.erase();
                points::pass("prune-freed");
                return state.counter() != Counter::default() && !tells_of_row(mark);
            }
        }
        false
    }
}

fn is_expired(slot: &Slot, past: Time) -> bool {
    slot.snapshot().is_some_and(|(_, counted)| counted.expires_ms() <= past.millis())
}

impl Zeroed<'_> {
    /// Once SQLite knows: lets those go in which nothing was counted since.
    pub(crate) fn free(self) {
        for &index in &self.slots {
            let slot = &self.table.mapping.slots()[index];
            let state = slot.state.read();
            if state.is_live()
                && state.counter() == Counter::default()
                && self.table.free(index, state).is_some()
            {
                slot.erase();
            }
        }
    }
}
