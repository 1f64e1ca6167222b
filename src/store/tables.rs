//! The shared tables that this process has mapped for one store: that in which it counts, and those
//! of before, for as long as a limiter knows them.

use std::sync::Arc;

use crate::os::mutex::Mutex;
use crate::table::{HeldProcess, Table};
use crate::window::Time;

/// To be touched only under the lock of the store's connection, which nobody holds at a fork.
#[derive(Default)]
pub(super) struct Tables(Mutex<Vec<Arc<Table>>>);

impl Tables {
    /// The one of this number, if nobody has left it.
    pub(super) fn find(&self, id: u64) -> Option<Arc<Table>> {
        let tables = self.0.lock_unbounded();
        tables.iter().find(|table| table.id() == id && !table.is_retired()).cloned()
    }

    /// Counting goes on in this one.
    pub(super) fn add(&self, table: Table) -> Arc<Table> {
        let table = Arc::new(table);
        let mut tables = self.0.lock_unbounded();
        tables.retain(|known| Arc::strong_count(known) > 1);
        tables.push(Arc::clone(&table));
        table
    }

    /// Sends this process's limiters from all others to this one, and of the same store everybody's.
    pub(super) fn leave_all_but(&self, current: &Table) {
        for other in self.0.lock_unbounded().iter().filter(|table| table.id() != current.id()) {
            if other.store_id() == current.store_id() {
                other.retire();
            }
            other.leave();
        }
    }

    /// Rows that expire until then are about to be removed.
    pub(super) fn note_pruning(&self, past: Time) {
        self.0.lock_unbounded().iter().for_each(|table| table.note_pruning(past));
    }

    pub(super) fn hold(&self) -> HeldProcesses {
        HeldProcesses(self.0.lock_unbounded().iter().map(|table| table.hold_process()).collect())
    }
}

/// This process's number on each table, as it is until this is dropped.
pub(super) struct HeldProcesses(Vec<HeldProcess>);

impl HeldProcesses {
    pub(super) fn forget(&mut self) {
        self.0.iter_mut().for_each(HeldProcess::forget);
    }
}
