//! Taking turns with the other processes on a store.
//!
//! SQLite's write lock has no queue. A process that hits without pause leaves it free for a small
//! part of the time only, so that one which looks every 20 to 100 µs may wait for long; and a try
//! that fails holds read locks for a moment, which are in the way of others. So
//! * who waits looks whether somebody is writing before he tries again: at first for as long as a hit
//!   takes, then after each pause;
//! * who has waited for 0.2 ms stands in line, one process a store, and goes on looking where the
//!   others pause. The line is a lock on a byte of -shm that SQLite does not use: the kernel ends it
//!   with its holder;
//! * the others look at the line once in 64 uses, and let whoever stands there go first. That is a
//!   courtesy of 2 ms: a process that is stopped in the line is no outage.

use std::time::{Duration, Instant};

use crate::os::anchor::Anchor;

const STARVING: Duration = Duration::from_micros(200);
const COURTESY: Duration = Duration::from_millis(2);

/// About the time of a hit.
const SPIN: Duration = Duration::from_micros(20);

/// By the process in line.
const TRIES_WITHOUT_PAUSE: u32 = 16;

const USES_BETWEEN_LOOKS: u32 = 64;

/// Doubled for each courtesy in vain, so often at most: 16,384 uses.
const DOUBLINGS: u32 = 8;

/// This process's place among those on the store.
#[derive(Default)]
pub(super) struct Turn {
    stands_in_line: bool,
    uses_until_look: u32,
    in_vain: u32,
}

impl Turn {
    /// Whether another process should go first.
    pub(super) fn is_anothers(&mut self, anchor: Option<&Anchor>) -> bool {
        if let Some(left) = self.uses_until_look.checked_sub(1) {
            self.uses_until_look = left;
            return false;
        }
        let is_anothers = !self.stands_in_line && anchor.is_some_and(Anchor::line_is_taken);
        if !is_anothers {
            self.in_vain = 0;
        }
        self.uses_until_look = USES_BETWEEN_LOOKS << self.in_vain;
        is_anothers
    }

    /// Whether to let another process go first still, `waited` after [`Turn::is_anothers`].
    pub(super) fn is_still_anothers(&mut self, anchor: Option<&Anchor>, waited: Duration) -> bool {
        if !anchor.is_some_and(Anchor::line_is_taken) {
            self.in_vain = 0;
            return false;
        }
        if waited >= COURTESY {
            self.in_vain = (self.in_vain + 1).min(DOUBLINGS);
            return false;
        }
        true
    }

    /// Whether the next try is worth while.
    pub(super) fn has_come(&mut self, anchor: &Anchor, waiting: &Waiting) -> bool {
        if !self.stands_in_line && waiting.since.elapsed() >= STARVING {
            self.stands_in_line = anchor.stand_in_line();
        }
        if self.stands_in_line {
            // At once; but where it is no writer who is in the way, not for ever without a pause.
            let is_due = waiting.has_paused || !waiting.tries.is_multiple_of(TRIES_WITHOUT_PAUSE);
            return is_due && sees_no_writer_soon(anchor);
        }
        if waiting.tries == 1 && !waiting.has_paused {
            return !anchor.line_is_taken() && sees_no_writer_soon(anchor);
        }
        let goes_second = waiting.last_try.elapsed() < COURTESY && anchor.line_is_taken();
        waiting.has_paused && !goes_second && !anchor.sees_writer()
    }

    /// Lets the next one stand in line.
    pub(super) fn is_over(&mut self, anchor: Option<&Anchor>) {
        if std::mem::take(&mut self.stands_in_line)
            && let Some(anchor) = anchor
        {
            anchor.leave_line();
        }
    }
}

fn sees_no_writer_soon(anchor: &Anchor) -> bool {
    let begin = Instant::now();
    while anchor.sees_writer() {
        if begin.elapsed() >= SPIN {
            return false;
        }
    }
    true
}

/// A call whose tries were in vain so far.
pub(super) struct Waiting {
    since: Instant,
    last_try: Instant,
    tries: u32,
    has_paused: bool,
}

impl Waiting {
    /// After the first try.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, last_try: now, tries: 0, has_paused: false }
    }

    /// After each try.
    pub(super) fn has_tried(&mut self) {
        self.last_try = Instant::now();
        self.tries += 1;
        self.has_paused = false;
    }

    pub(super) fn has_paused(&mut self) {
        self.has_paused = true;
    }
}
