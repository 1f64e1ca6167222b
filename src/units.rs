//! Units: what limits grant and hits cost.

use crate::error::{Error, Result};

/// The most units that a limit grants, a hit costs or a counter holds: 2^53 - 1, the largest
/// integer that every host language and JSON reader represents exactly.
pub const MAX_UNITS: i64 = 9_007_199_254_740_991;

/// The units that one hit or refund asks for, 0 to [`MAX_UNITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost(i64);

impl Cost {
    /// Checks a caller's cost: outside 0 to [`MAX_UNITS`] it is [`Code::Invalid`].
    ///
    /// [`Code::Invalid`]: crate::error::Code::Invalid
    pub(crate) fn new(units: i64) -> Result<Self> {
        if (0..=MAX_UNITS).contains(&units) {
            Ok(Self(units))
        } else {
            Err(Error::invalid(format!(
                "cost {units} is out of range: give units from 0 to {MAX_UNITS}"
            )))
        }
    }

    /// The units.
    pub(crate) fn get(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn a_cost_is_any_number_of_units_up_to_the_most() {
        for units in [0, 1, i64::from(i32::MAX) + 1, MAX_UNITS] {
            assert_eq!(Cost::new(units).unwrap().get(), units);
        }
    }

    #[test]
    fn a_cost_out_of_range_is_an_argument_error() {
        for units in [-1, i64::MIN, MAX_UNITS + 1, i64::MAX] {
            assert_eq!(Cost::new(units).unwrap_err().code(), Code::Invalid, "{units}");
        }
        assert_eq!(
            Cost::new(-1).unwrap_err().to_string(),
            "cost -1 is out of range: give units from 0 to 9007199254740991"
        );
    }
}
