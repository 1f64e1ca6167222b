//! One process's turn: one atomic step, or the several that it may take.
//!
//! Steps that nobody can tell apart are one: a lock is taken together with the first step under it
//! and given back with the last, and a compare-and-swap that is repeated until it succeeds is the
//! one that does.

use super::rules::Broken;
use super::setup::{Call, Setup, When};
use super::state::{Count, Held, Identity, KEYS, NOTHING, Pc, Process, Slot, State, Word};

/// A protocol, whole or with one rule broken, and who follows it.
pub struct World {
    pub setup: Setup,
    pub broken: Option<Broken>,
}

#[derive(Clone, Copy)]
pub struct Turn<'a> {
    pub world: &'a World,
    pub who: usize,
    pub now: State,
}

impl World {
    pub fn new(setup: &Setup) -> Self {
        Self { setup: setup.clone(), broken: None }
    }

    pub fn without(rule: Broken, setup: &Setup) -> Self {
        Self { setup: setup.clone(), broken: Some(rule) }
    }

    /// Every state that one step of a process leads to; none while it waits.
    pub fn step(&self, state: &State, who: usize, out: &mut Vec<State>) {
        let mut turn = Turn { world: self, who, now: *state };
        turn.now.ghost.touched = 0;
        if turn.me().pc == Pc::Idle {
            turn.begin();
        }
        match turn.me().pc {
            Pc::Done | Pc::Dead | Pc::Idle => {}
            Pc::FindState => turn.find_state(out),
            Pc::FindIdentity => turn.find_identity(out),
            Pc::LookAtBit => turn.look_at_bit(out),
            Pc::Count => turn.count(out),
            Pc::LookAtIdentity => turn.look_at_identity(out),
            Pc::Announce => turn.announce(out),
            Pc::Undo => turn.undo(out),
            Pc::AnnounceUndo => turn.announce_undo(out),
            Pc::Lock => turn.lock(out),
            Pc::Choose => turn.choose(out),
            Pc::ReadMarkHigh => turn.read_mark_high(out),
            Pc::ReadMarkLow => turn.read_mark_low(out),
            Pc::ReadMarkAgain => turn.read_mark_again(out),
            Pc::RaiseSpill => turn.raise_spill(out),
            Pc::Leave => turn.leave(out),
            Pc::ReadRow => turn.read_row(out),
            Pc::StoreIdentity => turn.store_identity(out),
            Pc::StoreMark => turn.store_mark(out),
            Pc::Publish => turn.publish(out),
            Pc::AnnounceClaim => turn.announce_claim(out),
            Pc::Elect => turn.elect(out),
            Pc::ClearBits => turn.clear_bits(out),
            Pc::FlagRound => turn.flag_round(out),
            Pc::RestoreBits => turn.restore_bits(out),
            Pc::EndRound => turn.end_round(out),
            Pc::BeginTransaction => turn.begin_transaction(out),
            Pc::ReadState => turn.read_state(out),
            Pc::ReadIdentity => turn.read_identity(out),
            Pc::ClearBitsLate => turn.clear_bits_late(out),
            Pc::Commit => turn.commit(out),
            Pc::Mark => turn.mark(out),
            Pc::ResetSlots => turn.reset_slots(out),
            Pc::AnnounceReset => turn.announce_reset(out),
            Pc::RaisePrunedUntil => turn.raise_pruned_until(out),
            Pc::FindExpired => turn.find_expired(out),
            Pc::RaiseSpillOfExpired => turn.raise_spill_of_expired(out),
            Pc::FreeExpired => turn.free_expired(out),
            Pc::DeleteRows => turn.delete_rows(out),
            Pc::RaisePrunedUntilLate => turn.raise_pruned_until_late(out),
        }
    }

    /// The process dies. What it held others take from it, as from a dead one.
    pub fn kill(&self, state: &State, who: usize) -> State {
        let mut turn = Turn { world: self, who, now: *state };
        turn.now.ghost.touched = 0;
        for Held { slot, tag } in turn.unannounced() {
            let slot = &mut turn.now.slots[slot as usize];
            if tag != 0 && slot.state.tag == tag {
                slot.orphans += 1;
            }
        }
        turn.unlock();
        for word in [&mut turn.now.flusher, &mut turn.now.sqlite] {
            if *word == who as u8 + 1 {
                *word = 0;
            }
        }
        *turn.me() = Process { pc: Pc::Dead, ..Process::default() };
        turn.now.deaths_left -= 1;
        turn.now
    }

    pub fn is_in_a_call(&self, process: &Process) -> bool {
        !matches!(process.pc, Pc::Done | Pc::Dead | Pc::Idle)
    }

    pub fn call_of(&self, who: usize, process: &Process) -> Option<Call> {
        self.setup.processes.get(who)?.get(process.call as usize).copied()
    }

    /// Whether SQLite is known to hold the slot's state.
    pub fn is_clean(&self, state: &State, slot: &Slot) -> bool {
        self.is_marked(slot, slot.state) && !self.may_have_been_pruned(state, slot)
    }

    pub fn is_marked(&self, slot: &Slot, state: Word) -> bool {
        if self.broken == Some(Broken::MarkWithoutTag) {
            return slot.mark.count == state.count;
        }
        slot.mark == state
    }

    pub fn may_have_been_pruned(&self, state: &State, slot: &Slot) -> bool {
        self.broken != Some(Broken::PrunedTakenForClean)
            && slot.identity.expires() <= state.pruned_until
    }

    pub fn next_tag(&self, tag: u8) -> u8 {
        tag.wrapping_add(1) & self.setup.tag_mask
    }
}

impl<'a> Turn<'a> {
    fn begin(&mut self) {
        let call = self.call();
        let me = self.me();
        (me.pc, me.sought.key) = match call {
            Call::Hit(key, _)
            | Call::DurableHit(key, _)
            | Call::HitBoth(key, _)
            | Call::Refund(key, _)
            | Call::Status(key, _) => (Pc::FindState, key),
            Call::Reset(key) => (Pc::ResetSlots, key),
            Call::Prune(_) | Call::Sweep => (Pc::RaisePrunedUntil, 0),
            Call::Flush => (Pc::Elect, 0),
        };
    }

    pub fn me(&mut self) -> &mut Process {
        &mut self.now.processes[self.who]
    }

    pub fn call(&self) -> Call {
        let process = &self.now.processes[self.who];
        self.world.call_of(self.who, process).expect("a process that is not done has a call")
    }

    pub fn is_broken(&self, rule: Broken) -> bool {
        self.world.broken == Some(rule)
    }

    pub fn when(&self) -> When {
        match self.call() {
            Call::Hit(_, when)
            | Call::DurableHit(_, when)
            | Call::HitBoth(_, when)
            | Call::Refund(_, when)
            | Call::Status(_, when) => when,
            Call::Reset(_) | Call::Prune(_) | Call::Sweep | Call::Flush => When::Clock,
        }
    }

    pub fn time(&self) -> u8 {
        match self.when() {
            When::At(time) => time,
            When::Clock => self.now.clock,
        }
    }

    pub fn slot(&mut self) -> &mut Slot {
        let slot = self.me().slot as usize;
        &mut self.now.slots[slot]
    }

    pub fn go(mut self, pc: Pc, out: &mut Vec<State>) {
        self.me().pc = pc;
        out.push(self.now);
    }

    /// The call returns, answered or failed.
    pub fn end(mut self, out: &mut Vec<State>) {
        let calls = self.world.setup.processes[self.who].len();
        let call = self.me().call + 1;
        let pc = if (call as usize) < calls { Pc::Idle } else { Pc::Done };
        *self.me() = Process { pc, call, ..Process::default() };
        out.push(self.now);
    }

    pub fn holder(&self) -> u8 {
        self.who as u8 + 1
    }

    pub fn holds_stripe(&self) -> bool {
        self.now.stripe == self.holder()
    }

    pub fn unlock(&mut self) {
        if self.holds_stripe() {
            self.now.stripe = 0;
            self.now.ghost.excused = 0;
        }
    }

    pub fn spend(&self, count: Count, limit: u8) -> Count {
        let Count { attempts, admitted } = self.refuse(count);
        Count { attempts, admitted: if admitted < limit { admitted + 1 } else { admitted } }
    }

    pub fn refuse(&self, Count { attempts, admitted }: Count) -> Count {
        Count { attempts: self.world.setup.most.min(attempts + 1), admitted }
    }

    pub fn refund(&self, Count { attempts, admitted }: Count) -> Count {
        Count { attempts, admitted: admitted.saturating_sub(1) }
    }

    /// Tells the ghosts what this step has done to a counter.
    pub fn note(&mut self, identity: Identity, before: Count, after: Count) {
        let Some(index) = identity.index() else { return };
        let most = self.world.setup.most;
        let ghost = &mut self.now.ghost;
        ghost.touched |= 1 << index;
        for count in [&mut ghost.counted[index], &mut ghost.owed[index]] {
            count.attempts = most.min(count.attempts + after.attempts - before.attempts);
            count.admitted = (count.admitted + after.admitted).saturating_sub(before.admitted);
        }
        for (who, process) in self.now.processes.iter_mut().enumerate() {
            if matches!(self.world.call_of(who, process), Some(Call::Prune(_))) {
                process.ghost &= !(1 << index);
            }
        }
    }

    /// A reset.
    pub fn forget(&mut self, index: usize) {
        self.now.ghost.counted[index] = NOTHING;
        self.now.ghost.touched |= 1 << index;
        self.forgive(index);
    }

    /// A prune: what was counted may still be met for a while.
    pub fn forgive(&mut self, index: usize) {
        self.now.ghost.owed[index] = NOTHING;
    }

    /// Slots that this process has changed and not yet announced.
    fn unannounced(&self) -> Vec<Held> {
        let me = &self.now.processes[self.who];
        let of = |slots: u8, tag: &dyn Fn(usize) -> u8| {
            (0..self.now.slots.len())
                .filter(|slot| slots >> slot & 1 == 1)
                .map(|slot| Held { slot: slot as u8, tag: tag(slot) })
                .collect()
        };
        match self.world.call_of(self.who, me) {
            Some(Call::Reset(_)) if matches!(me.pc, Pc::ResetSlots | Pc::AnnounceReset) => {
                of(me.taken, &|slot| self.now.slots[slot].state.tag)
            }
            Some(Call::HitBoth(..)) if me.pc == Pc::AnnounceUndo => vec![me.held],
            _ => match me.pc {
                Pc::Announce | Pc::LookAtIdentity | Pc::AnnounceUndo | Pc::AnnounceClaim => {
                    of(1 << me.slot, &|_| me.seen.tag)
                }
                _ => Vec::new(),
            },
        }
    }
}

/// The other key.
pub fn other(key: u8) -> u8 {
    KEYS + 1 - key
}
