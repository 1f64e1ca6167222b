//! What can go wrong, as a code for programs and one line for people.

use std::ffi::CStr;
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

impl Code {
    const ALL: [Self; 14] = [
        Self::Invalid,
        Self::Policy,
        Self::NoRule,
        Self::Busy,
        Self::Full,
        Self::Io,
        Self::Permission,
        Self::Corrupt,
        Self::NotStore,
        Self::Fork,
        Self::DescriptorsExhausted,
        Self::NoMemory,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The code of this number, if there is one.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as i32 == number)
    }

    /// In a few words.
    pub(crate) fn description(self) -> &'static CStr {
        match self {
            Self::Invalid => c"an argument is out of its range",
            Self::Policy => c"the policy does not parse",
            Self::NoRule => c"no such rule",
            Self::Busy => c"the store was busy until the deadline",
            Self::Full => c"the disk is full",
            Self::Io => c"reading or writing the store failed",
            Self::Permission => c"access to the store was refused",
            Self::Corrupt => c"the store is damaged",
            Self::NotStore => c"the file is not a store of this version",
            Self::Fork => c"this process was made by clone() and inherited the store",
            Self::DescriptorsExhausted => c"no file descriptor is free",
            Self::NoMemory => c"no memory is left",
            Self::Unavailable => c"the store server cannot be reached",
            Self::Internal => c"a bug in ratelite",
        }
    }
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
