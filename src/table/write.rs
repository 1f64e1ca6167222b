//! What SQLite is to be told of slots.

use std::sync::atomic::Ordering;

use super::identity::Counted;
use super::slot::Slot;
use super::state::State;
use super::{Table, announce};
use crate::judge::Counter;
use crate::os::points;
use crate::window::Time;

/// A slot as it was under SQLite's write lock.
pub(crate) struct Unwritten {
    slot: usize,
    state: State,
    pub(crate) counted: Counted,
    /// Zero: the counter was reset, and has no row.
    pub(crate) counter: Counter,
    /// Whether there is a row of it.
    pub(crate) has_row: bool,
}

/// Slots in a transaction. Once that is committed they are marked.
pub(crate) struct Written<'a> {
    table: &'a Table,
    slots: Vec<Unwritten>,
}

impl Table {
    /// Whether SQLite holds the slot's value, as far as the slot knows.
    pub(super) fn is_clean(&self, slot: &Slot) -> bool {
        slot.mark.read_whole() == slot.state.read_whole()
            && slot
                .snapshot()
                .is_none_or(|(_, counted)| counted.expires_ms() > self.pruned_until_ms())
    }

    /// About how many slots SQLite does not hold as they are.
    pub(super) fn unwritten(&self) -> u64 {
        let announced = announce::slots(self.mapping.bits());
        announced.filter(|&slot| self.any_unwritten(&[slot])).count() as u64
    }

    /// Whether there is anything to write of these slots.
    pub(crate) fn any_unwritten(&self, slots: &[usize]) -> bool {
        slots.iter().any(|&slot| {
            let slot = &self.mapping.slots()[slot];
            slot.state.read().is_live() && !self.is_clean(slot)
        })
    }

    /// Reads what is to be written of these slots. UNDER SQLite's write lock: then the values of a row
    /// follow the slot's own, whoever writes, however long somebody stops. Counters that expired
    /// until `past` are left out.
    pub(crate) fn read_unwritten(&self, slots: &[usize], past: Option<Time>) -> Written<'_> {
        let is_past =
            |counted: &Counted| past.is_some_and(|past| counted.expires_ms() <= past.millis());
        let unwritten = slots.iter().filter_map(|&slot| {
            let standing = &self.mapping.slots()[slot];
            let (state, counted) = standing.snapshot()?;
            let mark = standing.mark.read_whole();
            let is_clean = mark == state && self.is_clean(standing);
            (!is_clean && !is_past(&counted)).then(|| Unwritten {
                slot,
                state,
                counted,
                counter: state.counter(),
                has_row: tells_of_row(mark),
            })
        });
        let written = Written { table: self, slots: unwritten.collect() };
        points::pass("flush-states-read");
        written
    }

    /// As [`Table::read_unwritten`], whether or not it is written.
    pub(crate) fn read_all(&self, slots: &[usize]) -> Written<'_> {
        let all = slots.iter().filter_map(|&slot| {
            let (state, counted) = self.mapping.slots()[slot].snapshot()?;
            Some(Unwritten { slot, state, counted, counter: state.counter(), has_row: false })
        });
        Written { table: self, slots: all.collect() }
    }

    /// The number of the last transaction that is known to be committed. Read before a database's own
    /// number, and [`Table::sequence_begun`] after that, it tells whether the database is this table's:
    /// its number lies between them.
    pub(crate) fn sequence_done(&self) -> u64 {
        self.mapping.header().rounds.sequence_done.load(Ordering::SeqCst)
    }

    /// The number of the last transaction that was begun.
    pub(crate) fn sequence_begun(&self) -> u64 {
        self.mapping.header().rounds.sequence_begun.load(Ordering::SeqCst)
    }

    /// BEFORE a transaction of this number is committed: a database that holds it is this table's.
    pub(crate) fn note_begun(&self, sequence: u64) {
        self.mapping.header().rounds.sequence_begun.store(sequence, Ordering::Release);
        points::pass("flush-seq-noted");
    }

    pub(crate) fn note_done(&self, sequence: u64) {
        self.mapping.header().rounds.sequence_done.store(sequence, Ordering::Release);
    }
}

/// What a transaction has stored of slots.
#[derive(Default)]
pub(crate) struct Flushed(Vec<(usize, State)>);

impl Flushed {
    pub(super) fn has(&self, slot: usize, state: State) -> bool {
        self.0.contains(&(slot, state))
    }
}

/// Whether a mark says that its counter has a row, be it in an earlier life of the same identity.
pub(super) fn tells_of_row(mark: State) -> bool {
    mark.is_live() && mark.counter() != Counter::default()
}

impl Written<'_> {
    pub(crate) fn slots(&self) -> &[Unwritten] {
        &self.slots
    }

    /// After the commit.
    pub(crate) fn mark(self) -> Flushed {
        points::pass("flush-committed");
        for (index, written) in self.slots.iter().enumerate() {
            self.table.mapping.slots()[written.slot].mark.put(written.state);
            if index == 0 {
                points::pass("flush-half-marked");
            }
        }
        Flushed(self.slots.iter().map(|written| (written.slot, written.state)).collect())
    }
}
