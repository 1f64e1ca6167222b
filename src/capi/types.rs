//! The C ABI's constants and structures. The documentation here is the header's.

use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::options::{Durability, Insurance, MAX_BUSY_TIMEOUT, Options, Share};
use crate::outcome::Outcome;

/// The number of the ABI that this header describes. `rl_abi_version()` gives that of the library
/// that is loaded: when they differ, do not call anything else.
pub const RL_ABI_VERSION: c_int = 1;

/// For `now_ms`: the system clock, read as part of the hit.
pub const RL_NOW: i64 = -1;

/// The largest limit, cost and count: 2^53 - 1.
pub const RL_MAX_UNITS: i64 = 9007199254740991;

/// Success.
pub const RL_OK: c_int = 0;
/// An argument is NULL, out of its range or of the wrong form. Mend the call.
pub const RL_EINVAL: c_int = -1;
/// The policy text does not parse; the message names line and column.
pub const RL_EPOLICY: c_int = -2;
/// The policy has no rule of that name, no rule was named where there are several, or no rule fits
/// the route.
pub const RL_ENORULE: c_int = -3;
/// Others held the store until `busy_timeout_ms` had passed. Trying again later may succeed.
pub const RL_EBUSY: c_int = -4;
/// The disk, the quota, or a server's memory is full. Mends itself when there is space again.
pub const RL_EFULL: c_int = -5;
/// Reading or writing the store failed: a broken disk, a file-size limit, a vanished directory.
pub const RL_EIO: c_int = -6;
/// The system refused access to the store, or to its directory, where -wal, -shm and -table must stand;
/// or a server refused user, password or command.
pub const RL_EPERM: c_int = -7;
/// The store, or the row that was asked for, is damaged.
pub const RL_ECORRUPT: c_int = -8;
/// What stands at the path is not a ratelite store, is of a newer format, has a second name (hard
/// link), is mounted by itself, or is no regular file. It was left as it was.
pub const RL_ENOTSTORE: c_int = -9;
/// This process was made by clone() or _Fork(), so it must not use the stores it inherited.
pub const RL_EFORK: c_int = -10;
/// No file descriptor is free.
pub const RL_EMFILE: c_int = -11;
/// No memory is left.
pub const RL_ENOMEM: c_int = -12;
/// The store's server cannot be reached, or did not answer in time: then the call may have been
/// counted. Stores in files never return it.
pub const RL_EUNAVAILABLE: c_int = -13;
/// A bug in ratelite was caught. Please report the message.
pub const RL_EINTERNAL: c_int = -14;

/// A switch of rl_options: as the option's documentation says.
pub const RL_DEFAULT: i64 = 0;
/// A switch of rl_options: on.
pub const RL_ON: i64 = 1;
/// A switch of rl_options: off.
pub const RL_OFF: i64 = 2;

/// `durability` of rl_options: RL_DURABLE_INTERVAL.
pub const RL_DURABLE_DEFAULT: i64 = 0;
/// A hit is in the file before it is answered. Counting is exact either way: see above.
pub const RL_DURABLE_HIT: i64 = 1;
/// A hit is in the file at most an interval after it was answered, as long as anybody hits.
pub const RL_DURABLE_INTERVAL: i64 = 2;

/// `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (epoch seconds), in this
/// order, then `Retry-After` if the hit was denied and waiting helps.
pub const RL_HEADERS_X: c_int = 0;
/// As GitHub's API sends them: lower case, with `x-ratelimit-used` (units spent) and
/// `x-ratelimit-resource` (the rule's name).
pub const RL_HEADERS_GITHUB: c_int = 1;
/// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10. The draft still
/// changes: this style follows it and is not covered by the ABI number.
pub const RL_HEADERS_IETF: c_int = 2;

/// The answer of rl_hit, rl_status and rl_refund. It describes the limit that decides: on a denial
/// the first refusing limit that can never fit the cost, else the refusing one whose window ends
/// last; on an allowance the one with the least remaining; the first at a tie. All zero after a
/// failed call, which reads as "denied".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct rl_result {
    /// 1: allowed; 0: denied. For rl_status and rl_refund: whether a hit of cost 1 would be.
    pub allowed: i64,
    /// Units that the deciding limit grants a window, 0 to RL_MAX_UNITS.
    pub limit: i64,
    /// Units asked for in its window, denied ones and this hit included. It stops at RL_MAX_UNITS.
    pub count: i64,
    /// Units left in its window after this call, 0 to `limit`.
    pub remaining: i64,
    /// End of its window in epoch seconds, rounded up. At that time the next window is open.
    pub reset_at: i64,
    /// Seconds to wait: 0 if allowed; -1 if no wait helps, as the cost is above the limit; else 1
    /// or more, after which the same hit is allowed if nobody else was faster.
    pub retry_after: i64,
    /// Start of its window, milliseconds since the epoch.
    pub window_start_ms: i64,
    /// Length of its window in milliseconds: for `month` that of this month.
    pub window_ms: i64,
    /// The time the decision was made for, milliseconds since the epoch.
    pub now_ms: i64,
    /// Index of the rule in the policy, from 0; rl_rule_name() gives its name.
    pub rule: i64,
    /// Index of the deciding limit in the rule, from 0.
    pub limit_index: i64,
    /// 1: the insurance answered, by its own limits and counters, since the store's server was away
    /// (see rl_options); 0 otherwise.
    pub insured: i64,
    /// 0.
    pub reserved: [i64; 4],
}

/// How a limiter uses its store. 0 means the default everywhere, so begin with
/// `rl_options options = {0}; options.struct_size = sizeof options;` (in C++ `= {}`) and set what
/// you need. Everything pointed to is copied during rl_open().
///
/// Options belong to the limiter, except file_mode, table_slots and key_secret, which the store's
/// creator decides.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct rl_options {
    /// sizeof(rl_options). A smaller one of an older header is fine, a larger one of a newer
    /// header too if what this library does not know is 0. Below 8, above 4096 or no multiple of
    /// 8: RL_EINVAL.
    pub struct_size: u64,
    /// The longest that a call waits for others, in milliseconds: 1 to 60000; larger values count
    /// as 60000; -1: do not wait. Default 1000.
    pub busy_timeout_ms: i64,
    /// RL_DURABLE_DEFAULT, RL_DURABLE_HIT or RL_DURABLE_INTERVAL. On a store without a shared table,
    /// and for limiters with `audit`, it is RL_DURABLE_HIT: rl_info() tells.
    pub durability: i64,
    /// The interval of RL_DURABLE_INTERVAL in milliseconds, 1 to 60000. Default 100. Of limiters with
    /// different ones the shortest counts, as long as they hit.
    pub flush_interval_ms: i64,
    /// RL_ON (default): hits remove two expired rows for each that they add, so that a store
    /// needs no cron job. RL_OFF: only rl_prune() removes rows.
    pub auto_prune: i64,
    /// RL_ON (default): the process keeps the file open after the last rl_close(), so that the
    /// next rl_open() costs a few microseconds. RL_OFF: the last rl_close() checkpoints and
    /// removes -wal and -shm.
    pub keep_open: i64,
    /// RL_ON: each allowed hit is also a row of the table api_calls (time, rule, key, cost),
    /// committed with the count. Default RL_OFF.
    pub audit: i64,
    /// RL_ON: a store of ours that turns out to be damaged is moved aside, to
    /// `<path>.corrupt-<milliseconds since the epoch>`, and begun anew with no counters. Default
    /// RL_OFF: it is RL_ECORRUPT. A file that is not a store is never touched.
    pub recover_corrupt: i64,
    /// How long rows of api_calls are kept, in seconds, 1 to 315360000 (ten years). Default:
    /// 2592000 (30 days) where audit is on; where it is off too, this limiter prunes no such rows.
    pub audit_retention_s: i64,
    /// Permission bits of a file that rl_open() creates, whatever the umask: read and write bits
    /// only, the owner's among them. Default 0600.
    pub file_mode: i64,
    /// How many windows of keys the shared table of a new store holds, 1 to 2^32 (rounded up to a
    /// multiple of 16), 128 bytes of disk each. Default 262144. The creator of the store decides; if
    /// it is given for a store with another number: RL_EINVAL.
    pub table_slots: i64,
    /// If not NULL: keys are stored as HMAC-SHA-256 under this secret, so that no key can be read
    /// from the file. The creator of the store decides; another secret, or none, is RL_EINVAL.
    pub key_secret: *const c_char,
    /// Length of key_secret in bytes, at least 1 if it is not NULL. Use 32 random bytes.
    pub key_secret_len: u64,
    /// Of a store on a server: the longest that connecting to it may take, in milliseconds, the login
    /// and a handshake included: 1 to 60000. Default 100. Files take no notice.
    pub connect_timeout_ms: i64,
    /// Of a store on a server: the longest that it may take to answer, in milliseconds: 1 to 60000.
    /// Default 100. Files take no notice.
    pub command_timeout_ms: i64,
    /// Of a store on a server: RL_ON: a client that it has denied is refused by this process, without
    /// asking again, until one of the rule's windows ends; up to 16,384 clients. The server is told of
    /// those attempts by hits that ask, a client's after flush_interval_ms, then ever more seldom, up to
    /// eight times that; and by rl_close(), once an interval, for command_timeout_ms at most. So `count`
    /// lags for others, and so does what a refund or a reset gives back in another process, or by a
    /// limiter with another address or other timeouts. Not counted is what a process has not told when
    /// it ends otherwise, and what was attempted at given times that then went back. Default RL_OFF.
    /// Files take no notice.
    pub remember_denied: i64,
    /// Of a store on a server, if not NULL: path of a store file, NUL-terminated, that takes over while
    /// the server is away: hits are then counted there alone, by limits of its own. RL_EINVAL for a store
    /// in a file.
    pub insurance: *const c_char,
    /// If not NULL: the policy of the insurance, NUL-terminated, with rules of the same names in the same
    /// order; their routes do not matter.
    pub insurance_policy: *const c_char,
    /// Without insurance_policy: so many percent of each limit are the insurance's, 1 to 100, rounded down
    /// to at least 1 unit. Default 100, by which each machine lets the whole limit in.
    pub insurance_percent: i64,
}

pub(super) const ALL_DEFAULTS: rl_options = rl_options {
    struct_size: 0,
    busy_timeout_ms: 0,
    durability: 0,
    flush_interval_ms: 0,
    auto_prune: 0,
    keep_open: 0,
    audit: 0,
    recover_corrupt: 0,
    audit_retention_s: 0,
    file_mode: 0,
    table_slots: 0,
    key_secret: std::ptr::null(),
    key_secret_len: 0,
    connect_timeout_ms: 0,
    command_timeout_ms: 0,
    remember_denied: 0,
    insurance: std::ptr::null(),
    insurance_policy: std::ptr::null(),
    insurance_percent: 0,
};

/// What the pointers of rl_options point to.
pub(super) struct Texts<'a> {
    pub(super) key_secret: Option<&'a [u8]>,
    pub(super) insurance: Option<&'a [u8]>,
    pub(super) insurance_policy: Option<&'a [u8]>,
}

impl rl_options {
    /// The options that these numbers mean; the texts were read by the caller.
    pub(super) fn checked(&self, texts: &Texts<'_>) -> Result<Options> {
        let defaults = Options::default();
        in_range("durability", self.durability, RL_DURABLE_DEFAULT..=RL_DURABLE_INTERVAL)?;
        in_range("flush_interval_ms", self.flush_interval_ms, 0..=60_000)?;
        in_range("table_slots", self.table_slots, 0..=1 << 32)?;
        Ok(Options {
            busy_timeout: match self.busy_timeout_ms {
                0 => defaults.busy_timeout,
                -1 => Duration::ZERO,
                given => {
                    in_range("busy_timeout_ms", given, 1..=i64::MAX)?;
                    Duration::from_millis(given.unsigned_abs()).min(MAX_BUSY_TIMEOUT)
                }
            },
            auto_prune: switch("auto_prune", self.auto_prune, defaults.auto_prune)?,
            keep_open: switch("keep_open", self.keep_open, defaults.keep_open)?,
            recover_corrupt: switch(
                "recover_corrupt",
                self.recover_corrupt,
                defaults.recover_corrupt,
            )?,
            audit: switch("audit", self.audit, defaults.audit)?,
            audit_retention: match self.audit_retention_s {
                0 => None,
                given => {
                    in_range("audit_retention_s", given, 1..=315_360_000)?;
                    Some(Duration::from_secs(given.unsigned_abs()))
                }
            },
            durability: match self.durability {
                RL_DURABLE_HIT => Durability::Hit,
                RL_DURABLE_INTERVAL => Durability::Interval,
                _ => defaults.durability,
            },
            flush_interval: match self.flush_interval_ms {
                0 => defaults.flush_interval,
                given => Duration::from_millis(given.unsigned_abs()),
            },
            table_slots: (self.table_slots > 0).then_some(self.table_slots.unsigned_abs()),
            file_mode: match self.file_mode {
                0 => defaults.file_mode,
                given => u32::try_from(given)
                    .map_err(|_| Error::invalid(format!("file_mode {given} is out of range")))?,
            },
            key_secret: texts.key_secret.map(<[u8]>::to_vec),
            connect_timeout: server_timeout("connect_timeout_ms", self.connect_timeout_ms)?
                .unwrap_or(defaults.connect_timeout),
            command_timeout: server_timeout("command_timeout_ms", self.command_timeout_ms)?
                .unwrap_or(defaults.command_timeout),
            remember_denied: switch(
                "remember_denied",
                self.remember_denied,
                defaults.remember_denied,
            )?,
            insurance: self.insurance(texts)?,
        })
    }

    fn insurance(&self, texts: &Texts<'_>) -> Result<Option<Insurance>> {
        in_range("insurance_percent", self.insurance_percent, 0..=100)?;
        let grants = match (texts.insurance_policy, self.insurance_percent) {
            (None, 0) => Share::Percent(100),
            (None, percent) => Share::Percent(percent.unsigned_abs() as u32),
            // What is no UTF-8 does not parse either.
            (Some(text), 0) => Share::Policy(String::from_utf8_lossy(text).into_owned()),
            (Some(_), _) => {
                let message = "option insurance_percent is given beside insurance_policy: give one";
                return Err(Error::invalid(message));
            }
        };
        let has_more = texts.insurance_policy.is_some() || self.insurance_percent != 0;
        match texts.insurance {
            Some(path) => {
                let store = PathBuf::from(OsStr::from_bytes(path));
                Ok(Some(Insurance { store, grants }))
            }
            None if has_more => {
                let message = "option insurance_policy or insurance_percent is given without \
                               insurance: give the path of its file";
                Err(Error::invalid(message))
            }
            None => Ok(None),
        }
    }
}

fn server_timeout(name: &str, given: i64) -> Result<Option<Duration>> {
    in_range(name, given, 0..=60_000)?;
    Ok((given > 0).then(|| Duration::from_millis(given.unsigned_abs())))
}

fn in_range(name: &str, given: i64, range: std::ops::RangeInclusive<i64>) -> Result<()> {
    if range.contains(&given) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "option {name} is {given}: give {} to {}",
        range.start(),
        range.end()
    )))
}

fn switch(name: &str, given: i64, default: bool) -> Result<bool> {
    match given {
        RL_DEFAULT => Ok(default),
        RL_ON => Ok(true),
        RL_OFF => Ok(false),
        _ => Err(Error::invalid(format!(
            "option {name} is {given}: give RL_DEFAULT (0), RL_ON (1) or RL_OFF (2)"
        ))),
    }
}

impl From<Outcome> for rl_result {
    fn from(outcome: Outcome) -> Self {
        Self {
            allowed: outcome.allowed.into(),
            limit: outcome.limit,
            count: outcome.count,
            remaining: outcome.remaining,
            reset_at: outcome.reset_at,
            retry_after: outcome.retry_after,
            window_start_ms: outcome.window_start_ms,
            window_ms: outcome.window_ms,
            now_ms: outcome.now_ms,
            rule: outcome.rule as i64,
            limit_index: outcome.limit_index as i64,
            insured: outcome.insured.into(),
            reserved: [0; 4],
        }
    }
}

impl TryFrom<&rl_result> for Outcome {
    type Error = Error;

    fn try_from(result: &rl_result) -> Result<Self> {
        let foreign = || Error::invalid("the result is not one that a limiter has filled");
        let index = |number: i64| usize::try_from(number).map_err(|_| foreign());
        let is_switch = |number: i64| matches!(number, 0 | 1);
        if !is_switch(result.allowed) || !is_switch(result.insured) || result.reserved != [0; 4] {
            return Err(foreign());
        }
        Ok(Self {
            allowed: result.allowed == 1,
            limit: result.limit,
            count: result.count,
            remaining: result.remaining,
            reset_at: result.reset_at,
            retry_after: result.retry_after,
            window_start_ms: result.window_start_ms,
            window_ms: result.window_ms,
            now_ms: result.now_ms,
            rule: index(result.rule)?,
            limit_index: index(result.limit_index)?,
            insured: result.insured == 1,
        })
    }
}
