//! Counters that are taken out: a client's, and expired ones.

use super::rules::Broken;
use super::setup::Call;
use super::state::{Fault, IDENTITIES, Identity, NOTHING, Pc, State, Word};
use super::turn::Turn;

/// A reset: the slots of every window, under the stripe, then their rows.
impl Turn<'_> {
    pub fn reset_slots(mut self, out: &mut Vec<State>) {
        if self.now.stripe != 0 && !self.holds_stripe() {
            return;
        }
        let Call::Reset(key) = self.call() else { return };
        let taken = self.me().taken;
        let next = (0..self.world.setup.slots).find(|slot| {
            let standing = &self.now.slots[*slot];
            taken >> slot & 1 == 0 && standing.state.is_live() && standing.identity.key == key
        });
        let Some(slot) = next else {
            if taken != 0 {
                return self.go(Pc::AnnounceReset, out);
            }
            if self.now.sqlite != 0 {
                return;
            }
            // Nobody can make one live between: the rows alone, in one transaction.
            self.now.stripe = self.holder();
            self.now.sqlite = self.holder();
            return self.commit(out);
        };
        self.now.stripe = self.holder();
        // A new life, so that no late undo takes from what is counted next.
        let tag = self.now.slots[slot].state.tag;
        let tag = self.world.next_tag(self.world.next_tag(tag));
        self.now.slots[slot].state = Word { tag, count: NOTHING };
        self.now.slots[slot].orphans = 0;
        if let Some(index) = self.now.slots[slot].identity.index() {
            self.forget(index);
        }
        self.me().taken |= 1 << slot;
        self.go(Pc::ResetSlots, out);
    }

    pub fn announce_reset(mut self, out: &mut Vec<State>) {
        self.now.bits |= self.me().taken;
        self.me().scope = self.me().taken;
        self.me().taken = 0;
        self.transact(out);
    }
}

/// A prune: the slots one by one, without the stripe, then the rows. What hits remove is rows alone.
impl Turn<'_> {
    /// The time of it, once it has begun.
    fn past(&mut self) -> u8 {
        match self.call() {
            Call::Prune(past) => past,
            _ => self.me().sought.start,
        }
    }

    pub fn raise_pruned_until(mut self, out: &mut Vec<State>) {
        let is_sweep = matches!(self.call(), Call::Sweep);
        if is_sweep {
            self.me().sought.start = self.now.clock;
        } else {
            self.me().ghost = self.expired();
        }
        if !self.is_broken(Broken::PrunedUntilRaisedLast) {
            self.raise();
        }
        let is_early = self.is_broken(Broken::RowDeletedBeforeTheSlotIsFreed);
        self.go(if is_sweep || is_early { Pc::DeleteRows } else { Pc::FindExpired }, out);
    }

    fn raise(&mut self) {
        self.now.pruned_until = self.now.pruned_until.max(self.past());
    }

    /// Counters that are past by then, as bits.
    fn expired(&mut self) -> u8 {
        let past = self.past();
        (0..IDENTITIES)
            .filter(|index| Identity::at(*index).expires() <= past)
            .fold(0, |bits, index| bits | 1 << index)
    }

    pub fn find_expired(mut self, out: &mut Vec<State>) {
        let past = self.past();
        let next = (self.me().slot as usize..self.world.setup.slots).find(|slot| {
            let standing = &self.now.slots[*slot];
            standing.state.is_live() && standing.identity.expires() <= past
        });
        let Some(slot) = next else {
            self.me().slot = 0;
            if self.is_broken(Broken::RowDeletedBeforeTheSlotIsFreed) {
                return self.end_prune(out);
            }
            return self.go(Pc::DeleteRows, out);
        };
        self.me().slot = slot as u8;
        self.me().seen.tag = self.now.slots[slot].state.tag;
        self.go(Pc::RaiseSpillOfExpired, out);
    }

    pub fn raise_spill_of_expired(mut self, out: &mut Vec<State>) {
        if self.slot().state.tag == self.me().seen.tag {
            self.now.spill = self.now.spill.max(self.slot().identity.start);
        }
        self.go(Pc::FreeExpired, out);
    }

    pub fn free_expired(mut self, out: &mut Vec<State>) {
        if self.slot().state.tag == self.me().seen.tag {
            if let Some(index) = self.slot().identity.index() {
                self.forgive(index);
            }
            self.free();
        }
        self.me().seen = Word::default();
        self.go(Pc::FindExpired, out);
    }

    pub fn delete_rows(mut self, out: &mut Vec<State>) {
        if self.now.sqlite != 0 {
            return;
        }
        if self.now.failures_left > 0 {
            let mut turn = self;
            turn.now.failures_left -= 1;
            turn.end(out);
        }
        let expired = self.expired();
        for index in (0..IDENTITIES).filter(|index| expired >> index & 1 == 1) {
            self.now.rows[index] = NOTHING;
            self.forgive(index);
        }
        if matches!(self.call(), Call::Sweep) {
            self.now.ghost.dropped |= expired;
            return self.end(out);
        }
        if self.now.stripe != 0 {
            self.now.ghost.excused |= expired;
        }
        if self.is_broken(Broken::RowDeletedBeforeTheSlotIsFreed) {
            return self.go(Pc::FindExpired, out);
        }
        if self.is_broken(Broken::PrunedUntilRaisedLast) {
            return self.go(Pc::RaisePrunedUntilLate, out);
        }
        self.end_prune(out);
    }

    pub fn raise_pruned_until_late(mut self, out: &mut Vec<State>) {
        self.raise();
        self.end_prune(out);
    }

    fn end_prune(mut self, out: &mut Vec<State>) {
        let untouched = self.me().ghost;
        let stays =
            |index: usize| untouched >> index & 1 == 1 && self.now.standing(index) != NOTHING;
        if (0..IDENTITIES).any(stays) {
            self.now.fault = Some(Fault::PrunedCounterStays);
        }
        self.end(out);
    }
}
