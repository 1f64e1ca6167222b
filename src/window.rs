//! Time and windows: which span of time a moment falls into. Pure integer arithmetic, in UTC.

use std::fmt;

use crate::error::{Error, Result};

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The longest window: 366 days.
const MAX_WINDOW_MS: i64 = 366 * DAY_MS;

/// 9998-12-31T23:59:59.999Z. A year short of what four digits write, so that the end of every
/// window, and of the one after it, still has a date that people and SQLite can read.
const MAX_TIME_MS: i64 = 253_370_764_799_999;

/// A moment: milliseconds since the Unix epoch, within 1970-01-01 to 9998-12-31 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// Takes milliseconds since the Unix epoch, 0 to 253,370,764,799,999.
    ///
    /// # Errors
    ///
    /// [`Code::Invalid`](crate::error::Code::Invalid) outside that range.
    #[inline]
    pub fn from_millis(ms: i64) -> Result<Self> {
        if (0..=MAX_TIME_MS).contains(&ms) {
            Ok(Self(ms))
        } else {
            Err(Error::invalid(format!(
                "time {ms} is outside the years 1970 to 9998: \
                 give milliseconds since the Unix epoch, 0 to {MAX_TIME_MS}"
            )))
        }
    }

    /// Milliseconds since the Unix epoch.
    pub fn millis(self) -> i64 {
        self.0
    }
}

/// How a limit divides time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Windows of one length, the first of which began at the Unix epoch.
    Fixed(Length),
    /// Calendar months in UTC.
    Month,
}

/// The length of a fixed window, 1 ms to 366 days. Only [`Window::from_millis`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Length(i64);

impl Window {
    /// A fixed window of 1 to 31,622,400,000 ms (366 days); `None` outside that range.
    pub fn from_millis(ms: i64) -> Option<Self> {
        (1..=MAX_WINDOW_MS).contains(&ms).then_some(Self::Fixed(Length(ms)))
    }

    /// The window that `time` falls into.
    pub fn span_at(self, time: Time) -> Span {
        self.span_around(time.0)
    }

    /// The end, in epoch milliseconds, of the window that follows `span`: from then on `span` is
    /// older than the current and the previous window, which is what pruning asks for.
    pub fn expires_ms(self, span: &Span) -> i64 {
        self.span_around(span.end_ms).end_ms
    }

    /// A number that tells windows apart in a store: the length in milliseconds, 0 for a month.
    pub fn code(self) -> i64 {
        match self {
            Self::Fixed(Length(ms)) => ms,
            Self::Month => 0,
        }
    }

    /// The window of a [`Window::code`]; `None` for other numbers.
    pub(crate) fn from_code(code: i64) -> Option<Self> {
        if code == 0 { Some(Self::Month) } else { Self::from_millis(code) }
    }

    /// The length in seconds; `None` for a month and for a length with a fraction of a second.
    pub fn whole_seconds(self) -> Option<i64> {
        match self {
            Self::Fixed(Length(ms)) if ms % SECOND_MS == 0 => Some(ms / SECOND_MS),
            _ => None,
        }
    }

    fn span_around(self, ms: i64) -> Span {
        match self {
            Self::Fixed(Length(length)) => {
                let start_ms = ms - ms.rem_euclid(length);
                Span { start_ms, end_ms: start_ms + length }
            }
            Self::Month => {
                let (year, month) = civil_from_days(ms.div_euclid(DAY_MS));
                let (next_year, next_month) =
                    if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                Span {
                    start_ms: days_to_month(year, month) * DAY_MS,
                    end_ms: days_to_month(next_year, next_month) * DAY_MS,
                }
            }
        }
    }
}

impl Length {
    /// The window that starts at `start_ms`, if `now` lies in it.
    #[inline]
    pub(crate) fn span_from(self, start_ms: i64, now: Time) -> Option<Span> {
        let within = (now.0.wrapping_sub(start_ms) as u64) < self.0 as u64;
        within.then(|| Span { start_ms, end_ms: start_ms + self.0 })
    }
}

/// The canonical duration text: `10s`, `1m`, `250ms`, `30d`, `month`, always with the largest
/// unit that divides the length.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Fixed(Length(ms)) = *self else { return f.write_str("month") };
        for (unit_ms, unit) in [(DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "m"), (SECOND_MS, "s")] {
            if ms % unit_ms == 0 {
                return write!(f, "{}{unit}", ms / unit_ms);
            }
        }
        write!(f, "{ms}ms")
    }
}

/// One window on the time line: `[start, end)`, so at `end` the next one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start_ms: i64,
    end_ms: i64,
}

impl Span {
    /// The first moment, in milliseconds since the Unix epoch.
    pub fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// The moment the next window opens, in milliseconds since the Unix epoch.
    pub fn end_ms(&self) -> i64 {
        self.end_ms
    }

    /// The length in milliseconds, at least 1.
    pub fn length_ms(&self) -> i64 {
        self.end_ms - self.start_ms
    }

    /// The end in epoch seconds, rounded up: whoever waits for it never wakes too early.
    #[inline]
    pub fn reset_at(&self) -> i64 {
        seconds_rounded_up(self.end_ms)
    }

    /// Seconds from `now` to the end, rounded up: at least 1 for a `now` within the span.
    #[inline]
    pub fn retry_after(&self, now: Time) -> i64 {
        seconds_rounded_up(self.end_ms - now.0)
    }
}

#[inline]
fn seconds_rounded_up(ms: i64) -> i64 {
    ms.div_euclid(SECOND_MS) + i64::from(ms.rem_euclid(SECOND_MS) > 0)
}

/// The year and month (1 to 12) that a day since 1970-01-01 lies in: `civil_from_days` of Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms"
/// (<https://howardhinnant.github.io/date_algorithms.html>). Its years begin in March, so that
/// the leap day is the last.
fn civil_from_days(days: i64) -> (i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month)
}

/// Days from 1970-01-01 to the first of a month (1 to 12): `days_from_civil` of the same source.
fn days_to_month(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn time(ms: i64) -> Time {
        Time::from_millis(ms).unwrap()
    }

    fn fixed(ms: i64) -> Window {
        Window::from_millis(ms).unwrap()
    }

    #[test]
    fn time_runs_from_1970_to_the_end_of_9998() {
        for ms in [0, 1, i64::from(i32::MAX) * 1_000, MAX_TIME_MS] {
            assert_eq!(time(ms).millis(), ms);
        }
        for ms in [-1, i64::MIN, MAX_TIME_MS + 1, i64::MAX] {
            assert_eq!(Time::from_millis(ms).unwrap_err().code(), Code::Invalid, "{ms}");
        }
        assert_eq!(
            Time::from_millis(-2).unwrap_err().to_string(),
            "time -2 is outside the years 1970 to 9998: \
             give milliseconds since the Unix epoch, 0 to 253370764799999"
        );
    }

    #[test]
    fn a_window_is_1_ms_to_366_days_long() {
        for ms in [1, 1_000, MAX_WINDOW_MS] {
            assert_eq!(Window::from_millis(ms).map(Window::code), Some(ms));
        }
        for ms in [0, -1, i64::MIN, MAX_WINDOW_MS + 1, i64::MAX] {
            assert_eq!(Window::from_millis(ms), None, "{ms}");
        }
    }

    #[test]
    fn a_fixed_window_is_aligned_to_the_epoch() {
        for (length, now, start, end) in [
            (10_000, 0, 0, 10_000),
            (10_000, 9_999, 0, 10_000),
            (10_000, 10_000, 10_000, 20_000),
            (1, 1_767_225_645_123, 1_767_225_645_123, 1_767_225_645_124),
            (DAY_MS, 1_767_225_599_999, 1_767_139_200_000, 1_767_225_600_000),
            (DAY_MS, 1_767_225_600_000, 1_767_225_600_000, 1_767_312_000_000),
            (7_000, 2_147_483_647_000, 2_147_483_646_000, 2_147_483_653_000),
            (60_000, MAX_TIME_MS, 253_370_764_740_000, 253_370_764_800_000),
        ] {
            let span = fixed(length).span_at(time(now));
            assert_eq!((span.start_ms(), span.end_ms()), (start, end), "{length} at {now}");
            assert_eq!(span.length_ms(), length);
        }
    }

    #[test]
    fn a_month_is_the_calendar_month_in_utc() {
        // Bounds from GNU date, for instance: date -u -d 2024-03-01 +%s
        for (now, start_s, end_s) in [
            (0, 0, 2_678_400),                                 // 1970-01
            (951_782_400_000, 949_363_200, 951_868_800),       // 2000-02: 29 days
            (1_709_164_800_000, 1_706_745_600, 1_709_251_200), // 2024-02: 29 days
            (1_709_251_199_999, 1_706_745_600, 1_709_251_200), // its last millisecond
            (1_709_251_200_000, 1_709_251_200, 1_711_929_600), // 2024-03
            (1_767_225_599_999, 1_764_547_200, 1_767_225_600), // 2025-12
            (1_767_225_600_000, 1_767_225_600, 1_769_904_000), // 2026-01
            (2_147_483_647_000, 2_145_916_800, 2_148_595_200), // 2038-01: 2^31 - 1
            (4_107_542_399_999, 4_105_123_200, 4_107_542_400), // 2100-02: 28 days
            (MAX_TIME_MS, 253_368_086_400, 253_370_764_800),   // 9998-12
        ] {
            let span = Window::Month.span_at(time(now));
            assert_eq!(
                (span.start_ms(), span.end_ms()),
                (start_s * 1_000, end_s * 1_000),
                "month at {now}"
            );
        }
    }

    #[test]
    fn months_follow_each_other_without_a_gap_up_to_the_year_9999() {
        let mut span = Window::Month.span_at(time(0));
        let mut months = 1;
        while span.end_ms() <= MAX_TIME_MS {
            let next = Window::Month.span_at(time(span.end_ms()));
            assert_eq!(next.start_ms(), span.end_ms());
            assert!((28..=31).contains(&(next.length_ms() / DAY_MS)));
            span = next;
            months += 1;
        }
        assert_eq!((months, span.end_ms()), ((9998 - 1969) * 12, MAX_TIME_MS + 1));
    }

    #[test]
    fn reset_and_retry_are_seconds_rounded_up() {
        for (length, now, reset_at, retry_after) in [
            (10_000, 0, 10, 10),
            (10_000, 1, 10, 10),
            (10_000, 9_000, 10, 1),
            (10_000, 9_001, 10, 1),
            (10_000, 9_999, 10, 1),
            (250, 0, 1, 1),
            (250, 999, 1, 1),
            (250, 1_000, 2, 1),
            (1_500, 0, 2, 2),
            (1_500, 1_500, 3, 2),
            (MAX_WINDOW_MS, 0, 31_622_400, 31_622_400),
        ] {
            let span = fixed(length).span_at(time(now));
            assert_eq!(
                (span.reset_at(), span.retry_after(time(now))),
                (reset_at, retry_after),
                "{length} at {now}"
            );
        }
    }

    #[test]
    fn sleeping_retry_after_always_reaches_the_next_window() {
        for length in [1, 250, 999, 1_000, 1_001, 1_500, 60_000] {
            for now in 1_700_000_000_000..1_700_000_003_000_i64 {
                let span = fixed(length).span_at(time(now));
                let wait = span.retry_after(time(now));
                assert!(wait >= 1 && wait * 1_000 < length + 1_000, "{length} at {now}");
                assert!(now + wait * 1_000 >= span.end_ms(), "{length} at {now}");
            }
        }
    }

    #[test]
    fn a_span_expires_when_the_window_after_it_ends() {
        for (window, now, expires_ms) in [
            (fixed(10_000), 9_999, 20_000),
            (fixed(1), 7, 9),
            (Window::Month, 0, 5_097_600_000), // 1970-03-01
            (Window::Month, 1_704_067_200_000, 1_709_251_200_000), // January 2024: 2024-03-01
            (Window::Month, 1_764_547_200_000, 1_769_904_000_000), // December 2025: 2026-02-01
            (Window::Month, MAX_TIME_MS, 253_373_443_200_000), // 9999-02-01
        ] {
            let span = window.span_at(time(now));
            assert_eq!(window.expires_ms(&span), expires_ms, "{window} at {now}");
        }
    }

    #[test]
    fn a_month_never_equals_30_days() {
        assert_ne!(Window::Month, fixed(30 * DAY_MS));
        assert_ne!(Window::Month.code(), fixed(30 * DAY_MS).code());
    }

    #[test]
    fn a_window_is_written_with_the_largest_unit_that_divides_it() {
        for (ms, text, whole_seconds) in [
            (1, "1ms", None),
            (250, "250ms", None),
            (1_000, "1s", Some(1)),
            (1_500, "1500ms", None),
            (10_000, "10s", Some(10)),
            (60_000, "1m", Some(60)),
            (90_000, "90s", Some(90)),
            (3_600_000, "1h", Some(3_600)),
            (86_400_000, "1d", Some(86_400)),
            (36 * HOUR_MS, "36h", Some(129_600)),
            (30 * DAY_MS, "30d", Some(2_592_000)),
            (MAX_WINDOW_MS, "366d", Some(31_622_400)),
        ] {
            assert_eq!(fixed(ms).to_string(), text);
            assert_eq!(fixed(ms).whole_seconds(), whole_seconds, "{text}");
        }
        assert_eq!(Window::Month.to_string(), "month");
        assert_eq!(Window::Month.whole_seconds(), None);
    }
}
