//! Writing to SQLite: a transaction over some slots, for a round, a full bucket, a durable hit or a
//! reset.

use super::rules::Broken;
use super::setup::Call;
use super::state::{Fault, IDENTITIES, Identity, NOTHING, Pc, SLOTS, State, Word};
use super::turn::Turn;

impl Turn<'_> {
    /// Begins a transaction over the slots in `scope`.
    pub fn transact(self, out: &mut Vec<State>) {
        let is_early = self.is_broken(Broken::ReadBeforeTheWriteLock);
        self.go(if is_early { Pc::ReadState } else { Pc::BeginTransaction }, out);
    }

    pub fn begin_transaction(mut self, out: &mut Vec<State>) {
        if self.now.sqlite != 0 {
            return;
        }
        self.now.sqlite = self.holder();
        self.read_state(out);
    }

    pub fn read_state(mut self, out: &mut Vec<State>) {
        let slot = self.me().scope.trailing_zeros() as usize;
        let state = self.now.slots[slot].state;
        if !state.is_live() {
            return self.next_slot(slot, out);
        }
        self.me().buffer[slot] = state;
        self.go(Pc::ReadIdentity, out);
    }

    /// The identity, and the tag once more; then whether there is anything to write.
    pub fn read_identity(mut self, out: &mut Vec<State>) {
        let slot = self.me().scope.trailing_zeros() as usize;
        let standing = self.now.slots[slot];
        let state = self.me().buffer[slot];
        let is_still = standing.state.tag == state.tag;
        if !is_still && !self.is_broken(Broken::NoTagRecheck) {
            // Another life: of this counter, after a reset, or of another one.
            self.me().buffer[slot] = Word::default();
            return self.go(Pc::ReadState, out);
        }
        let is_known = self.world.is_marked(&standing, state)
            && !self.world.may_have_been_pruned(&self.now, &standing);
        let is_left_out = matches!(self.call(), Call::Flush)
            && self.world.setup.auto_prune
            && standing.identity.expires() <= self.now.clock;
        match standing.identity.index() {
            Some(name) if !is_known && !is_left_out => {
                self.me().written |= 1 << slot;
                self.me().names[slot] = name as u8;
            }
            _ => self.me().buffer[slot] = Word::default(),
        }
        self.next_slot(slot, out);
    }

    fn next_slot(mut self, slot: usize, out: &mut Vec<State>) {
        self.me().scope &= !(1 << slot);
        if self.me().scope != 0 {
            return self.go(Pc::ReadState, out);
        }
        if self.is_broken(Broken::BitsClearedAfterReading) && matches!(self.call(), Call::Flush) {
            return self.go(Pc::ClearBitsLate, out);
        }
        self.all_read(out);
    }

    pub fn clear_bits_late(mut self, out: &mut Vec<State>) {
        self.now.bits &= !self.me().taken;
        self.all_read(out);
    }

    fn all_read(mut self, out: &mut Vec<State>) {
        if self.me().written == 0 && !matches!(self.call(), Call::Reset(_)) {
            self.release_sqlite();
            return self.transacted(out);
        }
        self.go(Pc::Commit, out);
    }

    fn release_sqlite(&mut self) {
        if self.now.sqlite == self.holder() {
            self.now.sqlite = 0;
        }
    }

    pub fn commit(mut self, out: &mut Vec<State>) {
        if self.now.sqlite != 0 && self.now.sqlite != self.holder() {
            return;
        }
        self.release_sqlite();
        if self.now.failures_left > 0 {
            let mut turn = self;
            turn.now.failures_left -= 1;
            turn.not_transacted(out);
        }
        let me = *self.me();
        for slot in (0..SLOTS).filter(|slot| me.written >> slot & 1 == 1) {
            // A counter of nothing has no row.
            self.now.rows[me.names[slot] as usize] = me.buffer[slot].count;
            let standing = &mut self.now.slots[slot];
            if standing.state == me.buffer[slot] {
                standing.orphans = 0;
            }
        }
        if let Call::Reset(key) = self.call() {
            self.delete_rows_of(key);
        }
        self.me().names = [0; SLOTS];
        self.me().todo = me.written;
        if me.written == 0 {
            return self.transacted(out);
        }
        self.me().halves = 0b11;
        self.go(Pc::Mark, out);
    }

    /// Of every window that has no slot: who holds the stripe knows.
    fn delete_rows_of(&mut self, key: u8) {
        for index in (0..IDENTITIES).filter(|index| Identity::at(*index).key == key) {
            if self.now.live_slot(Identity::at(index)).is_none() {
                self.now.rows[index] = NOTHING;
                self.forget(index);
            }
        }
    }

    /// The state that was written is put into the mark, whatever stands there by now.
    pub fn mark(mut self, out: &mut Vec<State>) {
        let slot = self.me().todo.trailing_zeros() as u8;
        let written = self.me().buffer[slot as usize];
        let mut marked = Vec::new();
        let own_slot = self.me().slot;
        self.me().slot = slot;
        if self.is_broken(Broken::WritersMarkInTwoStores) {
            self.store_halves(written, Pc::Mark, &mut marked);
        } else {
            self.slot().mark = written;
            self.me().halves = 0;
            marked.push(self.now);
        }
        for now in marked {
            let mut turn = Self { now, ..self };
            turn.me().slot = own_slot;
            if turn.me().halves != 0 {
                turn.go(Pc::Mark, out);
                continue;
            }
            turn.me().todo &= !(1 << slot);
            if turn.me().todo == 0 {
                turn.transacted(out);
                continue;
            }
            turn.me().halves = 0b11;
            turn.go(Pc::Mark, out);
        }
    }

    fn transacted(mut self, out: &mut Vec<State>) {
        match self.call() {
            Call::Flush => {
                self.forget_transaction();
                self.me().taken = 0;
                self.go(Pc::EndRound, out);
            }
            Call::Reset(_) => {
                self.unlock();
                self.end(out);
            }
            // A full bucket: what it has written it can spare.
            _ if self.holds_stripe() => self.go(Pc::Choose, out),
            _ => {
                self.look_for_durable_hit();
                self.end(out);
            }
        }
    }

    fn not_transacted(mut self, out: &mut Vec<State>) {
        let own = self.me().taken;
        self.forget_transaction();
        match self.call() {
            Call::Flush => {
                self.me().taken = own;
                self.go(Pc::RestoreBits, out);
            }
            // Of this hit, or in the first of two limits.
            _ if self.me().reserved => {
                self.unlock();
                self.give_back(out);
            }
            _ => {
                self.unlock();
                self.end(out);
            }
        }
    }

    fn look_for_durable_hit(&mut self) {
        let (sought, counted) = (self.me().sought, self.me().seen.count);
        let Some(index) = sought.index() else { return };
        let may_be_gone = self.now.ghost.dropped >> index & 1 == 1
            || sought.expires() <= self.now.pruned_until
            || self.world.setup.has_reset();
        if self.now.rows[index].attempts < counted.attempts && !may_be_gone {
            self.now.fault = Some(Fault::DurableHitNotInSqlite);
        }
    }

    pub fn forget_transaction(&mut self) {
        let me = self.me();
        (me.scope, me.written, me.todo, me.halves) = (0, 0, 0, 0);
        (me.buffer, me.names) = Default::default();
    }
}

/// A round.
impl Turn<'_> {
    pub fn elect(mut self, out: &mut Vec<State>) {
        if self.now.flusher != 0 {
            return self.end(out);
        }
        self.now.flusher = self.holder();
        // Who was at it has died, perhaps with bits that he had cleared.
        if self.now.round_under_way {
            self.me().saw_round = true;
        }
        if !self.is_broken(Broken::RoundFlaggedLate) {
            self.now.round_under_way = true;
        }
        self.go(Pc::ClearBits, out);
    }

    pub fn clear_bits(mut self, out: &mut Vec<State>) {
        let all = (1 << self.world.setup.slots) - 1;
        let taken = if self.me().saw_round { all } else { self.now.bits };
        self.me().saw_round = false;
        if !self.is_broken(Broken::BitsClearedAfterReading) {
            self.now.bits = 0;
        }
        (self.me().taken, self.me().scope) = (taken, taken);
        if self.is_broken(Broken::RoundFlaggedLate) {
            return self.go(Pc::FlagRound, out);
        }
        self.begin_round(out);
    }

    pub fn flag_round(mut self, out: &mut Vec<State>) {
        self.now.round_under_way = true;
        self.begin_round(out);
    }

    fn begin_round(mut self, out: &mut Vec<State>) {
        if self.me().taken == 0 {
            return self.go(Pc::EndRound, out);
        }
        self.transact(out);
    }

    pub fn restore_bits(mut self, out: &mut Vec<State>) {
        self.now.bits |= self.me().taken;
        self.me().taken = 0;
        self.go(Pc::EndRound, out);
    }

    pub fn end_round(mut self, out: &mut Vec<State>) {
        self.now.round_under_way = false;
        self.now.flusher = 0;
        self.end(out);
    }
}
