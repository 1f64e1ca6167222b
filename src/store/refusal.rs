//! Why a path cannot be used as a store, in a code and a sentence.

use std::io;
use std::path::Path;

use crate::error::{Code, Error, quoted};

pub(super) fn refusal(path: &Path, code: Code, why: &str) -> Error {
    Error::new(code, format!("cannot use {} as a store: {why}", quoted(path)))
}

pub(super) fn open_error(path: &Path, error: &io::Error, hint: &str) -> Error {
    let (code, cure) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
            (Code::Permission, "it and its directory must be readable and writable for this user")
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            (Code::DescriptorsExhausted, "raise the limit of open files (ulimit -n)")
        }
        Some(libc::ENOSPC | libc::EDQUOT) => (Code::Full, "free space on its disk"),
        Some(libc::ENOMEM) => (Code::NoMemory, "free memory"),
        Some(libc::ENOENT | libc::ENOTDIR) => (Code::Io, "its directory has gone: create it"),
        _ => (Code::Io, "check the disk"),
    };
    let hint = if hint.is_empty() { String::new() } else { format!("{hint}: ") };
    Error::new(code, format!("cannot open store {}: {hint}{error}; {cure}", quoted(path)))
}
