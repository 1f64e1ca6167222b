//! ratelite by its C ABI.

use std::ffi::CString;
use std::fmt::Write;
use std::ptr;
use std::sync::Arc;

use super::ratelite_abi::{
    Abi, Limiter, Options, Outcome, RL_DURABLE_DEFAULT, RL_DURABLE_HIT, RL_DURABLE_INTERVAL,
    RL_NOW, RL_OFF, RL_ON, abi,
};
use crate::job::Job;
use crate::peer::{Answered, Peer, Session};

/// How long to wait for a server. The peers wait without end; after the 100 ms of the default a machine
/// on which server and clients share few processors would be measured by its pauses.
const PATIENCE_MS: i64 = 5_000;

/// Counted in the shared table, and in the file an interval later: the default.
pub type Interval = Ratelite<RL_DURABLE_INTERVAL, RL_OFF>;
/// In the file before it is answered.
pub type Hit = Ratelite<RL_DURABLE_HIT, RL_OFF>;
/// On a server, which decides by itself what is durable.
pub type Redis = Ratelite<RL_DURABLE_DEFAULT, RL_OFF>;
/// The same, and whoever was denied is refused without asking until the window ends.
pub type RedisDenied = Ratelite<RL_DURABLE_DEFAULT, RL_ON>;

pub struct Ratelite<const DURABILITY: i64, const REMEMBER_DENIED: i64>(Arc<Open>);

pub struct Open {
    abi: &'static Abi,
    limiter: *mut Limiter,
    /// The policy's last rule; the only one need not be named.
    rule: Option<CString>,
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

impl<const DURABILITY: i64, const REMEMBER_DENIED: i64> Peer
    for Ratelite<DURABILITY, REMEMBER_DENIED>
{
    type Key = String;
    type Session = Arc<Open>;

    fn open(job: &Job) -> Answered<Self> {
        let abi = abi()?;
        let store = terminated(job.store.clone())?;
        let policy = terminated(policy(job))?;
        let rule = (job.rules > 1).then(|| terminated(rule(job.rules))).transpose()?;
        let options = Options {
            struct_size: size_of::<Options>() as u64,
            durability: DURABILITY,
            table_slots: job.table_slots,
            connect_timeout_ms: PATIENCE_MS,
            command_timeout_ms: PATIENCE_MS,
            remember_denied: REMEMBER_DENIED,
            auto_prune: if job.auto_prune { 0 } else { RL_OFF },
            ..Options::default()
        };
        let mut limiter = ptr::null_mut();
        // SAFETY: two NUL-terminated texts, options with their size, and a place for the limiter.
        let code = unsafe { (abi.open)(store.as_ptr(), policy.as_ptr(), &options, &mut limiter) };
        abi.check(code)?;
        Ok(Self(Arc::new(Open { abi, limiter, rule })))
    }

    fn key(text: &str) -> Answered<String> {
        Ok(text.to_owned())
    }

    /// With the durability that is in force, which need not be the one asked for; on a server, with
    /// what that is.
    fn version(&self) -> String {
        // SAFETY: the limiter is open as long as `self` lives.
        let info = unsafe { self.0.abi.info(self.0.limiter) }.unwrap_or_default();
        let of = |member: &str| info[member].as_str().unwrap_or("?").to_owned();
        let in_force = match info.get("remember_denied") {
            None => format!("durability {}", of("durability")),
            Some(remembers) => {
                format!("{} {}, remember_denied {remembers}", of("engine"), of("engine_version"))
            }
        };
        format!("{}, {in_force}", self.0.abi.version())
    }

    fn session(&self) -> Answered<Arc<Open>> {
        Ok(Arc::clone(&self.0))
    }
}

impl Session<String> for Arc<Open> {
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        let open: &Open = self;
        let rule = open.rule.as_ref().map_or(ptr::null(), |rule| rule.as_ptr());
        let mut outcome = Outcome::default();
        Ok(move |key: &String| {
            // SAFETY: the limiter is open as long as `open` lives, which owns the rule too; key and
            // outcome are valid for the call.
            let code = unsafe {
                (open.abi.hit)(
                    open.limiter,
                    rule,
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
    format!("rule{number}")
}

fn terminated(text: String) -> Answered<CString> {
    CString::new(text).map_err(|_| "a NUL byte in the job".to_owned())
}
