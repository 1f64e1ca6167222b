//! Changing a live slot's counter: one step, and no lock.

use super::Table;
use super::bucket::Sought;
use super::identity::Identity;
use super::slot::Slot;
use super::state::State;
use crate::judge::Counter;
use crate::os::points;
use crate::units::MAX_UNITS;

/// What is done to a counter.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Attempted, and admitted if that fits so many units.
    Spend { cost: i64, limit: i64 },
    /// Attempted only.
    Refuse { cost: i64 },
    /// So many units of `admitted` given back.
    Refund { cost: i64 },
    /// Nothing: the counter is to be there.
    Keep,
}

/// A counter that was changed.
#[derive(Clone, Copy)]
pub(crate) struct Changed {
    pub(super) slot: usize,
    pub(super) after: State,
    pub(crate) before: Counter,
}

/// The slot is not this counter's any more: look for it again.
pub(crate) struct Moved;

impl Changed {
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// The units that it admitted.
    pub(super) fn admitted(&self) -> i64 {
        (self.after.counter().admitted - self.before.admitted).max(0)
    }
}

impl Step {
    #[inline]
    pub(super) fn apply(self, counter: Counter) -> Counter {
        let Counter { attempts, admitted } = counter;
        let tried = |cost: i64| attempts.saturating_add(cost).min(MAX_UNITS);
        match self {
            Self::Spend { cost, limit } if fits(counter, cost, limit) => {
                Counter { attempts: tried(cost), admitted: admitted + cost }
            }
            Self::Spend { cost, .. } | Self::Refuse { cost } => {
                Counter { attempts: tried(cost), admitted }
            }
            Self::Refund { cost } => Counter { attempts, admitted: (admitted - cost).max(0) },
            Self::Keep => counter,
        }
    }

    /// The state after `seen`, of the same life; of a new one, where a value of this life could come
    /// back: attempts that have reached their end no longer tell a fallen `admitted` from an old one.
    #[inline]
    pub(super) fn next(self, seen: State) -> State {
        let before = seen.counter();
        let after = self.apply(before);
        if after.admitted < before.admitted && before.attempts == MAX_UNITS {
            return seen.reborn(after);
        }
        seen.with(after)
    }
}

#[inline]
pub(crate) fn fits(counter: Counter, cost: i64, limit: i64) -> bool {
    counter.admitted.saturating_add(cost) <= limit
}

impl Table {
    /// Changes the counter that `seen` was found to be.
    #[inline(always)]
    pub(crate) fn change(
        &self,
        identity: &Identity<'_>,
        &Sought { slot, state: seen }: &Sought,
        step: Step,
    ) -> Result<Changed, Moved> {
        let standing = &self.mapping.slots()[slot];
        let (before, after) = replace(standing, seen, step)?;
        points::pass("hit-counted");
        // Another one's, though the life is the one that was seen: the tag went full circle while this
        // process slept. (In another life by now, it was counted before this one ended.)
        if !standing.is_still(identity) && standing.state.read().tag() == after.tag() {
            let changed = Changed { slot, after, before: before.counter() };
            self.undo(&changed);
            return Err(Moved);
        }
        self.announce(slot);
        points::pass("hit-announced");
        Ok(Changed { slot, after, before: before.counter() })
    }

    /// Takes back what a change has admitted. Its attempts stay; and so does all where attempts have
    /// reached their end. False: another life has begun.
    pub(crate) fn undo(&self, changed: &Changed) -> bool {
        self.take_back(changed.slot, changed.after, changed.admitted())
    }

    /// Spends again what a refund has given back, if `limit` has still room for it. `None`: somebody
    /// has spent it, or another life has begun.
    #[cold]
    pub(crate) fn spend_again(&self, given: &Changed, limit: i64) -> Option<Changed> {
        let standing = &self.mapping.slots()[given.slot];
        let mut seen = given.after;
        let cost = given.before.admitted - seen.counter().admitted;
        while seen.tag() == given.after.tag() && fits(seen.counter(), cost, limit) {
            let Counter { attempts, admitted } = seen.counter();
            // A new life: these are the numbers from before the refund.
            let next = seen.reborn(Counter { attempts, admitted: admitted + cost });
            match standing.state.replace(seen, next) {
                Ok(()) => {
                    self.announce(given.slot);
                    return Some(Changed { slot: given.slot, after: next, before: seen.counter() });
                }
                Err(standing) => seen = standing,
            }
        }
        None
    }

    #[cold]
    fn take_back(&self, slot: usize, of: State, cost: i64) -> bool {
        let standing = &self.mapping.slots()[slot];
        let mut seen = of;
        while cost > 0 && seen.counter().attempts < MAX_UNITS {
            if seen.tag() != of.tag() {
                return false;
            }
            let next = seen.with(Step::Refund { cost }.apply(seen.counter()));
            match standing.state.replace(seen, next) {
                Ok(()) => {
                    self.announce(slot);
                    return true;
                }
                Err(standing) => seen = standing,
            }
        }
        true
    }
}

/// The states before and after.
#[inline(always)]
fn replace(slot: &Slot, mut seen: State, step: Step) -> Result<(State, State), Moved> {
    let tag = seen.tag();
    loop {
        let next = step.next(seen);
        match slot.state.replace(seen, next) {
            Ok(()) => return Ok((seen, next)),
            Err(standing) if standing.tag() == tag => seen = standing,
            Err(_) => return Err(Moved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_changes_what_it_says() {
        let counter = Counter { attempts: 5, admitted: 3 };
        for (step, attempts, admitted) in [
            (Step::Spend { cost: 2, limit: 5 }, 7, 5),
            (Step::Spend { cost: 3, limit: 5 }, 8, 3),
            (Step::Spend { cost: MAX_UNITS, limit: MAX_UNITS }, MAX_UNITS, 3),
            (Step::Refuse { cost: 1 }, 6, 3),
            (Step::Refund { cost: 2 }, 5, 1),
            (Step::Refund { cost: MAX_UNITS }, 5, 0),
            (Step::Keep, 5, 3),
        ] {
            assert_eq!(step.apply(counter), Counter { attempts, admitted });
        }
    }

    #[test]
    fn no_state_comes_back() {
        let full = Counter { attempts: MAX_UNITS, admitted: 9 };
        let state = State::from_word(0).reborn(full);
        let refunded = Step::Refund { cost: 1 }.next(state);
        assert_ne!(refunded.tag(), state.tag());
        assert_eq!(refunded.counter().admitted, 8);
        let spent = Step::Spend { cost: 1, limit: 9 }.next(refunded);
        assert_eq!(spent.counter(), full);
        assert_ne!(spent, state);
    }
}
