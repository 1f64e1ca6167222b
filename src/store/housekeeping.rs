//! What hits remove for the rows that they add, so that a store in steady use shrinks to its live
//! rows without a pruner.

use std::cell::Cell;

/// More than one, else a store would never shrink.
const ROWS_PER_NEW_ROW: usize = 2;

/// So many at a time: removing costs a transaction of its own, after the hit's.
const ROWS_AT_ONCE: usize = 16;

/// The rows that a connection's hits have still to remove.
pub(super) struct Debt(Cell<usize>);

impl Default for Debt {
    /// Due at the first new row, so that processes of a single hit pay too.
    fn default() -> Self {
        Self(Cell::new(ROWS_AT_ONCE))
    }
}

impl Debt {
    /// Notes rows that a hit has added, and says how many expired ones to remove now.
    pub(super) fn incur(&self, rows_added: usize) -> Option<i64> {
        if rows_added == 0 {
            return None;
        }
        let owed = self.0.get().saturating_add(rows_added * ROWS_PER_NEW_ROW);
        let is_due = owed >= ROWS_AT_ONCE;
        self.0.set(if is_due { 0 } else { owed });
        is_due.then_some(owed as i64)
    }
}
