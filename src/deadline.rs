//! How long one call may wait, for everything it waits for taken together.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shortest and the longest pause between two tries. Short and uneven, so that no waiter is
/// locked out by another's rhythm: SQLite's own back-off (1, 2, 5 … 100 ms) starved 7 of 8 writers.
const PAUSE_MIN_US: u64 = 20;
const PAUSE_MAX_US: u64 = 100;

/// The time a call may spend waiting. It starts to run at the first wait, so that a call that
/// never waits never reads the clock for it.
pub(crate) struct Deadline {
    patience: Duration,
    end: Cell<Option<Instant>>,
}

impl Deadline {
    /// A deadline that lies `patience` after the first wait; zero means "never wait".
    pub(crate) fn after(patience: Duration) -> Self {
        Self { patience, end: Cell::new(None) }
    }

    /// The longest time this deadline allows, for messages.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// What is left; zero when the deadline has passed.
    pub(crate) fn remaining(&self) -> Duration {
        if self.patience.is_zero() {
            return Duration::ZERO;
        }
        let now = Instant::now();
        let end = self.end.get().unwrap_or_else(|| {
            let end = now + self.patience;
            self.end.set(Some(end));
            end
        });
        end.saturating_duration_since(now)
    }

    /// Sleeps for one short, jittered pause. False, without sleeping, when the deadline has passed.
    pub(crate) fn pause(&self) -> bool {
        let left = self.remaining();
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(jittered_pause().min(left));
        true
    }
}

fn jittered_pause() -> Duration {
    // The clock's low bits differ between processes forked from one parent; a seeded generator's
    // state would not.
    let scattered = clock_nanos().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Duration::from_micros(PAUSE_MIN_US + scattered % (PAUSE_MAX_US - PAUSE_MIN_US + 1))
}

fn clock_nanos() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since_epoch| u64::from(since_epoch.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_patience_never_pauses() {
        assert!(!Deadline::after(Duration::ZERO).pause());
    }

    #[test]
    fn pauses_end_with_the_deadline() {
        let deadline = Deadline::after(Duration::from_millis(2));
        let mut pauses = 0;
        while deadline.pause() {
            pauses += 1;
        }
        assert!(pauses > 0);
        assert!(deadline.remaining().is_zero());
    }

    #[test]
    fn pauses_stay_in_their_bounds() {
        for _ in 0..1_000 {
            let pause = jittered_pause().as_micros() as u64;
            assert!((PAUSE_MIN_US..=PAUSE_MAX_US).contains(&pause));
        }
    }
}
