//! Why a path cannot be used as a store, in a code and a sentence.

use std::io;
use std::path::Path;

use crate::errno;
use crate::error::{Code, Error, quoted};

pub(super) fn refusal(path: &Path, code: Code, why: &str) -> Error {
    Error::new(code, format!("cannot use {} as a store: {why}", quoted(path)))
}

pub(super) fn open_error(path: &Path, error: &io::Error, hint: &str) -> Error {
    if error.kind() == io::ErrorKind::Unsupported && error.raw_os_error().is_none() {
        return refusal(path, Code::NotStore, &format!("{hint}: {error}"));
    }
    let errno = error.raw_os_error().unwrap_or_default();
    let (code, cure) = errno::meaning(errno).unwrap_or(match errno {
        libc::ELOOP => (Code::NotStore, "a symbolic link stands where a file belongs: remove it"),
        libc::ENOENT | libc::ENOTDIR => (Code::Io, "its directory has gone: create it"),
        _ => (Code::Io, "check the disk"),
    });
    let hint = if hint.is_empty() { String::new() } else { format!("{hint}: ") };
    Error::new(code, format!("cannot open store {}: {hint}{error}; {cure}", quoted(path)))
}
