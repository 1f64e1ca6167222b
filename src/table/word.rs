//! A word of 128 bits in the mapping: changed as one, read in halves.

use std::sync::atomic::{AtomicU64, Ordering};

use portable_atomic::AtomicU128;

use super::state::State;

/// Changed only as a whole. Its halves are read one by one: a read of the whole would be a write on
/// most machines, which costs others the cache line.
#[repr(C, align(16))]
pub(super) struct Word {
    #[cfg(target_endian = "little")]
    low: AtomicU64,
    high: AtomicU64,
    #[cfg(target_endian = "big")]
    low: AtomicU64,
}

/// Whether this machine changes such a word in one step.
pub(super) fn is_supported() -> bool {
    AtomicU128::is_lock_free()
}

impl Word {
    #[inline]
    fn whole(&self) -> &AtomicU128 {
        // SAFETY: 16 bytes, aligned to 16, of which every pattern is a value; both types allow
        // others to change them meanwhile, and the borrow is that of `self`.
        unsafe { &*std::ptr::from_ref(self).cast::<AtomicU128>() }
    }

    /// A value that the word has had during this call, if it is a slot's state: the high half, tag and
    /// most of attempts, never comes back within a life.
    pub(super) fn read(&self) -> State {
        loop {
            let state = self.glance();
            if self.high.load(Ordering::Relaxed) == state.high() {
                return state;
            }
        }
    }

    /// The value at one moment, whatever the word holds. Takes the cache line from others.
    pub(super) fn read_whole(&self) -> State {
        State::from_word(self.whole().load(Ordering::SeqCst))
    }

    /// Perhaps the halves of two values. Good enough to try [`Word::replace`] with.
    #[inline]
    pub(super) fn glance(&self) -> State {
        let high = self.high.load(Ordering::Acquire);
        let low = self.low.load(Ordering::Acquire);
        State::from_halves(high, low)
    }

    /// Puts `new` in the place of `seen`, or says what stands there.
    #[inline]
    pub(super) fn replace(&self, seen: State, new: State) -> Result<(), State> {
        self.whole()
            .compare_exchange(seen.word(), new.word(), Ordering::SeqCst, Ordering::SeqCst)
            .map(drop)
            .map_err(State::from_word)
    }

    /// Whatever stood there.
    pub(super) fn put(&self, new: State) {
        self.whole().store(new.word(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Counter;

    #[test]
    fn both_halves_are_those_of_the_whole() {
        let word = Word { low: AtomicU64::new(0), high: AtomicU64::new(0) };
        let state = word.read().reborn(Counter { attempts: (1 << 53) - 1, admitted: 1 << 52 });
        assert!(word.replace(state, state).is_err());
        assert!(word.replace(State::from_word(0), state).is_ok());
        assert_eq!((word.read(), word.glance()), (state, state));
        word.put(state.freed());
        assert_eq!(word.read(), state.freed());
    }
}
