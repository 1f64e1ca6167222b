//! The one boundary between C and the safe core: pointers become references, `Result` becomes a
//! code, a panic becomes `RL_EINTERNAL`, and the error text stays with the thread.

#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Code, Error, Result};

thread_local! {
    static LAST_ERROR: RefCell<Option<CString>> = const { RefCell::new(None) };
    static PANIC_TEXT: RefCell<Option<String>> = const { RefCell::new(None) };
    static THREAD: Thread = const { Thread { guarded: Cell::new(0), has_error: Cell::new(false) } };
}

/// What every call looks at: in one place, and without a destructor, which would have to be asked for.
struct Thread {
    /// How many guarded calls this thread is in.
    guarded: Cell<u32>,
    /// Whether there is a text in [`LAST_ERROR`].
    has_error: Cell<bool>,
}

/// Runs the body of an exported function that returns a code.
pub(crate) fn code(body: impl FnOnce() -> Result<()>) -> c_int {
    match guarded(body) {
        Ok(()) => 0,
        Err(error) => error.code() as c_int,
    }
}

/// Runs the body of an exported function that returns the length of a text, which goes to `buf`
/// if it fits there with its NUL; else `buf` gets an empty text.
///
/// # Safety
///
/// `buf` is NULL or writable for `cap` bytes.
pub(crate) unsafe fn text(
    buf: *mut c_char,
    cap: usize,
    body: impl FnOnce() -> Result<String>,
) -> c_int {
    let outcome = guarded(|| {
        if buf.is_null() && cap > 0 {
            return Err(Error::invalid("buf is NULL: give a buffer, or a cap of 0"));
        }
        let text = body()?;
        let length = c_int::try_from(text.len())
            .map_err(|_| Error::new(Code::Internal, "the text is over 2 GiB"))?;
        Ok((text, length))
    });
    // Only now: an argument may stand in this very buffer.
    let (text, length) = match outcome {
        Ok((text, length)) if text.len() < cap => (text, length),
        Ok((_, length)) => (String::new(), length),
        Err(error) => (String::new(), error.code() as c_int),
    };
    if !buf.is_null() && cap > 0 {
        // SAFETY: the caller's promise; the text with its NUL fits `cap`, and is an allocation of
        // its own.
        unsafe {
            buf.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            buf.add(text.len()).write(0);
        }
    }
    length
}

/// Keeps a panic from crossing into C, and this thread's error text up to date.
fn guarded<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    keep_panics_off_stderr();
    THREAD.with(|thread| thread.guarded.set(thread.guarded.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let text = PANIC_TEXT.take().unwrap_or_default();
        Err(Error::new(Code::Internal, format!("a bug in ratelite, please report it: {text}")))
    });
    THREAD.with(|thread| {
        thread.guarded.set(thread.guarded.get() - 1);
        if outcome.is_err() || thread.has_error.get() {
            thread.has_error.set(outcome.is_err());
            remember(outcome.as_ref().err());
        }
    });
    outcome
}

/// The default hook prints to the host's stderr. Ours is silent for panics that [`guarded`] will
/// catch, and leaves all others to whoever had the hook before.
fn keep_panics_off_stderr() {
    // Not a `Once`: a fork in the midst of it would leave the child waiting for ever.
    static DONE: AtomicBool = AtomicBool::new(false);
    // A host that calls from a destructor while it panics: the hook cannot be changed then.
    if DONE.load(Ordering::Relaxed)
        || std::thread::panicking()
        || DONE.swap(true, Ordering::Relaxed)
    {
        return;
    }
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if THREAD.with(|thread| thread.guarded.get()) == 0 {
            return others(panic);
        }
        PANIC_TEXT.set(Some(panic.to_string().replace('\n', " ")));
    }));
}

#[cold]
fn remember(error: Option<&Error>) {
    // Messages have no NUL; if one ever had, the rest of it would still be worth reading.
    let text = error.and_then(|error| CString::new(error.to_string().replace('\0', "\\0")).ok());
    // While the thread ends, or in a crash handler inside a call, there is no place for the text:
    // the code is enough then.
    let _ = LAST_ERROR.try_with(|last| last.try_borrow_mut().map(|mut last| *last = text));
}

/// The text of this thread's last failed call; empty if that one succeeded.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR
        .try_with(|last| last.try_borrow().ok()?.as_ref().map(|text| text.as_ptr()))
        .ok()
        .flatten()
        .unwrap_or(c"".as_ptr())
}

/// # Safety
///
/// `pointer` is NULL or points to a live `T` for the time of the call.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    check_pointer(pointer, name)?;
    // SAFETY: the caller's promise, with NULL and misalignment ruled out.
    Ok(unsafe { &*pointer })
}

/// A place for a result, zeroed at once: whoever ignores the code reads a denial.
///
/// # Safety
///
/// `pointer` is NULL or writable for a `T`, for which zero bytes are a value, and nobody else uses
/// it during the call.
pub(crate) unsafe fn zeroed_out<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    check_pointer(pointer, name)?;
    // SAFETY: the caller's promise, with NULL and misalignment ruled out; written before it is
    // borrowed, so it need not be initialised.
    unsafe {
        pointer.write_bytes(0, 1);
        Ok(&mut *pointer)
    }
}

fn check_pointer<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::invalid(format!("{name} is NULL")));
    }
    if !pointer.is_aligned() {
        return Err(Error::invalid(format!("{name} is not aligned to its type")));
    }
    Ok(())
}

/// # Safety
///
/// `pointer` is NULL or a NUL-terminated text that lives for the time of the call.
pub(crate) unsafe fn c_text<'a>(pointer: *const c_char, name: &str) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { optional_c_text(pointer) }.ok_or_else(|| Error::invalid(format!("{name} is NULL")))
}

/// # Safety
///
/// As [`c_text`].
pub(crate) unsafe fn optional_c_text<'a>(pointer: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise, with NULL ruled out.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// # Safety
///
/// `pointer` is NULL or readable for `length` bytes during the call.
pub(crate) unsafe fn bytes<'a>(
    pointer: *const c_char,
    length: usize,
    name: &str,
) -> Result<&'a [u8]> {
    if pointer.is_null() {
        return Err(Error::invalid(format!("{name} is NULL")));
    }
    if isize::try_from(length).is_err() {
        return Err(Error::invalid(format!("the length of {name} is beyond any memory")));
    }
    // SAFETY: the caller's promise, with NULL and impossible lengths ruled out.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code_and_a_text() {
        let code = code(|| panic!("two\nlines"));
        assert_eq!(code, Code::Internal as c_int);
        // SAFETY: the text lives until this thread's next guarded call.
        let text = unsafe { CStr::from_ptr(last_error()) }.to_str().unwrap();
        assert!(text.contains("two lines"), "{text}");
        assert_eq!(super::code(|| Ok(())), 0);
        // SAFETY: as above.
        assert!(unsafe { CStr::from_ptr(last_error()) }.is_empty());
    }
}
