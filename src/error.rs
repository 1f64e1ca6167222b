//! What can go wrong, as a code for programs and one line for people.

use std::path::Path;

/// The kind of failure. The numbers are the C ABI's `RL_E…` constants and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// An argument is out of its range.
    Invalid = -1,
    /// The policy text does not parse.
    Policy = -2,
    /// The policy has no rule of that name, or no rule was named where several exist.
    NoRule = -3,
    /// The store was locked by others until the deadline.
    Busy = -4,
    /// The disk is full.
    Full = -5,
    /// Reading or writing the store failed.
    Io = -6,
    /// The operating system refused access.
    Permission = -7,
    /// The store, or the row asked for, is damaged.
    Corrupt = -8,
    /// What stands at the path is not a store of ours, or is from a newer version.
    NotStore = -9,
    /// This process was made by `clone()` or `_Fork()`, behind the fork handlers' back.
    Fork = -10,
    /// No file descriptor is free.
    DescriptorsExhausted = -11,
    /// No memory is left.
    NoMemory = -12,
    /// The store server cannot be reached.
    Unavailable = -13,
    /// A bug in this library: a panic was caught.
    Internal = -14,
}

/// A failed call: its [`Code`] and one line that says what failed, on what, and what to do.
/// The line never holds a key or a secret.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    code: Code,
    message: String,
}

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// The kind of failure.
    pub fn code(&self) -> Code {
        self.code
    }
}

/// The result of a fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A path as it stands in a message: in quotes, on one line whatever it holds.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().escape_debug())
}
