//! What every call that may touch a store does first and last.

use super::fork::{self, Inside};
use super::fork_mark;
use super::signals::HeldBack;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::switches;

/// While this lives, the thread is inside the library and its signals are held back.
pub(crate) struct Call {
    // Dropped in this order: a signal that comes in at once may fork.
    _inside: Inside,
    _signals: Option<HeldBack>,
}

impl Call {
    /// Fails with [`Code::Fork`] in a process that was forked behind the handlers' back, and as
    /// [`fork::set_up`] at the process's first call.
    pub(crate) fn enter(deadline: &Deadline) -> Result<Self> {
        let signals = (!switches::UNDEFENDED.is_on()).then(HeldBack::begin);
        // Before any lock is taken, the setting up's included: a crash handler may fork anywhere.
        let inside = Inside::enter();
        fork::set_up(deadline)?;
        if !fork_mark::is_set() {
            return Err(Error::new(
                Code::Fork,
                "this process was made by clone() or _Fork(), so the stores it inherited must not \
                 be used; make it with fork(), or open the store after exec",
            ));
        }
        Ok(Self { _inside: inside, _signals: signals })
    }
}

/// Whether this process may use stores: false in one that was forked behind the handlers' back.
#[inline]
pub(crate) fn is_permitted() -> bool {
    !fork::is_ready() || fork_mark::is_set()
}
