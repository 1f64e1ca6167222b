//! Who writes to SQLite, and when: the hit that finds a round due, if nobody else is at it.
//!
//! A sweep goes once over the bitmap, in rounds of some thousand slots. Between two rounds of a sweep
//! is a pause of seven times a round's duration, so that writing takes an eighth of the time at most;
//! a sweep begins an interval after the last one began.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::announce::Taken;
use super::lock::Held;
use super::{Rows, Table, Trouble};
use crate::clock::wall_ms;
use crate::deadline::Deadline;
use crate::os::points;

/// As many rows as take some milliseconds: with fewer at once more hits would wait, since each round is
/// carried by one.
const SLOTS_AT_ONCE: usize = 2048;

const PAUSE_FACTOR: u32 = 7;

/// The right to write, for one round or more.
pub(crate) struct Round<'a> {
    table: &'a Table,
    _held: Held<'a>,
}

/// How far a round has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    SweepDone,
}

/// How far SQLite lags behind.
pub(crate) struct Lag {
    pub(crate) unwritten: u64,
    /// When the last whole sweep began; 0 before the first.
    pub(crate) swept_ms: i64,
    /// The code of the last round's failure.
    pub(crate) failure: i32,
}

impl Table {
    /// Whether a round is due by the wall clock, for somebody of this interval. A time that is
    /// further away than that was set by a clock that stepped back since, or by a longer interval.
    #[inline]
    pub(crate) fn round_is_due(&self, now_ms: i64, interval_ms: i64) -> bool {
        let next = self.mapping.header().hot.next_round_ms.load(Ordering::Relaxed);
        next.wrapping_sub(1).wrapping_sub(now_ms) as u64 >= interval_ms as u64
    }

    /// Whether this thread is to make the round that is due.
    pub(crate) fn is_elected(&self, now_ms: i64, interval_ms: i64) -> bool {
        let next_round = &self.mapping.header().hot.next_round_ms;
        let next = next_round.load(Ordering::Relaxed);
        let is_elected = self.round_is_due(now_ms, interval_ms)
            && next_round
                .compare_exchange(next, now_ms + interval_ms, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if is_elected {
            points::pass("flush-elected");
        }
        is_elected
    }

    /// The right to write, if nobody has it.
    pub(crate) fn try_begin_round(
        &self,
        deadline: &Deadline,
    ) -> Result<Option<Round<'_>>, Trouble> {
        let writer = &self.mapping.header().rounds.writer;
        let held = writer.try_lock(&self.mapping, &self.process, deadline)?;
        Ok(held.map(|held| self.round(held)))
    }

    /// The right to write, for which to wait.
    pub(crate) fn begin_round(&self, deadline: &Deadline) -> Result<Round<'_>, Trouble> {
        let writer = &self.mapping.header().rounds.writer;
        Ok(self.round(writer.lock(&self.mapping, &self.process, deadline)?))
    }

    fn round<'a>(&'a self, held: Held<'a>) -> Round<'a> {
        let round = Round { table: self, _held: held };
        points::pass("flush-locked");
        if self.mapping.header().rounds.is_under_way.swap(1, Ordering::AcqRel) != 0 {
            // Who was at it has died, perhaps with bits that he had cleared.
            for slot in 0..self.mapping.slots().len() {
                if self.mapping.slots()[slot].state.read().is_live() {
                    self.announce(slot);
                }
            }
        }
        round
    }

    pub(crate) fn lag(&self) -> Lag {
        let rounds = &self.mapping.header().rounds;
        Lag {
            unwritten: self.unwritten(),
            swept_ms: rounds.swept_ms.load(Ordering::Relaxed),
            failure: rounds.failure.load(Ordering::Relaxed) as i32,
        }
    }

    /// What came of a round, for whoever asks about the lag: the code of a failure, or 0.
    pub(crate) fn note_round(&self, code: i32) {
        self.mapping.header().rounds.failure.store(i64::from(code), Ordering::Relaxed);
    }
}

impl Round<'_> {
    /// One round, as part of a sweep, and when the next is due.
    pub(crate) fn carry(self, rows: &dyn Rows, interval_ms: i64) -> Result<(), Trouble> {
        let begin = Instant::now();
        let progress = self.write_some(rows)?;
        let rounds = &self.table.mapping.header().rounds;
        let next_ms = match progress {
            Progress::SweepDone => {
                rounds.sweep_began_ms.load(Ordering::Relaxed).saturating_add(interval_ms)
            }
            Progress::More => {
                let pause = begin.elapsed() * PAUSE_FACTOR + Duration::from_millis(1);
                wall_ms().saturating_add(pause.as_millis() as i64)
            }
        };
        self.table.mapping.header().hot.next_round_ms.store(next_ms, Ordering::Release);
        Ok(())
    }

    /// Everything that is announced by now.
    pub(crate) fn write_all(&self, rows: &dyn Rows) -> Result<(), Trouble> {
        self.table.mapping.header().rounds.cursor.store(0, Ordering::Relaxed);
        while self.write_some(rows)? == Progress::More {}
        Ok(())
    }

    fn write_some(&self, rows: &dyn Rows) -> Result<Progress, Trouble> {
        let mapping = &self.table.mapping;
        let rounds = &mapping.header().rounds;
        let start = rounds.cursor.load(Ordering::Relaxed);
        if start == 0 {
            rounds.sweep_began_ms.store(wall_ms(), Ordering::Relaxed);
        }
        let (taken, end) = Taken::from(mapping, start as usize, SLOTS_AT_ONCE);
        points::pass("flush-bits-cleared");
        let slots: Vec<_> = taken.slots().collect();
        if self.table.any_unwritten(&slots) {
            rows.write(&slots)?;
        }
        taken.settle();
        if end < mapping.bits().len() {
            rounds.cursor.store(end as u64, Ordering::Relaxed);
            return Ok(Progress::More);
        }
        rounds.cursor.store(0, Ordering::Relaxed);
        rounds.swept_ms.store(rounds.sweep_began_ms.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(Progress::SweepDone)
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        // The bits of what was not written are set again by now.
        self.table.mapping.header().rounds.is_under_way.store(0, Ordering::Release);
    }
}
