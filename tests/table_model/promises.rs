//! What must hold: in every state, over every step, and when nobody is in a call.

use super::setup::Call;
use super::state::{Count, IDENTITIES, Identity, NOTHING, State};
use super::turn::World;

/// The promise that is broken, in words.
pub type Complaint = String;

impl World {
    pub fn check_state(&self, state: &State) -> Result<(), Complaint> {
        if let Some(fault) = state.fault {
            return Err(format!("{fault:?}"));
        }
        self.check_slots(state)?;
        self.check_rows(state)?;
        for index in 0..IDENTITIES {
            self.check_counter(state, index)?;
        }
        let is_at_rest = !state.processes.iter().any(|process| self.is_in_a_call(process));
        if is_at_rest { self.check_rest(state) } else { Ok(()) }
    }

    /// One live slot for a counter; and a mark tells the truth.
    fn check_slots(&self, state: &State) -> Result<(), Complaint> {
        let live = || state.slots.iter().filter(|slot| slot.state.is_live());
        for slot in live() {
            let identity = slot.identity;
            if live().filter(|other| other.identity == identity).count() > 1 {
                return Err(format!("U: {identity} is live twice"));
            }
            let Some(index) = identity.index() else { continue };
            let is_dropped = state.ghost.dropped >> index & 1 == 1;
            let row = state.rows[index];
            if self.is_clean(state, slot) && row != slot.state.count && !is_dropped {
                return Err(format!("mark: {identity} looks written, but its row is {row}"));
            }
        }
        Ok(())
    }

    /// Who finds no slot knows whether to ask for a row.
    fn check_rows(&self, state: &State) -> Result<(), Complaint> {
        let known = state.spill.max(self.setup.first_start());
        for (index, row) in state.rows.iter().enumerate() {
            let identity = Identity::at(index);
            let is_alone = *row != NOTHING && state.live_slot(identity).is_none();
            if is_alone && identity.start > known {
                return Err(format!("S: nobody will look for the row of {identity}"));
            }
        }
        Ok(())
    }

    /// Table and SQLite together hold what was counted, and no more than N of it admitted.
    fn check_counter(&self, state: &State, index: usize) -> Result<(), Complaint> {
        let standing = state.standing(index);
        let (counted, owed) = (state.ghost.counted[index], state.ghost.owed[index]);
        let identity = Identity::at(index);
        // Of a pruned one stale values may come back, to be forgotten in turn.
        let is_dropped = state.ghost.dropped >> index & 1 == 1;
        let may_rise = is_dropped || identity.expires() <= state.pruned_until;
        let most = if may_rise { standing } else { counted };
        if !is_between(owed, standing, most) {
            let what = format!("{identity} is {standing}, counted {counted}, owed {owed}");
            return Err(format!("exact: {what}"));
        }
        let limit = self.setup.limits[identity.key as usize - 1];
        if standing.admitted > limit || (self.setup.is_strict() && counted.admitted > limit) {
            return Err(format!("limit: {identity} has admitted {}", counted.admitted));
        }
        Ok(())
    }

    /// A counter changes when somebody counts in it, and otherwise while it is pruned.
    pub fn check_step(&self, before: &State, after: &State) -> Result<(), Complaint> {
        for index in 0..IDENTITIES {
            let (was, is) = (before.standing(index), after.standing(index));
            let (ghost, identity) = (&after.ghost, Identity::at(index));
            let is_counted = ghost.touched >> index & 1 == 1;
            if was == is || is_counted || ghost.dropped >> index & 1 == 1 {
                continue;
            }
            // Once a prune has ended it has ended.
            let is_excused = (before.ghost.excused | ghost.excused) >> index & 1 == 1;
            let may_rise = identity.expires() <= after.pruned_until;
            let may_change = is_excused
                || self.is_being_pruned(before, identity)
                || (may_rise && is.attempts >= was.attempts);
            if !may_change {
                return Err(format!("still: {identity} went from {was} to {is}, uncounted"));
            }
        }
        Ok(())
    }

    fn is_being_pruned(&self, state: &State, identity: Identity) -> bool {
        (0..).zip(&state.processes).any(|(who, process)| {
            let call = self.call_of(who, process);
            let is_pruned = matches!(call, Some(Call::Prune(past)) if identity.expires() <= past);
            is_pruned && self.is_in_a_call(process)
        })
    }

    /// When nobody is in a call, a round brings SQLite to what is counted.
    fn check_rest(&self, state: &State) -> Result<(), Complaint> {
        for (index, slot) in state.slots.iter().enumerate() {
            let Some(name) = slot.identity.index().filter(|_| slot.state.is_live()) else {
                continue;
            };
            let (identity, count) = (slot.identity, slot.state.count);
            let is_announced = state.round_under_way || state.bits >> index & 1 == 1;
            let is_past = self.setup.auto_prune && identity.expires() <= state.clock;
            if is_announced || is_past {
                continue;
            }
            let row = state.rows[name];
            let may_be_gone =
                state.ghost.dropped >> name & 1 == 1 || identity.expires() <= state.pruned_until;
            // A hit that was never answered may be told with the next one.
            let is_told = if may_be_gone {
                row.attempts + slot.orphans >= state.ghost.owed[name].attempts
            } else if slot.orphans > 0 {
                row.attempts + slot.orphans >= count.attempts
            } else {
                row == count
            };
            if !is_told {
                return Err(format!("rest: {identity} is {count}, SQLite is not told of it"));
            }
        }
        Ok(())
    }
}

fn is_between(low: Count, count: Count, high: Count) -> bool {
    (low.attempts..=high.attempts).contains(&count.attempts)
        && (low.admitted..=high.admitted).contains(&count.admitted)
}
