//! `rl_headers` and `rl_problem` of any result: of a limiter's own with some words changed, or of
//! any bytes. One byte each of style and buffer size, changes, then the policy.

use std::ffi::c_int;

use ratelite::capi::*;

use super::call;
use super::input::Input;

pub fn texts(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (style, cap) = (c_int::from(input.byte()) - 1, usize::from(input.byte()));
    let (cost, now) = (input.number(), input.number());
    let changes: Vec<_> = (0..input.below(4)).map(|_| (input.below(16), input.number())).collect();
    let limiter = call::in_memory(input.rest());
    if limiter.is_null() {
        return;
    }
    let mut result = call::GARBAGE;
    // SAFETY: a live limiter, the name of its first rule, a key, and a place for the result.
    let code = unsafe {
        let rule = rl_rule_name(limiter, 0);
        rl_hit(limiter, rule, c"K3Y-M4RK".as_ptr(), 8, cost, now, &mut result)
    };
    call::documented(code, &[RL_EINVAL]);
    for (word, value) in &changes {
        set(&mut result, usize::from(*word), *value);
    }
    // SAFETY: a live limiter, a result, and a buffer of the size that is told.
    let headers = call::text(cap, &[RL_EINVAL], |buf, cap| unsafe {
        rl_headers(limiter, &result, style, buf, cap)
    });
    // SAFETY: as above.
    let problem =
        call::text(cap, &[RL_EINVAL], |buf, cap| unsafe { rl_problem(limiter, &result, buf, cap) });
    if code == RL_OK && changes.is_empty() {
        assert!(problem.is_ok() && headers.is_ok() == (0..=2).contains(&style));
    }
    if let Ok(headers) = &headers {
        are_header_lines(headers);
    }
    if let Ok(problem) = &problem {
        is_a_problem(problem);
    }
    call::close(limiter);
}

fn set(result: &mut rl_result, word: usize, value: i64) {
    match word {
        0 => result.allowed = value,
        1 => result.limit = value,
        2 => result.count = value,
        3 => result.remaining = value,
        4 => result.reset_at = value,
        5 => result.retry_after = value,
        6 => result.window_start_ms = value,
        7 => result.window_ms = value,
        8 => result.now_ms = value,
        9 => result.rule = value,
        10 => result.limit_index = value,
        11 => result.insured = value,
        _ => result.reserved[word - 12] = value,
    }
}

/// Nothing in them can end a header early or begin another.
fn are_header_lines(headers: &str) {
    let lines: Vec<_> = headers.split("\r\n").collect();
    assert_eq!(lines.last(), Some(&""), "{headers:?}");
    for line in &lines[..lines.len() - 1] {
        let (name, value) = line.split_once(": ").expect("a name and a value");
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        assert!(!value.is_empty() && value.bytes().all(|b| (0x20..0x7F).contains(&b)), "{line:?}");
    }
    assert!(!headers.contains("K3Y-M4RK"));
}

fn is_a_problem(text: &str) {
    let problem: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert!(matches!(problem["status"].as_i64(), Some(200 | 429)), "{text}");
    assert!(problem["limit"].is_i64() && problem["remaining"].is_i64(), "{text}");
    assert!(!text.contains('\n') && !text.contains("K3Y-M4RK"), "{text}");
}
