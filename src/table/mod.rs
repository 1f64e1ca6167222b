//! The shared table: live windows, counted in memory that every process on a store has mapped, one
//! atomic step a hit. SQLite holds the durable copy, written in batches by the hits themselves.
//!
//! One sentence carries the rest: a live slot is the only authority for its counter; SQLite only
//! ever receives whole values read from slots under its write lock; a slot leaves the table only
//! from a value that SQLite already holds, or that pruning would delete. So no step needs repair
//! after a death.
//!
//! * [`slot`] is one counter: a [`word`] of 128 bits holds its [`state`], beside it its [`identity`];
//! * [`count`] changes a live one; [`bucket`] finds it, [`claim`] makes it, under a [`lock`] whose
//!   owner's life the kernel vouches for ([`process`]);
//! * [`announce`] tells what SQLite lacks, [`write`] and [`round`] bring it there;
//! * [`life`] opens and makes the file, of which [`layout`] says what stands where and [`mapping`]
//!   makes references.
//!
//! It knows nothing of SQL: what it needs of a store is [`Rows`].

#![allow(unsafe_code)]

mod announce;
mod bucket;
mod claim;
mod count;
mod forget;
mod identity;
mod layout;
pub(crate) mod life;
mod lock;
mod mapping;
pub(crate) mod place;
mod process;
mod round;
mod slot;
mod state;
mod word;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::judge::Counter;

pub(crate) use claim::Claimed;
pub(crate) use count::{Changed, Moved, Step, fits};
pub(crate) use identity::{Identity, KeyWords, LimitName};
pub(crate) use process::HeldProcess;
pub(crate) use write::{Flushed, Written};

/// A table that this process has mapped.
pub(crate) struct Table {
    mapping: mapping::Mapping,
    process: process::Process,
    id: u64,
    store_id: u64,
    /// Whether this process counts here no longer, be it that others do.
    is_left: AtomicBool,
}

/// Why the table could not answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// This process counts in another table by now, or in none: attach again.
    Retired,
    Failed(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What the table asks of its store.
pub(crate) trait Rows {
    /// The row of a counter that no slot holds; zero where there is none.
    fn read(&self, identity: &Identity<'_>) -> Result<Counter, Trouble>;

    /// Writes these slots, as they are under the write lock, in one transaction.
    fn write(&self, slots: &[usize]) -> Result<Flushed, Trouble>;

    /// Whether expired counters may go unwritten.
    fn drops_expired(&self) -> bool;
}

impl Table {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Of the store whose counters these are.
    pub(crate) fn store_id(&self) -> u64 {
        self.store_id
    }

    pub(crate) fn slots(&self) -> u64 {
        self.mapping.layout().slots as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.mapping.layout().bytes() as u64
    }

    #[inline]
    pub(crate) fn is_retired(&self) -> bool {
        self.mapping.header().hot.retired.load(Ordering::Relaxed) != 0
            || self.is_left.load(Ordering::Relaxed)
    }

    /// Sends this process to look where its store counts by now.
    pub(crate) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    /// Sends every process that counts here to look where the store counts by now.
    pub(crate) fn retire(&self) {
        self.mapping.header().hot.retired.store(1, Ordering::Release);
    }

    #[inline]
    fn announce(&self, slot: usize) {
        announce::announce(&self.mapping, slot);
    }

    /// Keeps this process's number as it is until the guard is dropped.
    pub(crate) fn hold_process(&self) -> HeldProcess {
        self.process.hold()
    }
}
