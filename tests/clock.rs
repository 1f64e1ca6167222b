//! A clock that steps, under the library: `clock_gettime` of the host's own (clock/clock.h).

mod support;

#[path = "clock/range.rs"]
mod range;
#[path = "clock/steps.rs"]
mod steps;
#[path = "clock/wait.rs"]
mod wait;
