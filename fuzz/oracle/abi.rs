//! The whole ABI: bytes choose the functions and every argument of theirs.

use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use ratelite::capi::*;

use super::call::{self, GARBAGE, documented, is_zero, plausible};
use super::input::{Input, c_text, pointer};

/// What each function's documentation names. RL_EINTERNAL is among them there, and a bug here.
const OPENING: [c_int; 11] = [
    RL_EPOLICY,
    RL_ENOTSTORE,
    RL_EINVAL,
    RL_EPERM,
    RL_EFULL,
    RL_EIO,
    RL_ECORRUPT,
    RL_EBUSY,
    RL_EFORK,
    RL_EMFILE,
    RL_ENOMEM,
];
/// Of a store that nothing happens to: only what the arguments can be blamed for.
const ASKING: [c_int; 2] = [RL_EINVAL, RL_ENORULE];

/// No call may take longer for it, but more is no more interesting.
const MOST_CALLS: usize = 24;

/// Every key and every secret begins with this, so that a message that holds one is seen.
const MARK: &[u8] = b"K3Y-M4RK";

pub fn abi(bytes: &[u8]) {
    // A fuzzer learns the mark, and puts it where a message may well repeat it.
    if bytes.windows(MARK.len()).any(|window| window == MARK) {
        return;
    }
    let mut input = Input::new(bytes);
    let mut limiter = open(&mut input);
    for _ in 0..MOST_CALLS {
        if input.is_empty() {
            break;
        }
        match input.below(14) {
            0 => {
                call::close(limiter);
                limiter = open(&mut input);
            }
            1..=3 => hit(limiter, &mut input),
            4 => status(limiter, &mut input),
            5 => refund(limiter, &mut input),
            6 => reset(limiter, &mut input),
            7 => prune(limiter, &mut input),
            8 => route(limiter, &mut input),
            9 => texts(limiter, &mut input),
            10 => ip_key(&mut input),
            11 => names(limiter, &mut input),
            12 => misaligned(limiter),
            _ => huge_lengths(limiter),
        }
    }
    call::close(limiter);
    remove_files();
}

fn open(input: &mut Input) -> *mut rl_limiter {
    let (store, policy) = (store(input), input.text());
    let secret = input.text().map(|secret| c_text(&[MARK, secret.as_bytes()].concat()));
    let options = options(input, &secret);
    let options = options.as_ref().map_or(null(), |options| options.as_ptr().cast());
    let mut limiter = std::ptr::without_provenance_mut(8);
    // SAFETY: texts or NULL, options as long as they say, and a place for the limiter.
    let code = unsafe { rl_open(pointer(&store), pointer(&policy), options, &mut limiter) };
    documented(code, &OPENING);
    assert_eq!(code == RL_OK, !limiter.is_null());
    tells_nothing();
    limiter
}

/// A store in memory, a file in a directory of this process alone, or what is no file.
fn store(input: &mut Input) -> Option<CString> {
    let name: Vec<u8> = match input.below(8) {
        0 => return None,
        1 => [b"file:", input.bytes()].concat(),
        2 => [&input.take(3).iter().map(letter).collect::<Vec<_>>(), &b"x://"[..], input.bytes()]
            .concat(),
        // The directory itself, and what cannot be in it.
        3 => in_directory(
            &[&input.take(3).iter().map(not_slash).collect::<Vec<_>>(), &b"/"[..]].concat(),
        ),
        4 => in_directory(&input.bytes().iter().map(not_slash).collect::<Vec<_>>()),
        _ => b":memory:".to_vec(),
    };
    Some(c_text(&name))
}

fn in_directory(name: &[u8]) -> Vec<u8> {
    [directory().as_os_str().as_encoded_bytes(), b"/", name].concat()
}

/// Of a scheme, so that no file is made where the fuzzer happens to run.
fn letter(byte: &u8) -> u8 {
    b'a' + byte % 26
}

fn not_slash(byte: &u8) -> u8 {
    if *byte == b'/' { b'_' } else { *byte }
}

/// Options of any size, with any bytes; but where a pointer stands, one that may be followed. In
/// memory of just that size, rounded up to whole words.
fn options(input: &mut Input, secret: &Option<CString>) -> Option<Vec<u64>> {
    let size = match input.below(8) {
        0 => return None,
        1..=3 => size_of::<rl_options>() as i64,
        4 => input.byte().into(),
        5 => i64::from(input.byte()) * 17,
        _ => input.number(),
    };
    let length = usize::try_from(size).unwrap_or(0).clamp(8, 4096).div_ceil(8);
    let mut words = vec![0; length];
    words[0] = size as u64;
    for _ in 0..input.below(6) {
        let (index, value) = (usize::from(input.below(16)), input.number());
        if (1..length).contains(&index) {
            words[index] = value as u64;
        }
    }
    let at = std::mem::offset_of!(rl_options, key_secret) / 8;
    if at < length {
        words[at] = pointer(secret).expose_provenance() as u64;
    }
    if at + 1 < length {
        let most = secret.as_ref().map_or(1, |secret| secret.as_bytes().len() as u64 + 1);
        words[at + 1] %= most;
    }
    Some(words)
}

/// A key, and the bytes that it stands in.
fn key(input: &mut Input) -> Option<Vec<u8>> {
    match input.below(16) {
        0 => None,
        1 => Some(Vec::new()),
        2 => Some([MARK, &vec![input.byte(); usize::from(input.byte()) << 8]].concat()),
        _ => Some([MARK, input.bytes()].concat()),
    }
}

fn asked(
    limiter: *mut rl_limiter,
    input: &mut Input,
    ask: impl FnOnce(*const c_char, *const c_char, usize, *mut rl_result) -> c_int,
) {
    let rule = rule(limiter, input);
    let key = key(input);
    let (start, length) = match &key {
        Some(key) => (key.as_ptr().cast(), key.len()),
        None => (null(), input.byte().into()),
    };
    let mut result = GARBAGE;
    let wants_result = input.below(16) != 15;
    let place = if wants_result { &raw mut result } else { null_mut() };
    let code = ask(pointer(&rule), start, length, place);
    documented(code, &ASKING);
    tells_nothing();
    match (wants_result, code) {
        (false, code) => assert_eq!(code, RL_EINVAL),
        (true, RL_OK) => plausible(&result),
        (true, _) => assert!(is_zero(&result), "{result:?}"),
    }
}

fn tells_nothing() {
    assert!(!call::last_error().contains("K3Y-M4RK"), "{}", call::last_error());
}

/// NULL, one of the policy's own names, or any text.
fn rule(limiter: *mut rl_limiter, input: &mut Input) -> Option<CString> {
    match input.below(4) {
        0 => None,
        1 => {
            // SAFETY: NULL or a live limiter; the name lasts longer than this copy of it takes.
            let name = unsafe { rl_rule_name(limiter, input.byte().into()) };
            // SAFETY: not NULL, so a text.
            (!name.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(name) }.to_owned())
        }
        _ => input.text(),
    }
}

fn hit(limiter: *mut rl_limiter, input: &mut Input) {
    let (cost, now) = (input.number(), input.number());
    asked(limiter, input, |rule, key, length, result| {
        // SAFETY: NULL or alive, NULL or a text, a key of that length, NULL or a place.
        unsafe { rl_hit(limiter, rule, key, length, cost, now, result) }
    });
}

fn status(limiter: *mut rl_limiter, input: &mut Input) {
    let now = input.number();
    asked(limiter, input, |rule, key, length, result| {
        // SAFETY: as for a hit.
        unsafe { rl_status(limiter, rule, key, length, now, result) }
    });
}

fn refund(limiter: *mut rl_limiter, input: &mut Input) {
    let (cost, now) = (input.number(), input.number());
    asked(limiter, input, |rule, key, length, result| {
        // SAFETY: as for a hit.
        unsafe { rl_refund(limiter, rule, key, length, cost, now, result) }
    });
}

fn reset(limiter: *mut rl_limiter, input: &mut Input) {
    let rule = rule(limiter, input);
    let key = key(input).unwrap_or_default();
    let mut removed = -7;
    // SAFETY: as for a hit.
    let code =
        unsafe { rl_reset(limiter, pointer(&rule), key.as_ptr().cast(), key.len(), &mut removed) };
    documented(code, &ASKING);
    tells_nothing();
    assert!(removed == 0 || (removed > 0 && code == RL_OK), "{code} {removed}");
}

fn prune(limiter: *mut rl_limiter, input: &mut Input) {
    let mut removed = -7;
    // SAFETY: NULL or alive, and a place.
    let code = unsafe { rl_prune(limiter, input.number(), &mut removed) };
    documented(code, &[RL_EINVAL]);
    assert!(removed == 0 || (removed > 0 && code == RL_OK), "{code} {removed}");
}

fn route(limiter: *mut rl_limiter, input: &mut Input) {
    let (method, target) = (input.text(), input.text());
    let mut rule = c"not set".as_ptr();
    // SAFETY: NULL or alive, NULL or texts, and a place.
    let code = unsafe { rl_route(limiter, pointer(&method), pointer(&target), &mut rule) };
    documented(code, &ASKING);
    assert_eq!(code == RL_OK, !rule.is_null());
}

/// `rl_headers`, `rl_problem` and `rl_info`, of results that no limiter has made.
fn texts(limiter: *mut rl_limiter, input: &mut Input) {
    let mut words = [0_i64; 16];
    for word in &mut words {
        *word = input.number();
    }
    let words = (input.below(16) != 15).then_some(words);
    let result = words.as_ref().map_or(null(), |words| words.as_ptr().cast());
    let (style, cap) = (input.number() as c_int, usize::from(input.byte()));
    // SAFETY: NULL or alive, NULL or sixteen words, and a buffer of the size that is told.
    let headers = |buf, cap| unsafe { rl_headers(limiter, result, style, buf, cap) };
    // SAFETY: as above.
    let problem = |buf, cap| unsafe { rl_problem(limiter, result, buf, cap) };
    // SAFETY: as above.
    let info = |buf, cap| unsafe { rl_info(limiter, buf, cap) };
    let _ = call::text(cap, &[RL_EINVAL], headers);
    let _ = call::text(cap, &[RL_EINVAL], problem);
    let info = call::text(cap, &[RL_EINVAL], info);
    assert_eq!(info.is_ok(), !limiter.is_null());
    if let Ok(info) = info {
        let _: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    }
    if cap > 0 {
        // SAFETY: NULL is what is tried.
        documented(unsafe { rl_info(limiter, null_mut(), cap) }, &[RL_EINVAL]);
    }
}

fn ip_key(input: &mut Input) {
    let (prefix, cap, ip) = (input.number() as c_int, usize::from(input.byte()), input.text());
    // SAFETY: NULL or a text, and a buffer of the size that is told.
    let write = |buf, cap| unsafe { rl_ip_key(pointer(&ip), prefix, buf, cap) };
    let _ = call::text(cap, &[RL_EINVAL], write);
}

fn names(limiter: *mut rl_limiter, input: &mut Input) {
    let number = input.number();
    // SAFETY: NULL or alive.
    let name = unsafe { rl_rule_name(limiter, number) };
    assert!(name.is_null() || (number >= 0 && !limiter.is_null()));
    assert!(!rl_strerror(number as c_int).is_null());
}

fn misaligned(limiter: *mut rl_limiter) {
    let mut space = [0_u64; 20];
    let odd = space.as_mut_ptr().cast::<u8>().wrapping_add(1);
    // SAFETY: readable and writable for more than any of the types; it is not aligned, which is
    // what is tried.
    let codes = unsafe {
        [
            rl_hit(limiter, null(), MARK.as_ptr().cast(), 8, 1, 0, odd.cast()),
            rl_hit(odd.cast(), null(), MARK.as_ptr().cast(), 8, 1, 0, &mut { GARBAGE }),
            rl_open(c":memory:".as_ptr(), c"1/s".as_ptr(), odd.cast(), &mut null_mut()),
            rl_open(c":memory:".as_ptr(), c"1/s".as_ptr(), null(), odd.cast()),
            rl_prune(limiter, 0, odd.cast()),
            rl_headers(limiter, odd.cast(), 0, null_mut(), 0),
        ]
    };
    assert_eq!(codes, [RL_EINVAL; 6]);
    assert_eq!(space, [0; 20], "written through a misaligned pointer");
}

/// Lengths beyond any memory, which must be refused before a byte is read.
fn huge_lengths(limiter: *mut rl_limiter) {
    for length in [usize::MAX, isize::MAX as usize + 1] {
        let mut result = GARBAGE;
        // SAFETY: the length is false, which is what is tried: it may not be believed.
        let code = unsafe {
            rl_hit(limiter, null(), MARK.as_ptr().cast(), length, 1, RL_NOW, &mut result)
        };
        documented(code, &[RL_EINVAL]);
        assert!(code == RL_EINVAL && is_zero(&result));
    }
}

/// A directory of this process alone, which is there when a store is to be opened.
fn directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let own = parent.join(format!("ratelite-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&own).expect("a directory");
    own
}

fn remove_files() {
    std::fs::remove_dir_all(directory()).expect("only our own files are in it");
}
