//! The table's file: what stands where, in the order of the offsets.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use super::slot::Slot;

/// Slots that a key can stand in. A look-up reads the first words of these at most.
pub(super) const BUCKET_SLOTS: usize = 16;

/// Processes that can claim slots at one time.
pub(super) const PROCESSES: usize = 4096;

/// Locks under which slots are claimed, each for every 1024th bucket.
const STRIPES: usize = 1024;

/// "rlTable" and the version of this layout. Another one is another file.
pub(super) const MAGIC: u64 = 0x0165_6C62_6154_6C72;

/// 100,000 live keys and their previous windows: 33 MiB.
pub(crate) const DEFAULT_SLOTS: u64 = 1 << 18;

/// The first page. What never changes stands in its first line.
#[repr(C, align(4096))]
pub(super) struct Header {
    pub(super) magic: AtomicU64,
    pub(super) slots: AtomicU64,
    pub(super) table_id: AtomicU64,
    pub(super) store_id: AtomicU64,
    pub(super) boot_id: [AtomicU64; 2],
    /// Rows of windows that begin later were written from this table.
    pub(super) first_start_ms: AtomicI64,
    _unused: AtomicU64,
    pub(super) hot: Hot,
    pub(super) rounds: Rounds,
}

/// What every hit looks at; written a few times in an interval.
#[repr(C, align(64))]
pub(super) struct Hot {
    /// Not 0: nobody counts here any more.
    pub(super) retired: AtomicU64,
    /// Wall clock.
    pub(super) next_round_ms: AtomicI64,
}

/// What those look at who write to SQLite.
#[repr(C, align(64))]
pub(super) struct Rounds {
    pub(super) writer: LockWord,
    /// Not 0 while a round is under way: who finds it so, without a writer, finds a dead one's.
    pub(super) is_under_way: AtomicU64,
    /// The word of the bitmap at which the sweep goes on.
    pub(super) cursor: AtomicU64,
    pub(super) sweep_began_ms: AtomicI64,
    /// When the last sweep began that came to its end.
    pub(super) swept_ms: AtomicI64,
    /// Numbers of the last transactions that were begun and committed.
    pub(super) sequence_begun: AtomicU64,
    pub(super) sequence_done: AtomicU64,
    /// Somebody asked for the removal of rows that expire until then, so that a mark does not tell
    /// of a row any more.
    pub(super) pruned_until_ms: AtomicI64,
    /// The code of the last round's failure; 0 after a success.
    pub(super) failure: AtomicI64,
}

#[repr(C, align(64))]
pub(super) struct Stripe {
    pub(super) lock: LockWord,
    /// How often counters were forgotten here: by resets, which are about to take them out.
    pub(super) forgotten: AtomicU64,
}

/// 0: free. Else the owner's number and incarnation.
#[repr(transparent)]
pub(super) struct LockWord(pub(super) AtomicU64);

/// How many of each the file has, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) slots: usize,
}

impl Layout {
    /// `None` for a number of slots that no table has.
    pub(super) fn new(slots: u64) -> Option<Self> {
        let slots = usize::try_from(slots).ok()?;
        let fits = slots > 0 && slots.is_multiple_of(BUCKET_SLOTS) && slots <= 1 << 33;
        fits.then_some(Self { slots })
    }

    /// The least number of slots that holds so many.
    pub(super) fn round_up(slots: u64) -> u64 {
        slots.max(1).next_multiple_of(BUCKET_SLOTS as u64)
    }

    pub(super) fn buckets(self) -> usize {
        self.slots / BUCKET_SLOTS
    }

    /// Words of the announce bitmap.
    pub(super) fn bit_words(self) -> usize {
        self.slots.div_ceil(64)
    }

    pub(super) fn incarnations(self) -> Region<AtomicU32> {
        Region::after(size_of::<Header>(), PROCESSES)
    }

    pub(super) fn stripes(self) -> Region<Stripe> {
        Region::after(self.incarnations().end(), STRIPES)
    }

    pub(super) fn spills(self) -> Region<AtomicI64> {
        Region::after(self.stripes().end(), self.buckets())
    }

    pub(super) fn bits(self) -> Region<AtomicU64> {
        Region::after(self.spills().end(), self.bit_words())
    }

    pub(super) fn slot_region(self) -> Region<Slot> {
        Region::after(self.bits().end(), self.slots)
    }

    pub(super) fn bytes(self) -> usize {
        self.slot_region().end().next_multiple_of(PAGE)
    }
}

const PAGE: usize = 4096;

/// `length` values of a kind, beginning at an offset that suits them.
pub(super) struct Region<T> {
    pub(super) offset: usize,
    pub(super) length: usize,
    _kind: std::marker::PhantomData<T>,
}

impl<T> Region<T> {
    /// On a page of its own.
    fn after(end: usize, length: usize) -> Self {
        Self { offset: end.next_multiple_of(PAGE), length, _kind: std::marker::PhantomData }
    }

    fn end(&self) -> usize {
        self.offset + self.length * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_takes_33_mib() {
        let layout = Layout::new(DEFAULT_SLOTS).unwrap();
        assert_eq!(layout.bytes().div_ceil(1 << 20), 33);
    }

    #[test]
    fn regions_follow_each_other() {
        for slots in [16, 256, 1 << 12, (1 << 20) + 16] {
            let layout = Layout::new(slots).unwrap();
            let ends = [
                layout.incarnations().end(),
                layout.stripes().end(),
                layout.spills().end(),
                layout.bits().end(),
                layout.slot_region().end(),
            ];
            assert!(ends.is_sorted() && ends[4] <= layout.bytes());
            assert!(layout.slot_region().offset.is_multiple_of(align_of::<Slot>()));
        }
        for slots in [0, 15, 17, u64::MAX] {
            assert!(Layout::new(slots).is_none());
        }
        assert_eq!([0, 1, 16, 17].map(Layout::round_up), [16, 16, 16, 32]);
    }
}
