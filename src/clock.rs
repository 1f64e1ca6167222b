//! The host's wall clock.

use crate::error::{Code, Error, Result};
use crate::os::wall_clock;
use crate::window::Time;

/// The time that a decision is made for.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// What the clock says at the moment of the decision.
    Now,
    /// What the caller says.
    At(Time),
}

impl When {
    /// Asked for *after* the lock that orders the decisions is held: a wait can cross the end of a
    /// window, and a time from before it would be counted in the old one.
    #[inline]
    pub(crate) fn resolve(self) -> Result<Time> {
        match self {
            Self::Now => now(),
            Self::At(time) => Ok(time),
        }
    }
}

/// The wall clock in milliseconds, for what is due by it; 0 where it cannot be right.
#[inline]
pub(crate) fn wall_ms() -> i64 {
    now().map_or(0, Time::millis)
}

/// The wall clock, in whole milliseconds.
#[inline]
pub(crate) fn now() -> Result<Time> {
    let out_of_range = || {
        Error::new(
            Code::Invalid,
            "the system clock is outside 1970 to 9998; set it, or give now_ms",
        )
    };
    let millis = wall_clock::now_ms().ok_or_else(out_of_range)?;
    Time::from_millis(millis).map_err(|_| out_of_range())
}
