//! Trying again while others are in the way.

use super::failure::Failure;
use crate::deadline::Deadline;
use crate::os::fork;

/// Tries a step of opening again and again until the deadline, but not while a fork waits for this
/// store: then the whole opening is tried again after the fork.
pub(super) fn patiently<T>(
    deadline: &Deadline,
    mut step: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    loop {
        match step() {
            Err(failure) if failure.is_busy() && !fork::is_under_way() && deadline.pause() => {}
            other => return other,
        }
    }
}
