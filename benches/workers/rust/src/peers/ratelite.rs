//! ratelite by its C ABI.

use std::ffi::CString;
use std::fmt::Write;
use std::ptr;
use std::sync::Arc;

use super::ratelite_abi::{Abi, Limiter, Outcome, RL_NOW, abi};
use crate::job::Job;
use crate::peer::{Answered, Peer, Session};

pub struct Ratelite(Arc<Open>);

pub struct Open {
    abi: &'static Abi,
    limiter: *mut Limiter,
    /// The policy's last rule.
    rule: CString,
}

// SAFETY: the header says that any thread may use a limiter, any number at once.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: `limiter` is from rl_open, and nobody has it any more.
        unsafe { (self.abi.close)(self.limiter) };
    }
}

impl Peer for Ratelite {
    type Key = String;
    type Session = Arc<Open>;

    fn version() -> String {
        abi().map_or_else(|error| error, Abi::version)
    }

    fn open(job: &Job) -> Answered<Self> {
        let abi = abi()?;
        let store = terminated(job.store.clone())?;
        let policy = terminated(policy(job))?;
        let rule = terminated(rule(job.rules))?;
        let mut limiter = ptr::null_mut();
        // SAFETY: two NUL-terminated texts, no options, and a place for the limiter.
        let code =
            unsafe { (abi.open)(store.as_ptr(), policy.as_ptr(), ptr::null(), &mut limiter) };
        abi.check(code)?;
        Ok(Self(Arc::new(Open { abi, limiter, rule })))
    }

    fn key(text: &str) -> Answered<String> {
        Ok(text.to_owned())
    }

    fn session(&self) -> Answered<Arc<Open>> {
        Ok(Arc::clone(&self.0))
    }
}

impl Session<String> for Arc<Open> {
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        let open: &Open = self;
        let mut outcome = Outcome::default();
        Ok(move |key: &String| {
            // SAFETY: the limiter is open as long as `open` lives; rule, key and outcome are valid
            // for the call.
            let code = unsafe {
                (open.abi.hit)(
                    open.limiter,
                    open.rule.as_ptr(),
                    key.as_ptr().cast(),
                    key.len(),
                    1,
                    RL_NOW,
                    &mut outcome,
                )
            };
            open.abi.check(code)?;
            Ok(outcome.allowed == 1)
        })
    }

    fn prune(&mut self) -> Answered<u64> {
        let mut removed = 0;
        // SAFETY: the limiter is open; `removed` is valid for the call.
        let code = unsafe { (self.abi.prune)(self.limiter, RL_NOW, &mut removed) };
        self.abi.check(code)?;
        Ok(removed.unsigned_abs())
    }
}

fn policy(job: &Job) -> String {
    let mut policy = String::new();
    for number in 1..=job.rules {
        let (name, Job { limit, window_ms, .. }) = (rule(number), job);
        // Writing to a String cannot fail.
        let _ = writeln!(policy, "{name}: {limit}/{window_ms}ms");
    }
    policy
}

fn rule(number: usize) -> String {
    format!("rule-{number}")
}

fn terminated(text: String) -> Answered<CString> {
    CString::new(text).map_err(|_| "a NUL byte in the job".to_owned())
}
