//! Finding a counter and changing it: no lock.

use super::rules::Broken;
use super::setup::Call;
use super::state::{Count, Fault, Held, Identity, NOTHING, Pc, Process, State, Word};
use super::turn::{Turn, other};

impl Turn<'_> {
    pub fn find_state(mut self, out: &mut Vec<State>) {
        if self.me().sought.start == 0 {
            self.me().sought.start = self.time();
        }
        let state = self.slot().state;
        if !state.is_live() {
            return self.look_further(out);
        }
        let is_status = matches!(self.call(), Call::Status(..));
        let count = if is_status { state.count } else { NOTHING };
        self.me().seen = Word { tag: state.tag, count };
        self.go(Pc::FindIdentity, out);
    }

    pub fn find_identity(mut self, out: &mut Vec<State>) {
        let (sought, seen) = (self.me().sought, self.me().seen);
        if self.slot().identity != sought {
            return self.look_further(out);
        }
        // A compare-and-swap would tell; a status makes none.
        if matches!(self.call(), Call::Status(..)) {
            let is_still = self.slot().state.tag == seen.tag;
            if !is_still && !self.is_broken(Broken::NoTagRecheck) {
                return self.look_further(out);
            }
            return self.answer(seen.count, out);
        }
        self.found(out);
    }

    fn look_further(mut self, out: &mut Vec<State>) {
        self.me().seen = Word::default();
        self.me().slot += 1;
        if (self.me().slot as usize) < self.world.setup.slots {
            return self.go(Pc::FindState, out);
        }
        self.me().slot = 0;
        self.go(Pc::Lock, out);
    }

    /// From the beginning, clock included.
    pub fn anew(mut self, out: &mut Vec<State>) {
        if self.me().reserved {
            self.me().is_again = true;
            return self.give_back(out);
        }
        if let Call::HitBoth(first, _) = self.call() {
            let call = self.me().call;
            *self.me() = Process { call, ..Process::default() };
            self.me().sought.key = first;
        }
        self.me().sought.start = 0;
        self.look_again(out);
    }

    /// For the same counter.
    fn look_again(mut self, out: &mut Vec<State>) {
        self.me().slot = 0;
        self.me().seen = Word::default();
        self.go(Pc::FindState, out);
    }

    /// The counter sought is in the slot, of the life that was seen.
    pub fn found(mut self, out: &mut Vec<State>) {
        if self.me().turn < COUNTING && matches!(self.call(), Call::HitBoth(..)) {
            return self.next_turn(out);
        }
        let looks_first = self.is_broken(Broken::BitLookedAtBeforeTheCount);
        self.go(if looks_first { Pc::LookAtBit } else { Pc::Count }, out);
    }

    pub fn look_at_bit(mut self, out: &mut Vec<State>) {
        self.me().saw_bit = self.now.bits >> self.me().slot & 1 == 1;
        self.go(Pc::Count, out);
    }

    /// What a call makes of the counter that it looks for.
    pub fn changed(&self, count: Count) -> Count {
        let me = &self.now.processes[self.who];
        let limit = self.world.setup.limits[me.sought.key as usize - 1];
        match self.call() {
            Call::Refund(..) => self.refund(count),
            Call::HitBoth(..) if me.turn < COUNTING => count,
            Call::HitBoth(..) if me.turn > COUNTING && !me.reserved => self.refuse(count),
            _ => self.spend(count, limit),
        }
    }

    pub fn count(mut self, out: &mut Vec<State>) {
        let tag = self.me().seen.tag;
        let state = self.slot().state;
        let adds = self.is_broken(Broken::AddWithoutTagCheck) && state.is_live();
        if state.tag != tag && !adds {
            let keeps_time = self.me().turn >= COUNTING;
            return if keeps_time { self.look_again(out) } else { self.anew(out) };
        }
        let after = self.changed(state.count);
        let new_tag = self.tag_after(state, after);
        self.slot().state = Word { tag: new_tag, count: after };
        self.counted(new_tag, state.count, after);
        self.go(Pc::LookAtIdentity, out);
    }

    /// What the process and the ghosts remember of a count, found or claimed.
    pub fn counted(&mut self, tag: u8, before: Count, after: Count) {
        let (sought, call) = (self.me().sought, self.call());
        self.note(sought, before, after);
        if self.me().is_counted {
            self.now.fault = Some(Fault::CountedTwice);
        }
        let me = self.me();
        me.is_counted = true;
        let is_admitted = after.admitted > before.admitted;
        me.seen = Word { tag, count: NOTHING };
        match call {
            Call::DurableHit(..) => (me.seen.count, me.reserved) = (after, is_admitted),
            Call::HitBoth(..) if me.turn == COUNTING => {
                me.reserved = is_admitted;
                me.held = Held { slot: me.slot, tag };
            }
            Call::HitBoth(..) if me.turn > COUNTING => me.reserved &= !is_admitted,
            _ => {}
        }
    }

    /// Attempts that are at their end no longer tell a fallen `admitted` from an old one: the slot
    /// goes on as a new life.
    fn tag_after(&self, before: Word, after: Count) -> u8 {
        let falls = after.admitted < before.count.admitted;
        let is_at_end = before.count.attempts == self.world.setup.most;
        if falls && is_at_end && !self.is_broken(Broken::RefundWithinALife) {
            return self.world.next_tag(self.world.next_tag(before.tag));
        }
        before.tag
    }

    /// The tag may have gone full circle between look and count.
    pub fn look_at_identity(mut self, out: &mut Vec<State>) {
        let Process { slot, sought, seen, .. } = *self.me();
        let standing = *self.slot();
        let is_other = standing.identity != sought;
        if is_other && self.is_broken(Broken::LeftTakenForFullCircle) {
            return self.look_again(out);
        }
        if is_other && standing.state.tag == seen.tag {
            self.take_back(Held { slot, tag: seen.tag }, sought);
            (self.me().is_counted, self.me().reserved) = (false, false);
            return self.look_again(out);
        }
        self.go(Pc::Announce, out);
    }

    pub fn announce(mut self, out: &mut Vec<State>) {
        let saw_bit = self.me().saw_bit;
        self.me().saw_bit = false;
        if !saw_bit {
            self.now.bits |= 1 << self.me().slot;
        }
        self.announced(out);
    }

    pub fn announced(mut self, out: &mut Vec<State>) {
        match self.call() {
            Call::DurableHit(..) => {
                self.me().scope = 1 << self.me().slot;
                self.transact(out);
            }
            Call::HitBoth(..) => self.next_turn(out),
            _ => self.end(out),
        }
    }

    /// Takes back what is reserved: of a hit that SQLite did not take, or a second limit refused.
    pub fn undo(mut self, out: &mut Vec<State>) {
        let Process { slot, sought, seen, held, .. } = *self.me();
        let took_back = match self.call() {
            Call::HitBoth(key, _) => self.take_back(held, Identity { key, ..sought }),
            _ => self.take_back(Held { slot, tag: seen.tag }, sought),
        };
        self.me().reserved = false;
        if !took_back && self.world.setup.no_undo_missed {
            self.now.fault = Some(Fault::UndoMissed);
        }
        if took_back && !self.is_broken(Broken::UndoNotAnnounced) {
            return self.go(Pc::AnnounceUndo, out);
        }
        self.end_or_anew(out);
    }

    pub fn announce_undo(mut self, out: &mut Vec<State>) {
        let Process { slot, held, .. } = *self.me();
        let is_both = matches!(self.call(), Call::HitBoth(..));
        self.now.bits |= 1 << if is_both { held.slot } else { slot };
        self.end_or_anew(out);
    }

    fn end_or_anew(mut self, out: &mut Vec<State>) {
        if self.me().is_again { self.anew(out) } else { self.end(out) }
    }

    /// Takes one unit back, of the same life only; whether that was so. Attempts that are at their
    /// end keep it.
    fn take_back(&mut self, Held { slot, tag }: Held, identity: Identity) -> bool {
        let state = self.now.slots[slot as usize].state;
        if state.tag != tag || state.count.attempts == self.world.setup.most {
            return false;
        }
        let after = self.refund(state.count);
        self.now.slots[slot as usize].state.count = after;
        self.note(identity, state.count, after);
        true
    }
}

/// From this turn on a hit under two limits counts: before, it makes both live, so that what cannot
/// be made live has counted nothing.
const COUNTING: u8 = 2;

/// A hit under two limits: each is counted in one step; a unit that the first admits is reserved
/// until the second has admitted it too.
impl Turn<'_> {
    fn next_turn(mut self, out: &mut Vec<State>) {
        let Call::HitBoth(first, _) = self.call() else { return };
        let is_last = self.me().turn > COUNTING;
        if is_last && !self.me().reserved {
            return self.end(out);
        }
        if is_last {
            return self.give_back(out);
        }
        let me = self.me();
        me.turn += 1;
        me.is_counted = false;
        me.sought.key = if me.turn == COUNTING { first } else { other(first) };
        self.look_again(out);
    }

    pub fn give_back(mut self, out: &mut Vec<State>) {
        let is_both = matches!(self.call(), Call::HitBoth(..));
        let me = self.me();
        if is_both {
            (me.slot, me.seen) = (0, Word::default());
        }
        self.go(Pc::Undo, out);
    }
}
