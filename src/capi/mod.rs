//! The C ABI, whole: whoever reads this file has read every exported function. The documentation
//! here is the header's, so it speaks to a C programmer.

#![allow(unsafe_code)]
// The header states each function's demands on its pointers, in C's words.
#![allow(clippy::missing_safety_doc)]

mod types;

use std::ffi::{CString, c_char, c_int};

use crate::boundary::{
    bytes, c_text, code, last_error, optional_c_text, reference, text, zeroed_out,
};
use crate::error::{Code, Error, Result};
use crate::headers::Style;
use crate::limiter::Limiter;
use crate::outcome::Outcome;
use crate::{ip_key, os};

pub use types::*;

/// A policy applied to a store. Made by rl_open(), freed by rl_close(). Any thread may use it, and
/// any number of threads at once.
#[allow(non_camel_case_types)]
pub struct rl_limiter {
    limiter: Limiter,
    rule_names: Vec<CString>,
}

/// Opens a store and applies a policy to it.
///
/// @param store    Path of the store file, NUL-terminated; created with mode 0600 if it is not
///                 there, in an existing directory on a local filesystem. `:memory:` keeps the
///                 counters in this limiter alone, for tests. Symbolic links lead to one store; a
///                 file with a second hard link is refused. Or the address of a server, see A SERVER
///                 AS THE STORE above; other URIs (`file:…`, `scheme://…`) are refused.
/// @param policy   Policy text, NUL-terminated, see above. Applies to this limiter only; other
///                 limiters on the store may have other policies.
/// @param options  NULL for all defaults, or see rl_options.
/// @param limiter  Receives the limiter, or NULL on failure. Free it with rl_close().
///
/// @return RL_OK; RL_EPOLICY; RL_ENOTSTORE, with the file as it was; RL_EINVAL (NULL, an option,
///         a URI, a missing directory, a remote filesystem, another key_secret); RL_EPERM;
///         RL_EFULL; RL_EIO; RL_ECORRUPT; RL_EBUSY; RL_EFORK; RL_EMFILE; RL_ENOMEM. A server is not
///         asked yet, so one that is away is no failure here.
///
/// Any thread, any number at once. If 32 processes open a new path at the same moment, one creates
/// it and all succeed. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_open(
    store: *const c_char,
    policy: *const c_char,
    options: *const rl_options,
    limiter: *mut *mut rl_limiter,
) -> c_int {
    code(|| {
        // SAFETY: the header's promises for these four arguments.
        let (place, store, policy, options) = unsafe {
            let place = zeroed_out(limiter, "limiter")?;
            (place, c_text(store, "store")?, c_text(policy, "policy")?, read_options(options)?)
        };
        let limiter = Limiter::open_bytes(store, policy, &options)?;
        let rule_names = limiter.policy().rules().iter().map(|rule| c_name(rule.name()));
        let rule_names = rule_names.collect::<Result<_>>()?;
        *place = Box::into_raw(Box::new(rl_limiter { limiter, rule_names }));
        Ok(())
    })
}

/// Counts an attempt and says whether it is allowed.
///
/// The attempt is counted in every limit of the rule, also when it is denied. It is allowed if
/// `cost` fits what is left in all of them, and then spent in all of them; else in none. When the
/// function returns RL_OK, every other process sees the count.
///
/// @param limiter  The limiter.
/// @param rule     Name of the rule, NUL-terminated; NULL for the only rule of a policy that has
///                 one. In a policy of several, NULL is RL_ENORULE: a request that fits no route
///                 must not be charged to the first rule.
/// @param key      Who is charged: any bytes, NUL among them, compared as they are. Up to 72 bytes
///                 are stored as they are; of a longer key its first 40 bytes, `#` and its SHA-256.
/// @param key_len  Length of key in bytes, at least 1.
/// @param cost     Units to spend, 0 to RL_MAX_UNITS; 1 for a plain request. 0 counts nothing and
///                 answers like rl_status().
/// @param now_ms   RL_NOW, or the time in milliseconds since the epoch, 0 to 253370764799999
///                 (9998-12-31). Use one clock for all callers of a store.
/// @param result   Receives the answer; all zero on failure, which reads as "denied".
///
/// @return RL_OK, whether allowed or denied; RL_EINVAL; RL_ENORULE; RL_EBUSY; RL_EFULL; RL_EIO;
///         RL_EPERM; RL_ECORRUPT; RL_ENOTSTORE; RL_EFORK; RL_EMFILE; RL_ENOMEM; RL_EINTERNAL; of a
///         server also RL_EUNAVAILABLE, after which the hit may be spent, if the answer was lost.
///         After any other failure nothing is spent; the attempt may stay counted. (What could not be
///         taken back, since that failed too, stays spent until its window ends.) The library never
///         takes an error for an allowance: whether to let a request pass then is your decision.
///
/// Any thread, any number at once. Not from a signal handler. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_hit(
    limiter: *mut rl_limiter,
    rule: *const c_char,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    now_ms: i64,
    result: *mut rl_result,
) -> c_int {
    // SAFETY: the header's promises for these arguments are those of `ask`.
    unsafe {
        ask(limiter, rule, key, key_len, result, |limiter, rule, key| {
            limiter.hit(rule, key, cost, time(now_ms))
        })
    }
}

/// Says what a hit of cost 1 would meet now, and changes nothing. Each counter is read at one moment,
/// several limits one after the other.
///
/// For a key that was never seen, expired or was pruned: count 0, remaining = limit.
///
/// @param limiter, rule, key, key_len, now_ms, result  As for rl_hit().
/// @return As rl_hit().
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_status(
    limiter: *mut rl_limiter,
    rule: *const c_char,
    key: *const c_char,
    key_len: usize,
    now_ms: i64,
    result: *mut rl_result,
) -> c_int {
    // SAFETY: the header's promises for these arguments are those of `ask`.
    unsafe {
        ask(limiter, rule, key, key_len, result, |limiter, rule, key| {
            limiter.status(rule, key, time(now_ms))
        })
    }
}

/// Removes the counters whose window is older than the current and the previous one of their own
/// length, of every rule and policy on the store; and, if this limiter has an audit retention, the
/// audit rows past it. Works in slices of about a millisecond, between which hits go on. What is
/// counted and not yet in the file is written there first, so a time of 0 does only that. A server
/// removes what has expired by itself: there it does nothing, or of an insurance the same in its file.
///
/// @param limiter  The limiter.
/// @param now_ms   As for rl_hit(). Taken literally: a time in the future removes live counters.
/// @param removed  Receives the number of counter rows removed; 0 on failure, though some slices
///                 may be done by then. Audit rows are not counted.
/// @return RL_OK, or as rl_hit(). Each slice may wait for its turn as long as busy_timeout_ms.
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_prune(
    limiter: *mut rl_limiter,
    now_ms: i64,
    removed: *mut i64,
) -> c_int {
    code(|| {
        // SAFETY: the header's promises for these arguments.
        let (removed, limiter) =
            unsafe { (zeroed_out(removed, "removed")?, reference(limiter, "limiter")?) };
        *removed = count(limiter.limiter.prune(time(now_ms))?);
        Ok(())
    })
}

/// Frees a limiter. The store's counters stay, and with option keep_open the process keeps the
/// file open for the next rl_open(). The last limiter of a process writes out what is not in the file
/// yet, for which it may wait as long as busy_timeout_ms; what it cannot write stays in the table. In a
/// process made by clone() or _Fork() it does nothing.
///
/// @param limiter  A limiter, or NULL, which is a no-op. Using it after this is undefined.
///
/// No other thread may be using the limiter. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_close(limiter: *mut rl_limiter) {
    // Not even memory is freed in such a process: its allocator's locks may be held for ever.
    if limiter.is_null() || !os::call::is_permitted() {
        return;
    }
    code(|| {
        // SAFETY: the header's promise: made by `rl_open`, not closed before, used by nobody else.
        drop(unsafe { Box::from_raw(limiter) });
        Ok(())
    });
}

/// Forgets a key: its counters go, attempts too, in every window.
///
/// @param limiter       The limiter.
/// @param rule          Name of the rule; NULL for every rule of this limiter's policy.
/// @param key, key_len  As for rl_hit().
/// @param removed       Receives the number of counter rows removed; 0 on failure.
/// @return RL_OK, or as rl_hit(). After a failure some of the counters may be gone: call it again.
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_reset(
    limiter: *mut rl_limiter,
    rule: *const c_char,
    key: *const c_char,
    key_len: usize,
    removed: *mut i64,
) -> c_int {
    code(|| {
        // SAFETY: the header's promises for these arguments.
        let (removed, limiter, rule, key) = unsafe {
            let removed = zeroed_out(removed, "removed")?;
            let limiter = reference(limiter, "limiter")?;
            (removed, limiter, rule_name(rule)?, bytes(key, key_len, "key")?)
        };
        *removed = count(limiter.limiter.reset(rule, key)?);
        Ok(())
    })
}

/// Gives units back to a key in the current windows of the rule, down to nothing spent: for work
/// that was charged and then not done. The attempts stay counted.
///
/// @param limiter, rule, key, key_len, now_ms, result  As for rl_hit().
/// @param cost  Units to give back, 0 to RL_MAX_UNITS; 0 answers like rl_status().
/// @return As rl_hit(); the result is that of rl_status() afterwards. After a failure nothing was given
///         back.
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_refund(
    limiter: *mut rl_limiter,
    rule: *const c_char,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    now_ms: i64,
    result: *mut rl_result,
) -> c_int {
    // SAFETY: the header's promises for these arguments are those of `ask`.
    unsafe {
        ask(limiter, rule, key, key_len, result, |limiter, rule, key| {
            limiter.refund(rule, key, cost, time(now_ms))
        })
    }
}

/// Finds the first rule whose route fits a request.
///
/// @param limiter  The limiter.
/// @param method   The request's method, NUL-terminated, compared as it is: `POST`.
/// @param target   The request's target as it stands in the request line, NUL-terminated: a path
///                 with or without query, an absolute URI, or `*`. Query and fragment, scheme and
///                 authority do not count. Nothing is decoded: behind a framework that would route
///                 `/%6Cogin` to the login handler, name the rule by the route it matched.
/// @param rule     Receives the rule's name, which lasts until rl_close(); NULL on failure.
/// @return RL_OK; RL_ENORULE if no rule fits, so that nothing is to be charged; RL_EINVAL.
///
/// Any thread, any number at once; no store is touched. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_route(
    limiter: *mut rl_limiter,
    method: *const c_char,
    target: *const c_char,
    rule: *mut *const c_char,
) -> c_int {
    code(|| {
        // SAFETY: the header's promises for these arguments.
        let (rule, limiter, method, target) = unsafe {
            let rule = zeroed_out(rule, "rule")?;
            let limiter = reference(limiter, "limiter")?;
            (rule, limiter, c_text(method, "method")?, c_text(target, "target")?)
        };
        let index = limiter
            .limiter
            .policy()
            .route(method, target)
            .ok_or_else(|| Error::new(Code::NoRule, "no rule fits this method and target"))?;
        *rule = limiter.rule_names[index].as_ptr();
        Ok(())
    })
}

/// Writes the response headers that tell a client where it stands, each line ended by CR LF. They
/// hold numbers and rule names only, never a key.
///
/// @param limiter  The limiter that gave the result.
/// @param result   A result that it filled. One of another policy, or zeroed, is RL_EINVAL.
/// @param style    RL_HEADERS_X, RL_HEADERS_GITHUB or RL_HEADERS_IETF.
/// @param buf      Receives the text and a NUL; may be NULL if cap is 0.
/// @param cap      Size of buf in bytes. If the text does not fit, buf gets "".
/// @return The length of the text without NUL, whether it fitted or not; RL_EINVAL.
///
/// Any thread, any number at once; no store is touched. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_headers(
    limiter: *mut rl_limiter,
    result: *const rl_result,
    style: c_int,
    buf: *mut c_char,
    cap: usize,
) -> c_int {
    let body = || {
        // SAFETY: the header's promises for these arguments.
        let (limiter, result) =
            unsafe { (reference(limiter, "limiter")?, reference(result, "result")?) };
        limiter.limiter.headers(&Outcome::try_from(result)?, style_of(style)?)
    };
    // SAFETY: the header's promise for `buf` and `cap`.
    unsafe { text(buf, cap, body) }
}

/// Writes the body of a refusal, `application/problem+json` by RFC 9457: type, title, status 429,
/// detail, limit, remaining, and retry_after if waiting helps. Never a key. Of an allowed hit it
/// says `about:blank`, OK and 200, so that a mistake does not read as a refusal.
///
/// @param limiter, result, buf, cap  As for rl_headers().
/// @return As rl_headers().
///
/// Any thread, any number at once; no store is touched. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_problem(
    limiter: *mut rl_limiter,
    result: *const rl_result,
    buf: *mut c_char,
    cap: usize,
) -> c_int {
    let body = || {
        // SAFETY: the header's promises for these arguments.
        let (limiter, result) =
            unsafe { (reference(limiter, "limiter")?, reference(result, "result")?) };
        limiter.limiter.problem(&Outcome::try_from(result)?)
    };
    // SAFETY: the header's promise for `buf` and `cap`.
    unsafe { text(buf, cap, body) }
}

/// Makes one key of a client's address: an IPv4 address as it is, also where it comes inside an
/// IPv6 one (`::ffff:1.2.3.4`, `64:ff9b::1.2.3.4`); of other IPv6 addresses the network, since a
/// client has a whole one to choose addresses from: `2001:db8:1:2::/64`.
///
/// @param ip         An address as text, NUL-terminated: no port, no brackets. A zone (`%eth0`) is
///                   dropped.
/// @param v6_prefix  How many leading bits of an IPv6 address make a client, 1 to 128; 0 for 64.
/// @param buf, cap   As for rl_headers(); 44 bytes are always enough.
/// @return As rl_headers(); RL_EINVAL if it is not an address.
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_ip_key(
    ip: *const c_char,
    v6_prefix: c_int,
    buf: *mut c_char,
    cap: usize,
) -> c_int {
    let body = || {
        // SAFETY: the header's promise for `ip`.
        let ip = unsafe { c_text(ip, "ip") }?;
        ip_key::ip_key(&String::from_utf8_lossy(ip), v6_prefix)
    };
    // SAFETY: the header's promise for `buf` and `cap`.
    unsafe { text(buf, cap, body) }
}

/// Writes what is in force as JSON, for people and for monitoring: versions, the store's path,
/// `durability` (`interval`, `hit`), the kind of locks (`ofd`, `posix`), sizes of the files, options;
/// and the shared `table` (null: each hit is a transaction) with its `slots`, `bytes` and `lag`, how far
/// the file is behind: about how many counters are `unwritten`, since when at most (`ms`), and the
/// `cause` if the last try to write them failed, else null. More members may come with later versions.
///
/// Of a server: its `engine` and version, `mode` (`single`, `unix`, `cluster`, `sentinel`), whether it is
/// `reachable` and else the `cause`, `maxmemory_policy` (anything but `noeviction` may take counters away;
/// null if it does not tell), timeouts; `insurance`, where there is one: whether it is `active`, how often
/// that changed (`switches`), when it last did (`switched_ms`), and its `local` store. Asks the server, and
/// does not fail if it is away.
///
/// @param limiter, buf, cap  As for rl_headers().
/// @return As rl_headers(), or the store's failures as rl_hit().
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_info(limiter: *mut rl_limiter, buf: *mut c_char, cap: usize) -> c_int {
    let body = || {
        // SAFETY: the header's promise for `limiter`.
        unsafe { reference(limiter, "limiter") }?.limiter.info()
    };
    // SAFETY: the header's promise for `buf` and `cap`.
    unsafe { text(buf, cap, body) }
}

/// The name of a rule by its index, as in rl_result.
///
/// @return A NUL-terminated name that lasts until rl_close(); NULL past the last rule, or if
///         limiter is NULL.
///
/// Any thread, any number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_rule_name(limiter: *mut rl_limiter, rule: i64) -> *const c_char {
    // SAFETY: the header's promise for `limiter`.
    let limiter = unsafe { reference(limiter, "limiter") };
    let name = limiter.ok().and_then(|known| known.rule_names.get(usize::try_from(rule).ok()?));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// What a code means, in general words. rl_last_error() says what happened.
///
/// @return A constant NUL-terminated text, also for a code that this library does not know.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn rl_strerror(code: c_int) -> *const c_char {
    let text = match (code, Code::from_number(code)) {
        (RL_OK, _) => c"success",
        (_, Some(code)) => code.description(),
        _ if code > 0 => c"success: the length of a text",
        _ => c"an unknown code",
    };
    text.as_ptr()
}

/// This thread's last failure in one line: what failed, on what, what to do. It never holds a key
/// or a secret.
///
/// @return A NUL-terminated text, empty if this thread's last call that returns a code or a length
///         succeeded. It lasts until this thread's next such call.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn rl_last_error() -> *const c_char {
    last_error()
}

/// The version of the library that is loaded, such as "0.1.0": a constant NUL-terminated text. The
/// header's own is RL_VERSION. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn rl_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The number of the ABI of the library that is loaded, to compare with RL_ABI_VERSION.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn rl_abi_version() -> c_int {
    RL_ABI_VERSION
}

/// # Safety
///
/// As the header promises for `rl_hit`: `limiter` is NULL or live, `rule` NULL or a text, `key`
/// NULL or readable for `key_len`, `result` NULL or writable.
unsafe fn ask(
    limiter: *mut rl_limiter,
    rule: *const c_char,
    key: *const c_char,
    key_len: usize,
    result: *mut rl_result,
    question: impl FnOnce(&Limiter, Option<&str>, &[u8]) -> Result<Outcome>,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promises, argument by argument.
        let (result, limiter, rule, key) = unsafe {
            let result = zeroed_out(result, "result")?;
            let limiter = reference(limiter, "limiter")?;
            (result, limiter, rule_name(rule)?, bytes(key, key_len, "key")?)
        };
        *result = question(&limiter.limiter, rule, key)?.into();
        Ok(())
    })
}

/// # Safety
///
/// `rule` is NULL or a NUL-terminated text that lives for the time of the call.
unsafe fn rule_name<'a>(rule: *const c_char) -> Result<Option<&'a str>> {
    // SAFETY: the caller's promise.
    let name = unsafe { optional_c_text(rule) };
    name.map(|name| {
        std::str::from_utf8(name)
            .map_err(|_| Error::new(Code::NoRule, "the policy has no rule of that name: not UTF-8"))
    })
    .transpose()
}

/// # Safety
///
/// `options` is NULL, or readable for as many bytes as its first field says.
unsafe fn read_options(options: *const rl_options) -> Result<crate::Options> {
    let mut known = ALL_DEFAULTS;
    if !options.is_null() {
        // SAFETY: the caller's promise covers the first field at least.
        let size = *unsafe { reference(options.cast::<u64>(), "options") }?;
        let size = usize::try_from(size).ok();
        // Half a field is no field: a size that ends inside one is a mistake.
        let size = size.filter(|size| (8..=4096).contains(size) && size % size_of::<u64>() == 0);
        let Some(size) = size else {
            let message = "options.struct_size is not a size: set it to sizeof(rl_options)";
            return Err(Error::invalid(message));
        };
        // SAFETY: the caller's promise: readable for `size` bytes.
        let given = unsafe { std::slice::from_raw_parts(options.cast::<u8>(), size) };
        let shared = size.min(size_of::<rl_options>());
        if given[shared..].iter().any(|&byte| byte != 0) {
            return Err(Error::invalid(
                "options has fields of a newer header that this library does not know: use a \
                 newer library, or leave them 0",
            ));
        }
        // SAFETY: `known` is a plain C structure of at least `shared` bytes, in which any bytes
        // are a value; the two do not overlap.
        unsafe { std::ptr::from_mut(&mut known).cast::<u8>().copy_from(given.as_ptr(), shared) };
    }
    let secret = if known.key_secret.is_null() {
        if known.key_secret_len != 0 {
            return Err(Error::invalid("option key_secret is NULL, its length is not 0"));
        }
        None
    } else {
        let length = usize::try_from(known.key_secret_len).unwrap_or(usize::MAX);
        // SAFETY: the header's promise for the two fields.
        Some(unsafe { bytes(known.key_secret, length, "option key_secret") }?)
    };
    // SAFETY: the header's promise for the two texts.
    let texts = unsafe {
        Texts {
            key_secret: secret,
            insurance: optional_c_text(known.insurance),
            insurance_policy: optional_c_text(known.insurance_policy),
        }
    };
    known.checked(&texts)
}

fn time(now_ms: i64) -> Option<i64> {
    (now_ms != RL_NOW).then_some(now_ms)
}

fn style_of(style: c_int) -> Result<Style> {
    match style {
        RL_HEADERS_X => Ok(Style::X),
        RL_HEADERS_GITHUB => Ok(Style::GitHub),
        RL_HEADERS_IETF => Ok(Style::Ietf),
        _ => Err(Error::invalid(format!("style {style} is none of RL_HEADERS_…"))),
    }
}

fn c_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::new(Code::Internal, "a rule name has a NUL"))
}

fn count(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
