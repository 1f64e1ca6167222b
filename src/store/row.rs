//! A counter as it stands in a row.

use rusqlite::types::ValueRef;

use crate::error::{Code, Error};
use crate::judge::Counter;
use crate::units::MAX_UNITS;

/// The schema allows nothing else, but whoever edits the file by hand can: a damaged row is an
/// error, never an allowance.
pub(super) fn counter(attempts: ValueRef<'_>, admitted: ValueRef<'_>) -> Option<Counter> {
    match (attempts, admitted) {
        (ValueRef::Integer(attempts), ValueRef::Integer(admitted))
            if (0..=MAX_UNITS).contains(&attempts) && (0..=attempts).contains(&admitted) =>
        {
            Some(Counter { attempts, admitted })
        }
        _ => None,
    }
}

pub(super) fn damaged(rule: &str) -> Error {
    Error::new(
        Code::Corrupt,
        format!(
            "a counter of rule \"{rule}\" in table rate_limit_windows is damaged; reset this key or \
             delete its row"
        ),
    )
}
