//! Which slots may hold what SQLite does not: a bit a slot.
//!
//! Dekker's pattern: a hit counts, then looks at the bit; who writes clears the bit, then reads the
//! count. Each side's two steps are sequentially consistent, so one of them sees the other's.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::mapping::Mapping;

/// After a change of the slot, never before.
#[inline]
pub(super) fn announce(mapping: &Mapping, slot: usize) {
    let (word, bit) = (&mapping.bits()[slot / 64], 1 << (slot % 64));
    if word.load(Ordering::SeqCst) & bit == 0 {
        word.fetch_or(bit, Ordering::SeqCst);
    }
}

/// Slots whose bits were cleared. Unless they are written, their bits are set again.
pub(super) struct Taken<'a> {
    mapping: &'a Mapping,
    words: Vec<(usize, u64)>,
}

impl<'a> Taken<'a> {
    /// Clears the bits of about `at_most` slots from a word of the bitmap on. Returns where to go on.
    pub(super) fn from(mapping: &'a Mapping, start: usize, at_most: usize) -> (Self, usize) {
        let bits = mapping.bits();
        let (mut words, mut count, mut at) = (Vec::new(), 0, start.min(bits.len()));
        while at < bits.len() && count < at_most {
            if bits[at].load(Ordering::Relaxed) != 0 {
                let taken = bits[at].swap(0, Ordering::SeqCst);
                count += taken.count_ones() as usize;
                words.push((at, taken));
            }
            at += 1;
        }
        // The counts are read with less than sequential consistency.
        fence(Ordering::SeqCst);
        (Self { mapping, words }, at)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.words.iter().flat_map(|&(word, bits)| slots_in(word, bits))
    }

    /// They are written, or need not be.
    pub(super) fn settle(mut self) {
        self.words.clear();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for &(word, bits) in &self.words {
            self.mapping.bits()[word].fetch_or(bits, Ordering::SeqCst);
        }
    }
}

/// The slots that are announced.
pub(super) fn slots(bits: &[AtomicU64]) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(at, word)| slots_in(at, word.load(Ordering::Relaxed)))
}

fn slots_in(word: usize, bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
}
