//! How old a database's idea of its table is.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// When a database was last told what its table's transactions have come to.
#[derive(Default)]
pub(super) struct Advanced(Cell<Option<Instant>>);

impl Advanced {
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.0.get().is_none_or(|renewed| renewed.elapsed() > age)
    }

    pub(super) fn renew(&self) {
        self.0.set(Some(Instant::now()));
    }
}
