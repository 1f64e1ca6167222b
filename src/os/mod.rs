//! The operating-system layer: every descriptor of a store file, the locks on it, and what keeps
//! both right over `fork()`. All `unsafe` outside the C boundary lives here.
//!
//! The design and its measurements: SQLite believes that file locks belong to the process, and any
//! `close()` of any descriptor of a file drops the process's POSIX locks on it. So a host that
//! looks into the store with its own copy of SQLite would silently drop ours. Three parts answer
//! that, and they only hold together:
//!
//! * [`vfs`] gives our private SQLite open-file-description locks, which no other `close()` drops;
//! * [`parked`] never closes a descriptor of a store file, since that would drop the *host's* locks;
//! * [`fork`] closes every connection before a fork, since parent and child would share one lock
//!   owner, and [`anchor`] keeps that close from checkpointing and deleting the WAL.

#![allow(unsafe_code)]

pub(crate) mod anchor;
pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod create;
mod errno;
pub(crate) mod fork;
mod fork_mark;
pub(crate) mod lock;
pub(crate) mod mutex;
pub(crate) mod parked;
pub(crate) mod points;
pub(crate) mod random;
mod signals;
#[cfg(feature = "redis")]
pub(crate) mod socket;
pub(crate) mod stat;
pub(crate) mod store_file;
pub(crate) mod vfs;
pub(crate) mod wall_clock;
pub(crate) mod written_log;
