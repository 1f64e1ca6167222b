//! A rate limiter inside the host program: exact across every process, thread and language on the
//! machine, with one SQLite file and no server.
//!
//! ```
//! use ratelite::{Limiter, Options};
//!
//! let limiter = Limiter::open(":memory:", "3/10s", &Options::default())?;
//! for _ in 0..3 {
//!     assert!(limiter.hit(None, b"alice", 1, Some(1_700_000_000_000))?.allowed);
//! }
//! let denied = limiter.hit(None, b"alice", 1, Some(1_700_000_004_000))?;
//! assert!(!denied.allowed);
//! assert_eq!((denied.count, denied.retry_after), (4, 6));
//! # Ok::<(), ratelite::Error>(())
//! ```
//!
//! The C ABI over it is [`capi`]; `include/ratelite.h` is its manual, with what a host has to know
//! of processes, threads, forks and its own SQLite. **Ship the shared library where you can**: in a
//! Rust program that links this crate and uses `rusqlite` too, both share one SQLite, and the
//! system calls that this crate puts under it serve the program's own databases as well. So make the
//! first call of this crate (an open of `:memory:` will do) before the program's first connection: a
//! lock that a connection took before is of another kind, and stays until the process ends.

mod boundary;
pub mod capi;
mod clock;
mod deadline;
mod errno;
mod error;
mod headers;
mod ip_key;
mod judge;
mod key;
mod limiter;
mod options;
mod os;
mod outcome;
mod policy;
mod problem;
mod route;
mod store;
mod switches;
mod table;
mod units;
mod window;

pub use error::{Code, Error, Result};
pub use headers::Style;
pub use ip_key::ip_key;
pub use limiter::Limiter;
pub use options::{Durability, Insurance, Options, Share};
pub use outcome::Outcome;
pub use policy::{Limit, Policy, Rule};
pub use route::Route;
pub use units::MAX_UNITS;
pub use window::{Length, Span, Time, Window};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The number of the C ABI, which is the shared library's soname too. It changes only when a
/// program that was built against an older header would break.
pub const ABI_VERSION: i32 = 1;
