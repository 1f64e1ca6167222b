//! Any bytes as a policy.

use std::collections::BTreeSet;

use ratelite::capi::*;
use ratelite::{MAX_UNITS, Policy};

use super::call;
use super::input::c_text;

pub fn policy(bytes: &[u8]) {
    match Policy::parse(bytes) {
        Ok(policy) => is_sound(&policy),
        Err(error) => says_where(bytes, &error.to_string()),
    }
    let limiter = call::in_memory(bytes);
    assert_eq!(limiter.is_null(), Policy::parse(c_text(bytes).as_bytes()).is_err());
    if limiter.is_null() {
        return;
    }
    let mut result = call::GARBAGE;
    // SAFETY: a live limiter, a key of one byte, and a place for the result.
    let code =
        unsafe { rl_status(limiter, std::ptr::null(), c"k".as_ptr(), 1, RL_NOW, &mut result) };
    call::documented(code, &[RL_ENORULE]);
    call::close(limiter);
}

fn is_sound(policy: &Policy) {
    assert!(!policy.rules().is_empty());
    let mut names = BTreeSet::new();
    for (index, rule) in policy.rules().iter().enumerate() {
        assert!(names.insert(rule.name()), "two rules {}", rule.name());
        assert_eq!(policy.rule_index(rule.name()), Some(index));
        assert!((1..=64).contains(&rule.name().len()));
        assert!(rule.name().bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)));
        let windows: BTreeSet<_> = rule.limits().iter().map(|l| l.window().code()).collect();
        assert!(!windows.is_empty() && windows.len() == rule.limits().len(), "windows of a rule");
        for limit in rule.limits() {
            assert!((0..=MAX_UNITS).contains(&limit.units()));
            // Its own words mean the same again.
            let text = format!("{}/{}", limit.units(), limit.window());
            let again = Policy::parse(text.as_bytes()).expect(&text);
            assert_eq!(again.rules()[0].limits()[0].window(), limit.window(), "{text}");
        }
    }
}

/// `policy line 1, column 2: …`, and such a place is in the text.
fn says_where(bytes: &[u8], message: &str) {
    let place = message.strip_prefix("policy line ").expect(message);
    let (line, rest) = place.split_once(", column ").expect(message);
    let column = rest.split_once(": ").expect(message).0;
    let (line, column): (usize, usize) = (line.parse().unwrap(), column.parse().unwrap());
    let lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    assert!((1..=lines.len()).contains(&line), "{message}");
    assert!((1..=lines[line - 1].len() + 1).contains(&column), "{message}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
}
