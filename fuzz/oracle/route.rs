//! Any method and target against any policy: `METHOD 0 TARGET 0 POLICY`, or bytes of that form.

use std::ffi::CStr;

use ratelite::capi::*;

use super::call;
use super::input::c_text;

pub fn route(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |&byte| byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (method, target, policy) = (part(), part(), part());
    let limiter = call::in_memory(policy);
    if limiter.is_null() {
        return;
    }
    let found = ask(limiter, method, target);
    // What does not count does not change the answer.
    let longer = |end: &[u8]| [target, end].concat();
    assert_eq!(found, ask(limiter, method, &longer(b"?user=1#top")));
    if !target.contains(&b'?') {
        assert_eq!(found, ask(limiter, method, &longer(b"#top?x")));
    }
    if target.starts_with(b"/") {
        assert_eq!(found, ask(limiter, method, &[b"http://host:80", target].concat()));
    }
    call::close(limiter);
}

fn ask(limiter: *mut rl_limiter, method: &[u8], target: &[u8]) -> Option<String> {
    let (method, target) = (c_text(method), c_text(target));
    let mut rule = c"not set".as_ptr();
    // SAFETY: a live limiter, two texts, and a place for the name.
    let code = unsafe { rl_route(limiter, method.as_ptr(), target.as_ptr(), &mut rule) };
    call::documented(code, &[RL_ENORULE]);
    assert_eq!(code == RL_OK, !rule.is_null());
    if rule.is_null() {
        return None;
    }
    // SAFETY: the name lasts until the limiter is closed.
    let name = unsafe { CStr::from_ptr(rule) };
    let mut result = call::GARBAGE;
    // SAFETY: a live limiter, a name of its own, a key, and a place for the result.
    let code = unsafe { rl_status(limiter, rule, c"k".as_ptr(), 1, RL_NOW, &mut result) };
    call::documented(code, &[]);
    Some(name.to_str().expect("a rule's name").to_owned())
}
