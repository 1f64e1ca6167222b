//! What a library for tests goes without, so that a test can prove that it fails then.
//!
//! The switches stand in the library's own file, where tests set them before they load it: so one
//! build serves all tests, and there is nothing that the environment of a host could turn on. A
//! library that was built without the feature `test-switches` has none.

use std::sync::atomic::{AtomicU8, Ordering};

const ON: u8 = b'+';
const OFF: u8 = b'-';

/// Its name, by which tests find it, and behind that whether it is on.
#[repr(C)]
pub(crate) struct Switch {
    _name: [u8; 47],
    /// Atomic, so that the compiler takes it for no constant.
    state: AtomicU8,
}

/// The host's `close()` drops SQLite's locks, and signals come in, as without us.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static UNDEFENDED: Switch = Switch::new("ratelite switch undefended");

/// Connections stay open over `fork()`.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static NO_FORK_HANDLERS: Switch = Switch::new("ratelite switch no-fork-handlers");

/// A kernel without open-file-description locks.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static POSIX_LOCKS: Switch = Switch::new("ratelite switch posix-locks");

/// A kernel that cannot wipe a page over `fork()`.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static NO_WIPE: Switch = Switch::new("ratelite switch no-wipe");

/// A filesystem without `O_TMPFILE`.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static NO_TMPFILE: Switch = Switch::new("ratelite switch no-tmpfile");

/// A system that cannot have a shared table.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static NO_TABLE: Switch = Switch::new("ratelite switch no-table");

/// The default durability is that of each hit.
#[cfg_attr(feature = "test-switches", used)]
pub(crate) static DURABLE_HIT: Switch = Switch::new("ratelite switch durable-hit");

impl Switch {
    const fn new(name: &str) -> Self {
        let mut padded = [0; 47];
        let (start, _) = padded.split_at_mut(name.len());
        start.copy_from_slice(name.as_bytes());
        Self { _name: padded, state: AtomicU8::new(OFF) }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        cfg!(feature = "test-switches") && self.state.load(Ordering::Relaxed) == ON
    }
}
