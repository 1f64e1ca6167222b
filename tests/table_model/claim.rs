//! Making a counter live: under its bucket's stripe, in a slot that can be spared. A status looks
//! there, too.

use super::rules::Broken;
use super::setup::{Call, When};
use super::state::{Count, Fault, Held, Identity, NOTHING, Pc, Process, State, Word};
use super::turn::Turn;

impl Turn<'_> {
    pub fn lock(mut self, out: &mut Vec<State>) {
        if self.now.stripe != 0 {
            return;
        }
        let (time, sought) = (self.time(), self.me().sought);
        if time != sought.start && !self.is_broken(Broken::ClockReadOnce) {
            return self.anew(out);
        }
        let standing = (0..).zip(&self.now.slots).find_map(|(slot, standing)| {
            let is_it = standing.state.is_live() && standing.identity == sought;
            is_it.then_some((slot, standing.state))
        });
        let looks = !self.is_broken(Broken::NoSecondLook);
        if let Some((slot, state)) = standing.filter(|_| looks) {
            if matches!(self.call(), Call::Status(..)) {
                return self.answer(state.count, out);
            }
            self.me().slot = slot;
            self.me().seen.tag = state.tag;
            return self.found(out);
        }
        match self.call() {
            Call::Status(..) if !self.may_have_row() => return self.answer(NOTHING, out),
            Call::Status(..) => {
                self.now.stripe = self.holder();
                return self.go(Pc::ReadRow, out);
            }
            // What is not there needs no slot to be taken out of.
            Call::Refund(..) if !self.may_have_row() => return self.end(out),
            _ => {}
        }
        self.now.stripe = self.holder();
        self.choose(out);
    }

    fn may_have_row(&mut self) -> bool {
        let first = self.world.setup.first_start();
        self.me().sought.start <= self.now.spill.max(first)
    }

    /// A free slot; one that has expired; one that SQLite holds as it is, or as this process has
    /// written it. Otherwise the bucket must be written first.
    pub fn choose(mut self, out: &mut Vec<State>) {
        let slots = self.world.setup.slots;
        if let Some(free) = (0..slots).find(|slot| !self.now.slots[*slot].state.is_live()) {
            self.me().slot = free as u8;
            return self.take_over(out);
        }
        let candidates = || (0..slots).filter(|slot| !self.is_own(*slot));
        let over: Vec<_> = candidates().filter(|slot| self.is_over(*slot)).collect();
        let is_drop = !over.is_empty();
        let spared = if is_drop {
            over
        } else {
            candidates().filter(|slot| self.is_spared(*slot)).collect()
        };
        for slot in &spared {
            let mut turn = self;
            turn.me().slot = *slot as u8;
            turn.me().seen = turn.now.slots[*slot].state;
            turn.me().is_drop = is_drop;
            turn.forget_transaction();
            turn.go_to_leave(out);
        }
        if self.is_broken(Broken::MarkReadInHalves) && !is_drop {
            for slot in candidates().filter(|slot| !self.is_pruned(*slot)) {
                let mut turn = self;
                turn.me().slot = slot as u8;
                turn.forget_transaction();
                turn.go(Pc::ReadMarkHigh, out);
            }
        }
        if spared.is_empty() {
            self.write_bucket(out);
        }
    }

    /// Whether SQLite holds the slot as it is; or as this process has written it, which is as good
    /// where a prune may take the row: then it takes what the slot had counted.
    fn is_spared(&self, slot: usize) -> bool {
        let standing = &self.now.slots[slot];
        let me = &self.now.processes[self.who];
        let has_written = me.written >> slot & 1 == 1 && me.buffer[slot] == standing.state;
        self.is_broken(Broken::EvictionUnwritten)
            || self.world.is_clean(&self.now, standing)
            || (has_written && !self.is_broken(Broken::PrunedNeverLetGo))
    }

    fn is_pruned(&self, slot: usize) -> bool {
        self.world.may_have_been_pruned(&self.now, &self.now.slots[slot])
    }

    fn go_to_leave(self, out: &mut Vec<State>) {
        let raises = !self.is_broken(Broken::NoSpill);
        self.go(if raises { Pc::RaiseSpill } else { Pc::Leave }, out);
    }

    fn write_bucket(mut self, out: &mut Vec<State>) {
        self.forget_transaction();
        self.me().seen = Word::default();
        self.me().slot = 0;
        self.me().scope = (1 << self.world.setup.slots) - 1;
        self.transact(out);
    }

    /// Whether this call has reserved a unit in the slot.
    fn is_own(&self, slot: usize) -> bool {
        let me = &self.now.processes[self.who];
        let held = Held { slot: slot as u8, tag: self.now.slots[slot].state.tag };
        me.reserved && me.held == held && !self.is_broken(Broken::OwnSlotTaken)
    }

    /// Past by the call's time and by the clock.
    fn is_over(&self, slot: usize) -> bool {
        let past = self.time().min(self.now.clock);
        self.world.setup.auto_prune && self.now.slots[slot].identity.expires() <= past
    }

    pub fn raise_spill(mut self, out: &mut Vec<State>) {
        self.now.spill = self.now.spill.max(self.slot().identity.start);
        self.go(Pc::Leave, out);
    }

    /// The old life ends, unless somebody has counted in it.
    pub fn leave(mut self, out: &mut Vec<State>) {
        let Process { seen, is_drop, .. } = *self.me();
        (self.me().seen, self.me().is_drop) = (Word::default(), false);
        if self.slot().state != seen {
            self.me().slot = 0;
            return self.go(Pc::Choose, out);
        }
        if let Some(index) = self.slot().identity.index().filter(|_| is_drop) {
            self.now.ghost.dropped |= 1 << index;
            self.forgive(index);
        }
        self.free();
        self.take_over(out);
    }

    pub fn free(&mut self) {
        let tag = self.world.next_tag(self.slot().state.tag);
        self.slot().state = Word { tag, count: NOTHING };
        self.slot().orphans = 0;
    }

    fn take_over(mut self, out: &mut Vec<State>) {
        self.forget_transaction();
        if self.may_have_row() {
            return self.go(Pc::ReadRow, out);
        }
        self.write_out(out);
    }

    pub fn read_row(mut self, out: &mut Vec<State>) {
        let sought = self.me().sought;
        let row = sought.index().map_or(NOTHING, |index| self.now.rows[index]);
        match self.call() {
            Call::Status(..) => self.answer(row, out),
            Call::Refund(..) if row == NOTHING => {
                self.unlock();
                self.end(out);
            }
            // AFTER the row: from the time on at which hits remove it, none says nothing.
            _ if self.may_be_swept(sought) => {
                self.unlock();
                self.anew(out);
            }
            _ => {
                self.me().row = row;
                self.write_out(out);
            }
        }
    }

    /// Whether hits may have removed the row by now, and the call must know.
    fn may_be_swept(&self, sought: Identity) -> bool {
        let is_looked_at = !self.is_broken(Broken::ClockNotReadAfterTheRow)
            && !self.is_broken(Broken::ClockReadOnce);
        is_looked_at && self.when() == When::Clock && sought.expires() <= self.now.clock
    }

    fn write_out(mut self, out: &mut Vec<State>) {
        self.me().halves = 0b11;
        let is_early = self.is_broken(Broken::PublishedBeforeIdentity);
        self.go(if is_early { Pc::Publish } else { Pc::StoreIdentity }, out);
    }

    /// The words go out one by one, in any order.
    pub fn store_identity(mut self, out: &mut Vec<State>) {
        let Identity { start, key } = self.me().sought;
        for word in 0..2 {
            if self.me().halves >> word & 1 == 0 {
                continue;
            }
            let mut turn = self;
            match word {
                0 => turn.slot().identity.start = start,
                _ => turn.slot().identity.key = key,
            }
            turn.me().halves &= !(1 << word);
            if turn.me().halves != 0 {
                turn.go(Pc::StoreIdentity, out);
                continue;
            }
            turn.me().halves = 0b11;
            turn.go(Pc::StoreMark, out);
        }
    }

    pub fn store_mark(mut self, out: &mut Vec<State>) {
        let row = self.me().row;
        // The tag of the life to come, or of this one where it was published early.
        let tag = self.slot().state.tag | 1;
        let is_lowered = self.lowers_at_the_end(row);
        let mark =
            if row == NOTHING || is_lowered { Word::default() } else { Word { tag, count: row } };
        let is_early = self.is_broken(Broken::PublishedBeforeIdentity);
        let next = if is_early { Pc::AnnounceClaim } else { Pc::Publish };
        if self.is_broken(Broken::ClaimersMarkInTwoStores) {
            return self.store_halves(mark, next, out);
        }
        self.slot().mark = mark;
        self.me().halves = 0;
        self.go(next, out);
    }

    /// Whether a refund is to be published of which a later hit may make the row's value again.
    fn lowers_at_the_end(&self, row: Count) -> bool {
        matches!(self.call(), Call::Refund(..))
            && row.attempts == self.world.setup.most
            && !self.is_broken(Broken::RefundClaimedAsStored)
    }

    /// Stores one half of a mark, either first.
    pub fn store_halves(mut self, mark: Word, next: Pc, out: &mut Vec<State>) {
        let here = self.me().pc;
        for half in 0..2 {
            if self.me().halves >> half & 1 == 0 {
                continue;
            }
            let mut turn = self;
            let low_bits = turn.world.setup.low_bits;
            let slot = turn.slot();
            slot.mark = match half {
                0 => mix(slot.mark, mark, low_bits),
                _ => mix(mark, slot.mark, low_bits),
            };
            turn.me().halves &= !(1 << half);
            let is_done = turn.me().halves == 0;
            turn.go(if is_done { next } else { here }, out);
        }
    }

    /// The counter is live, and the call counted, in one step.
    pub fn publish(mut self, out: &mut Vec<State>) {
        let row = self.me().row;
        let counts = !self.is_broken(Broken::ClaimersMarkInTwoStores);
        let tag = self.world.next_tag(self.slot().state.tag);
        let count = if counts { self.changed(row) } else { row };
        self.slot().state = Word { tag, count };
        if counts {
            self.counted(tag, row, count);
        } else {
            self.me().seen.tag = tag;
        }
        if self.is_broken(Broken::PublishedBeforeIdentity) {
            return self.go(Pc::StoreIdentity, out);
        }
        self.me().row = NOTHING;
        if !counts {
            self.unlock();
            return self.found(out);
        }
        self.go(Pc::AnnounceClaim, out);
    }

    pub fn announce_claim(mut self, out: &mut Vec<State>) {
        self.now.bits |= 1 << self.me().slot;
        self.me().row = NOTHING;
        self.unlock();
        self.announced(out);
    }

    /// A status says so many.
    pub fn answer(mut self, count: Count, out: &mut Vec<State>) {
        if self.me().ghost >> count.attempts & 1 == 0 {
            self.now.fault = Some(Fault::StatusOfNoMoment);
        }
        self.unlock();
        self.end(out);
    }
}

/// Reading a mark in halves: what a state can be read by, since its high half never comes back.
impl Turn<'_> {
    pub fn read_mark_high(mut self, out: &mut Vec<State>) {
        self.me().buffer[0] = self.slot().mark;
        self.go(Pc::ReadMarkLow, out);
    }

    pub fn read_mark_low(mut self, out: &mut Vec<State>) {
        let (high, low) = (self.me().buffer[0], self.slot().mark);
        self.me().buffer[0] = mix(high, low, self.world.setup.low_bits);
        self.go(Pc::ReadMarkAgain, out);
    }

    pub fn read_mark_again(mut self, out: &mut Vec<State>) {
        let (read, again) = (self.me().buffer[0], self.slot().mark);
        if mix(again, read, self.world.setup.low_bits) != read {
            return self.go(Pc::ReadMarkHigh, out);
        }
        self.forget_transaction();
        if self.slot().state != read || !self.slot().state.is_live() {
            return self.write_bucket(out);
        }
        self.me().seen = read;
        self.go_to_leave(out);
    }
}

/// The high half of one word and the low one of another: tag and most of attempts, the rest.
fn mix(high: Word, low: Word, low_bits: u8) -> Word {
    let mask = (1 << low_bits) - 1;
    let attempts = (high.count.attempts & !mask) | (low.count.attempts & mask);
    Word { tag: high.tag, count: Count { attempts, admitted: low.count.admitted } }
}
