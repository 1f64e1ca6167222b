//! What a slot holds, in one word: so a hit is one step, and counts come without gap or duplicate.

use crate::judge::Counter;

/// Tag 22 bits, attempts 53, admitted 53, high to low: the boundary of the halves is in attempts.
///
/// Invariant: within a life (one tag) no value ever comes back. Attempts never fall, and admitted
/// falls only while attempts can still grow past it. So who has seen a value and sees it again has
/// missed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    high: u64,
    low: u64,
}

const UNIT_BITS: u32 = 53;
const UNITS: u64 = (1 << UNIT_BITS) - 1;

/// Of attempts: so many bits are in the low half, the rest in the high half.
const LOW_ATTEMPTS_BITS: u32 = u64::BITS - UNIT_BITS;
const HIGH_ATTEMPTS_BITS: u32 = UNIT_BITS - LOW_ATTEMPTS_BITS;
const HIGH_ATTEMPTS: u64 = (1 << HIGH_ATTEMPTS_BITS) - 1;

/// The number of a slot's life: odd while the slot is live, even while it is free. It goes full circle
/// after 2^21 lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

impl Tag {
    const BITS: u32 = 22;
    const MASK: u32 = (1 << Self::BITS) - 1;

    #[inline]
    pub(super) fn is_live(self) -> bool {
        self.0 & 1 == 1
    }

    /// Of the free slot after a live one, or the other way round.
    pub(super) fn next(self) -> Self {
        Self((self.0 + 1) & Self::MASK)
    }
}

impl State {
    #[inline]
    pub(super) fn new(tag: Tag, counter: Counter) -> Self {
        let (attempts, admitted) =
            (counter.attempts as u64 & UNITS, counter.admitted as u64 & UNITS);
        Self {
            high: u64::from(tag.0) << HIGH_ATTEMPTS_BITS | attempts >> LOW_ATTEMPTS_BITS,
            low: attempts << UNIT_BITS | admitted,
        }
    }

    #[inline]
    pub(super) fn from_halves(high: u64, low: u64) -> Self {
        Self { high, low }
    }

    #[inline]
    pub(super) fn from_word(word: u128) -> Self {
        Self { high: (word >> 64) as u64, low: word as u64 }
    }

    #[inline]
    pub(super) fn word(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// Tag and most of attempts.
    #[inline]
    pub(super) fn high(self) -> u64 {
        self.high
    }

    #[inline]
    pub(super) fn tag(self) -> Tag {
        Tag((self.high >> HIGH_ATTEMPTS_BITS) as u32)
    }

    #[inline]
    pub(super) fn counter(self) -> Counter {
        let attempts = (self.high & HIGH_ATTEMPTS) << LOW_ATTEMPTS_BITS | self.low >> UNIT_BITS;
        Counter { attempts: attempts as i64, admitted: (self.low & UNITS) as i64 }
    }

    #[inline]
    pub(super) fn is_live(self) -> bool {
        self.tag().is_live()
    }

    /// The same life with another counter.
    #[inline]
    pub(super) fn with(self, counter: Counter) -> Self {
        Self::new(self.tag(), counter)
    }

    /// The free slot after this life.
    pub(super) fn freed(self) -> Self {
        Self::new(self.tag().next(), Counter::default())
    }

    /// A new life with this counter: after a free slot, or of a live one that keeps its identity.
    pub(super) fn reborn(self, counter: Counter) -> Self {
        let next = self.tag().next();
        Self::new(if next.is_live() { next } else { next.next() }, counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MAX_UNITS;

    #[test]
    fn the_whole_range_of_units_fits() {
        for (attempts, admitted) in [(0, 0), (1, 0), (MAX_UNITS, MAX_UNITS), (MAX_UNITS, 7)] {
            for tag in [0, 1, 5, Tag::MASK] {
                let counter = Counter { attempts, admitted };
                let state = State::from_word(State::new(Tag(tag), counter).word());
                assert_eq!((state.tag(), state.counter()), (Tag(tag), counter));
            }
        }
    }

    #[test]
    fn lives_and_free_times_take_turns() {
        let mut state = State::from_word(0);
        let counter = Counter { attempts: 2, admitted: 1 };
        for _ in 0..=1 << (Tag::BITS - 1) {
            assert!(!state.is_live());
            let live = state.reborn(counter);
            assert!(live.is_live() && live.counter() == counter);
            let again = live.reborn(Counter::default());
            assert!(again.is_live() && again.tag() != live.tag());
            state = live.freed();
            assert_eq!(state.counter(), Counter::default());
        }
    }
}
