//! Bringing SQLite up to date, on the way of a hit or for its own sake.

use std::time::Duration;

use super::{InTable, Result};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::os::call::Call;
use crate::store::access::Access;
use crate::store::written::Occasion;
use crate::table::Trouble;
use crate::window::Time;

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
        let wall_ms = match when {
            When::Now => now.millis(),
            When::At(_) => clock::now().map_or(0, |now| now.millis()),
        };
        if self.table.round_is_due(wall_ms, self.interval_ms) {
            self.write_some(access, Occasion::Hit(now), wall_ms);
        }
    }

    /// As part of the last close of a process.
    pub(in crate::store) fn write_at_close(&self, access: &Access, wall: Time) {
        if self.table.round_is_due(wall.millis(), self.interval_ms) {
            self.write_some(access, Occasion::Close, wall.millis());
        }
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
                None => Ok(()),
            }
        });
        self.note(&written);
    }

    pub(super) fn note(&self, written: &Result<()>) {
        match written {
            Ok(()) => self.table.note_round(0),
            Err(Trouble::Failed(error)) => self.table.note_round(error.code() as i32),
            Err(Trouble::Retired) => {}
        }
    }

    pub(in crate::store) fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms as u64)
    }
}
