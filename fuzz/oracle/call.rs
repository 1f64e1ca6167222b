//! Calls of the C ABI, each with the checks that its answer must pass.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use ratelite::capi::*;

use super::input::c_text;

pub const ZERO: rl_result = rl_result {
    allowed: 0,
    limit: 0,
    count: 0,
    remaining: 0,
    reset_at: 0,
    retry_after: 0,
    window_start_ms: 0,
    window_ms: 0,
    now_ms: 0,
    rule: 0,
    limit_index: 0,
    insured: 0,
    reserved: [0; 4],
};

/// What a result holds before a call that must write it.
pub const GARBAGE: rl_result = rl_result {
    allowed: 0x5A5A,
    limit: -7,
    retry_after: i64::MIN,
    insured: 7,
    reserved: [-1; 4],
    ..ZERO
};

const MAX_UNITS: std::ops::RangeInclusive<i64> = 0..=RL_MAX_UNITS;

pub fn last_error() -> String {
    // SAFETY: the text lives until this thread's next call.
    let text = unsafe { CStr::from_ptr(rl_last_error()) };
    text.to_str().expect("an error text is UTF-8").to_owned()
}

/// The code is one of those, and the error text goes with it.
#[track_caller]
pub fn documented(code: c_int, failures: &[c_int]) {
    let text = last_error();
    if code >= 0 {
        assert_eq!(text, "", "a text beside success");
        return;
    }
    assert!(failures.contains(&code), "{code}: {text}");
    assert!(!text.is_empty(), "{code} without a text");
    assert!(!text.chars().any(char::is_control), "not one line: {text:?}");
    // SAFETY: a constant text.
    assert!(!unsafe { CStr::from_ptr(rl_strerror(code)) }.is_empty());
}

/// A result that came with RL_OK tells a story that can be true.
pub fn plausible(result: &rl_result) {
    let rl_result { allowed, limit, count, remaining, retry_after, window_ms, now_ms, .. } =
        *result;
    let seconds = (window_ms + 999) / 1000;
    assert!(matches!(allowed, 0 | 1), "{result:?}");
    assert!(MAX_UNITS.contains(&limit) && MAX_UNITS.contains(&count), "{result:?}");
    assert!((0..=limit).contains(&remaining), "{result:?}");
    assert!(window_ms >= 1, "{result:?}");
    assert!((0..window_ms).contains(&(now_ms - result.window_start_ms)), "{result:?}");
    assert_eq!(result.reset_at, (result.window_start_ms + window_ms + 999).div_euclid(1000));
    assert!(result.rule >= 0 && result.limit_index >= 0, "{result:?}");
    assert_eq!((result.insured, result.reserved), (0, [0; 4]));
    match allowed {
        1 => assert_eq!(retry_after, 0, "{result:?}"),
        _ => assert!(retry_after == -1 || (1..=seconds).contains(&retry_after), "{result:?}"),
    }
}

pub fn is_zero(result: &rl_result) -> bool {
    format!("{result:?}") == format!("{ZERO:?}")
}

/// A limiter on a store in memory; NULL when the policy does not parse.
pub fn in_memory(policy: &[u8]) -> *mut rl_limiter {
    let mut limiter: *mut rl_limiter = null_mut();
    let policy = c_text(policy);
    // SAFETY: two texts, no options, and a place for the limiter.
    let code =
        unsafe { rl_open(c":memory:".as_ptr(), policy.as_ptr(), std::ptr::null(), &mut limiter) };
    documented(code, &[RL_EPOLICY]);
    assert_eq!(code == RL_OK, !limiter.is_null());
    limiter
}

pub fn close(limiter: *mut rl_limiter) {
    // SAFETY: NULL, or made by `rl_open` and not used afterwards.
    unsafe { rl_close(limiter) };
}

/// Fetches a text into a buffer of `cap` bytes, then into one that it just does not fit, then into
/// one that it just fits. `write` makes the call.
pub fn text(
    cap: usize,
    failures: &[c_int],
    write: impl Fn(*mut c_char, usize) -> c_int,
) -> Result<String, c_int> {
    let (length, _) = fetch(cap, failures, &write)?;
    fetch(length, failures, &write)?;
    let (again, text) = fetch(length + 1, failures, &write)?;
    assert!(again > length || text.len() == length, "{text:?} is not {length} long");
    Ok(text)
}

/// Makes one such call and checks every byte of the buffer: the text and its NUL, or nothing of it.
fn fetch(
    cap: usize,
    failures: &[c_int],
    write: &impl Fn(*mut c_char, usize) -> c_int,
) -> Result<(usize, String), c_int> {
    // A buffer of its own, so that a sanitizer sees what is written past it.
    let mut buffer = vec![0x5A_u8; cap].into_boxed_slice();
    let place = if cap == 0 { null_mut() } else { buffer.as_mut_ptr().cast() };
    let length = write(place, cap);
    documented(length, failures);
    let written = usize::try_from(length).ok().filter(|&length| length < cap).unwrap_or(0);
    if cap > 0 {
        assert_eq!(buffer.iter().position(|&byte| byte == 0), Some(written), "the text's end");
        assert!(buffer[written + 1..].iter().all(|&byte| byte == 0x5A), "written past the text");
    }
    let text = String::from_utf8(buffer[..written].to_vec()).expect("UTF-8");
    usize::try_from(length).map(|length| (length, text)).map_err(|_| length)
}
