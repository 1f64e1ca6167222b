//! What every call that may touch a store does first and last.

use std::cell::Cell;

use super::{fork, fork_mark, signals::HeldBack};
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While this lives, the thread is inside the library: its signals are held back, and a fork that
/// it makes all the same (from a crash handler) leaves the stores alone.
pub(crate) struct Call {
    _signals: HeldBack,
}

impl Call {
    /// Fails with [`Code::Fork`] in a process that was forked behind the handlers' back, and with
    /// [`Code::Busy`] when the process's first call is made by two threads and the other hangs.
    pub(crate) fn enter(deadline: &Deadline) -> Result<Self> {
        let signals = HeldBack::begin();
        if !fork::install_once(deadline) {
            return Err(Error::new(Code::Busy, "another thread is still loading the library"));
        }
        if !fork_mark::is_set() {
            return Err(Error::new(
                Code::Fork,
                "this process was made by clone() or _Fork(), so the stores it inherited must not \
                 be used; make it with fork(), or open the store after exec",
            ));
        }
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Ok(Self { _signals: signals })
    }
}

/// Whether this process may use stores: false in one that was forked behind the handlers' back.
pub(crate) fn is_permitted() -> bool {
    !fork::is_installed() || fork_mark::is_set()
}

impl Drop for Call {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// Whether this thread is inside the library.
pub(super) fn is_inside() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}
