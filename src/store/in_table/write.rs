//! Bringing SQLite up to date, on the way of a hit or for its own sake.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{InTable, Result};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::error::{Code, Error};
use crate::os::call::Call;
use crate::store::access::Access;
use crate::store::written::Occasion;
use crate::table::Trouble;
use crate::window::Time;

/// A store that was deleted or replaced is noticed within a second.
const LOOK_EVERY_MS: i64 = 500;

/// The longest that a hit waits for SQLite's write lock in order to write for all.
const ROUND_PATIENCE: Duration = Duration::from_millis(20);

impl InTable {
    pub(in crate::store) fn write_all(
        &self,
        access: &Access,
        occasion: Occasion,
        deadline: &Deadline,
    ) -> Result<()> {
        let _call = Call::enter(deadline)?;
        let written = self
            .table
            .begin_round(deadline)
            .and_then(|round| round.write_all(&self.rows(access, deadline, occasion)));
        self.note(&written);
        written
    }

    /// Writes for all, if that is due.
    #[inline]
    pub(super) fn write_if_due(&self, access: &Access, when: When, now: Time) {
        let wall_ms = wall_ms(when, now);
        if self.table.round_is_due(wall_ms, self.interval_ms) {
            self.write_some(access, Occasion::Hit(now), wall_ms);
        } else if self.look_is_due(wall_ms) {
            self.look_at_store(access, wall_ms);
        }
    }

    /// As [`InTable::write_if_due`], for what is no hit.
    pub(in crate::store) fn write_by_the_way(&self, access: &Access, occasion: Occasion) {
        let wall_ms = clock::wall_ms();
        if self.table.round_is_due(wall_ms, self.interval_ms) {
            self.write_some(access, occasion, wall_ms);
        }
    }

    /// For those who count nothing.
    pub(super) fn look_if_due(&self, access: &Access, when: When, now: Time) {
        let wall_ms = wall_ms(when, now);
        if self.look_is_due(wall_ms) {
            self.look_at_store(access, wall_ms);
        }
    }

    /// A time that is further away than it can be was set by a clock that stepped back since.
    #[inline]
    fn look_is_due(&self, wall_ms: i64) -> bool {
        let next = self.next_look_ms.load(Ordering::Relaxed);
        next.wrapping_sub(1).wrapping_sub(wall_ms) as u64 >= LOOK_EVERY_MS as u64
    }

    /// Whether the store still stands at its path, and counts here: nothing else tells a process that
    /// finds all it asks for in memory. What it cannot find out is not the failure of the call that is
    /// here by chance.
    #[cold]
    fn look_at_store(&self, access: &Access, wall_ms: i64) {
        self.next_look_ms.store(wall_ms.saturating_add(LOOK_EVERY_MS), Ordering::Relaxed);
        let deadline = Deadline::after(access.busy_timeout.min(ROUND_PATIENCE));
        let _ = Call::enter(&deadline)
            .map_err(Trouble::from)
            .and_then(|_call| self.rows(access, &deadline, Occasion::Call).look());
    }

    /// What fails here is not the failure of the hit that is here by chance; the lag tells of it.
    #[cold]
    pub(super) fn write_some(&self, access: &Access, occasion: Occasion, wall_ms: i64) {
        if !self.table.is_elected(wall_ms, self.interval_ms) {
            return;
        }
        let deadline = Deadline::after(access.busy_timeout.min(ROUND_PATIENCE));
        let written = Call::enter(&deadline).map_err(Trouble::from).and_then(|_call| {
            match self.table.try_begin_round(&deadline)? {
                Some(round) => {
                    round.carry(&self.rows(access, &deadline, occasion), self.interval_ms)
                }
                None => Err(still_at_it().into()),
            }
        });
        self.note(&written);
    }

    pub(super) fn note(&self, written: &Result<()>) {
        match written {
            Ok(()) => self.table.note_round(0),
            Err(Trouble::Failed(error)) => self.table.note_round(error.code() as i32),
            // It may be that its file has gone: others cannot tell this process.
            Err(Trouble::Retired) => self.table.leave(),
        }
    }

    pub(in crate::store) fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms as u64)
    }
}

#[inline]
fn wall_ms(when: When, now: Time) -> i64 {
    match when {
        When::Now => now.millis(),
        When::At(_) => clock::wall_ms(),
    }
}

fn still_at_it() -> Error {
    let message =
        "another process is still writing what was due before: it is stopped, or the disk slow";
    Error::new(Code::Busy, message)
}
