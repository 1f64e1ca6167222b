//! The clock of every time measured.

use std::hint::black_box;
use std::time::Duration;

const READINGS: u32 = 1_000_000;

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing. The call cannot fail: the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits for a moment, unless it has passed.
pub fn wait_until(at_ns: u64) {
    while let left @ 1.. = at_ns.saturating_sub(now_ns()) {
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// What one reading costs: the mean of a million.
pub fn cost_ns() -> f64 {
    let begin = now_ns();
    for _ in 0..READINGS {
        black_box(now_ns());
    }
    (now_ns() - begin) as f64 / f64::from(READINGS)
}
