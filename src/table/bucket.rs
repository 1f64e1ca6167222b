//! Finding a counter: 16 slots in a row, of which the first is mostly it.

use std::ops::Range;

use super::Table;
use super::identity::Identity;
use super::layout::BUCKET_SLOTS;
use super::place::Place;
use super::state::State;

/// A live slot, and its state.
pub(crate) struct Sought {
    pub(super) slot: usize,
    pub(super) state: State,
}

impl Table {
    /// Reads what a look-up will read, before the time is known: of a window that starts then, most
    /// likely.
    #[inline]
    pub(crate) fn prefetch(&self, place: Place, start_ms: i64) {
        let slot = self.slots_of(place).start + place.first(start_ms);
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = std::ptr::from_ref(&self.mapping.slots()[slot]);
            let word = std::ptr::from_ref(&self.mapping.bits()[slot / 64]);
            // SAFETY: a hint on addresses of live references; it reads nothing that is seen.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line.cast());
                _mm_prefetch::<_MM_HINT_T0>(word.cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    /// The live slot of a counter. Its state may be torn: see [`super::word::Word::glance`].
    #[inline(always)]
    pub(crate) fn find(&self, identity: &Identity<'_>) -> Option<Sought> {
        let (slots, home) = (self.mapping.slots(), identity.home());
        let (start, first) = (self.bucket_of(home) * BUCKET_SLOTS, home.first(identity.start_ms()));
        let mut at = start + first;
        for step in 1..=BUCKET_SLOTS {
            if let Some(state) = slots[at].live(identity) {
                return Some(Sought { slot: at, state });
            }
            at = start + (first + step) % BUCKET_SLOTS;
        }
        None
    }

    /// A bucket's slots, the counter's own place first.
    #[inline]
    pub(super) fn look_up_order(
        &self,
        identity: &Identity<'_>,
    ) -> impl Iterator<Item = usize> + use<> {
        let (home, start_ms) = (identity.home(), identity.start_ms());
        let (start, first) = (self.bucket_of(home) * BUCKET_SLOTS, home.first(start_ms));
        (0..BUCKET_SLOTS).map(move |step| start + (first + step) % BUCKET_SLOTS)
    }

    #[inline]
    pub(super) fn slots_of(&self, place: Place) -> Range<usize> {
        let start = self.bucket_of(place) * BUCKET_SLOTS;
        start..start + BUCKET_SLOTS
    }

    #[inline]
    pub(super) fn bucket_of(&self, place: Place) -> usize {
        place.bucket(self.mapping.layout().buckets())
    }
}
