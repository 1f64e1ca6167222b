//! The part of `include/ratelite.h` that is measured, loaded as any host loads it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::LazyLock;

use libloading::Library;

use crate::peer::Answered;

pub const RL_NOW: i64 = -1;
pub const RL_OK: c_int = 0;
pub const RL_ON: i64 = 1;
pub const RL_OFF: i64 = 2;
pub const RL_DURABLE_DEFAULT: i64 = 0;
pub const RL_DURABLE_HIT: i64 = 1;
pub const RL_DURABLE_INTERVAL: i64 = 2;
const RL_ABI_VERSION: c_int = 1;

/// Room for what rl_info says.
const INFO_BYTES: usize = 16_384;

/// `rl_limiter`.
pub type Limiter = c_void;

/// `rl_options`. What is 0 is the default.
#[repr(C)]
#[derive(Default)]
pub struct Options {
    pub struct_size: u64,
    pub busy_timeout_ms: i64,
    pub durability: i64,
    pub flush_interval_ms: i64,
    pub auto_prune: i64,
    pub keep_open: i64,
    pub audit: i64,
    pub recover_corrupt: i64,
    pub audit_retention_s: i64,
    pub file_mode: i64,
    pub table_slots: i64,
    pub key_secret: Option<NonNull<c_char>>,
    pub key_secret_len: u64,
    pub connect_timeout_ms: i64,
    pub command_timeout_ms: i64,
    pub remember_denied: i64,
    pub insurance: Option<NonNull<c_char>>,
    pub insurance_policy: Option<NonNull<c_char>>,
    pub insurance_percent: i64,
}

/// `rl_result`.
#[repr(C)]
#[derive(Default)]
pub struct Outcome {
    pub allowed: i64,
    limit: i64,
    count: i64,
    remaining: i64,
    reset_at: i64,
    retry_after: i64,
    window_start_ms: i64,
    window_ms: i64,
    now_ms: i64,
    rule: i64,
    limit_index: i64,
    insured: i64,
    reserved: [i64; 4],
}

type Open =
    unsafe extern "C" fn(*const c_char, *const c_char, *const Options, *mut *mut Limiter) -> c_int;
type Hit = unsafe extern "C" fn(
    *mut Limiter,
    *const c_char,
    *const c_char,
    usize,
    i64,
    i64,
    *mut Outcome,
) -> c_int;
type Prune = unsafe extern "C" fn(*mut Limiter, i64, *mut i64) -> c_int;
type Info = unsafe extern "C" fn(*mut Limiter, *mut c_char, usize) -> c_int;
type Close = unsafe extern "C" fn(*mut Limiter);
type Text = unsafe extern "C" fn() -> *const c_char;
type AbiVersion = unsafe extern "C" fn() -> c_int;

pub struct Abi {
    pub open: Open,
    pub hit: Hit,
    pub prune: Prune,
    pub close: Close,
    info: Info,
    last_error: Text,
    version: Text,
}

static ABI: LazyLock<Answered<Abi>> = LazyLock::new(|| {
    let path = std::env::var("RATELITE_LIBRARY")
        .map_err(|_| "RATELITE_LIBRARY does not name ratelite's library".to_owned())?;
    load(&path).map_err(|error| format!("cannot load \"{path}\": {error}"))
});

/// The library that RATELITE_LIBRARY names.
pub fn abi() -> Answered<&'static Abi> {
    ABI.as_ref().map_err(Clone::clone)
}

fn load(path: &str) -> Answered<Abi> {
    // Stays loaded to the end, so the functions may be kept as plain pointers.
    // SAFETY: ratelite's initialisers do nothing that depends on this program.
    let library = ManuallyDrop::new(unsafe { Library::new(path) }.map_err(|e| e.to_string())?);
    // SAFETY: the type is the header's, for any ABI number.
    let abi_version = unsafe { symbol::<AbiVersion>(&library, c"rl_abi_version") }?;
    // SAFETY: it takes nothing and always may be called.
    let number = unsafe { abi_version() };
    if number != RL_ABI_VERSION {
        return Err(format!("its ABI is {number}, not {RL_ABI_VERSION}"));
    }
    // SAFETY: the types are those of the header of this ABI number.
    unsafe {
        Ok(Abi {
            open: symbol(&library, c"rl_open")?,
            hit: symbol(&library, c"rl_hit")?,
            prune: symbol(&library, c"rl_prune")?,
            close: symbol(&library, c"rl_close")?,
            info: symbol(&library, c"rl_info")?,
            last_error: symbol(&library, c"rl_last_error")?,
            version: symbol(&library, c"rl_version")?,
        })
    }
}

/// # Safety
///
/// `F` is the type of the function `name`.
unsafe fn symbol<F: Copy>(library: &Library, name: &CStr) -> Answered<F> {
    // SAFETY: by the caller's promise.
    unsafe { library.get::<F>(name) }.map(|symbol| *symbol).map_err(|error| error.to_string())
}

impl Abi {
    /// The answer of a call with this code, which is this thread's last.
    #[inline]
    pub fn check(&self, code: c_int) -> Answered<()> {
        if code == RL_OK { Ok(()) } else { Err(self.error(code)) }
    }

    pub fn version(&self) -> String {
        // SAFETY: the text is NUL-terminated and constant.
        let text = unsafe { CStr::from_ptr((self.version)()) };
        format!("ratelite {}", text.to_string_lossy())
    }

    /// # Safety
    ///
    /// The limiter is open.
    pub unsafe fn info(&self, limiter: *mut Limiter) -> Answered<serde_json::Value> {
        let mut text = vec![0_u8; INFO_BYTES];
        // SAFETY: the limiter by the caller's promise; `text` has the size that is said.
        let length = unsafe { (self.info)(limiter, text.as_mut_ptr().cast(), text.len()) };
        let length = usize::try_from(length).map_err(|_| self.error(length))?;
        let text = text.get(..length).ok_or("rl_info says more than expected")?;
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    #[cold]
    fn error(&self, code: c_int) -> String {
        // SAFETY: the text is NUL-terminated and lasts until this thread's next call.
        let text = unsafe { CStr::from_ptr((self.last_error)()) };
        format!("{} ({code})", text.to_string_lossy())
    }
}
