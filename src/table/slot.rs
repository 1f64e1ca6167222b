//! One counter of the table: two cache lines, of which short keys touch the first.

use std::sync::atomic::{Ordering, fence};

use super::identity::{Counted, Identity, IdentityWords, KeyWords, LimitName, TailWords};
use super::state::State;
use super::word::Word;

/// Invariants:
/// * The identity changes only while the tag is even, under the bucket's lock. So who has seen an odd
///   tag, then the identity, and then replaces the state he saw, counts for that identity.
/// * `mark` is the state that SQLite was last known to hold, tag included. Equal to the state, it
///   says that the row is up to date: states do not come back.
#[repr(C, align(128))]
pub(super) struct Slot {
    pub(super) state: Word,
    identity: IdentityWords,
    pub(super) mark: Word,
    tail: TailWords,
}

const _: () = assert!(size_of::<Slot>() == 128);

impl Slot {
    /// The state, if the slot is live and this one's.
    #[inline]
    pub(super) fn live(&self, identity: &Identity<'_>) -> Option<State> {
        if !self.identity.resembles(identity) {
            return None;
        }
        let state = self.state.glance();
        (state.is_live() && self.identity.are(&self.tail, identity)).then(|| {
            fence(Ordering::Acquire);
            state
        })
    }

    /// Whether it is this one's, whatever its state.
    #[inline]
    pub(super) fn is_still(&self, identity: &Identity<'_>) -> bool {
        self.identity.resembles(identity)
    }

    /// The state, if the slot is live and any window's of this client.
    pub(super) fn live_of_client(&self, limit: &LimitName, key: &KeyWords<'_>) -> Option<State> {
        let state = self.state.read();
        (state.is_live() && self.identity.are_of_client(&self.tail, limit, key)).then_some(state)
    }

    /// State and identity of one moment, if the slot is live then.
    pub(super) fn snapshot(&self) -> Option<(State, Counted)> {
        loop {
            let state = self.state.read();
            if !state.is_live() {
                return None;
            }
            let counted = self.identity.read(&self.tail);
            fence(Ordering::Acquire);
            if self.state.read().tag() == state.tag() {
                return Some((state, counted?));
            }
        }
    }

    /// Leaves no key behind in a free slot, under the bucket's lock.
    pub(super) fn erase(&self) {
        self.identity.erase(&self.tail);
    }

    /// Gives a free slot an identity, under the bucket's lock.
    pub(super) fn name(&self, identity: &Identity<'_>) {
        self.identity.write(&self.tail, identity);
    }
}
