//! What a limiter can be told when it is opened.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::switches;

/// The longest that a call may be told to wait for a store.
pub(crate) const MAX_BUSY_TIMEOUT: Duration = Duration::from_secs(60);

const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(1);
const DEFAULT_AUDIT_RETENTION: Duration = Duration::from_secs(30 * 86_400);
const DEFAULT_FLUSH_INTERVAL: Duration = Duration::from_millis(100);
const INTERVALS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_millis(60_000);
const DEFAULT_SERVER_TIMEOUT: Duration = Duration::from_millis(100);
const MOST_TABLE_SLOTS: u64 = 1 << 32;
const DEFAULT_FILE_MODE: u32 = 0o600;

/// When a hit is in the file. Every hit is counted exactly and at once, for all processes; this is
/// about who reads the file by other means, and about what a power cut takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before it is answered.
    Hit,
    /// At most an interval after it was answered, as long as anybody hits. A process that is killed
    /// loses nothing; a power cut may take the last moments.
    Interval,
}

/// How a [`Limiter`](crate::Limiter) uses its store. Start from `Options::default()`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The longest that one call waits for others that hold the store: 1 s unless set, at most
    /// 60 s; zero means that it does not wait.
    pub busy_timeout: Duration,
    /// Whether hits remove a few expired rows by themselves. On unless set.
    pub auto_prune: bool,
    /// Whether the process keeps the store open after its last limiter was dropped. On unless set:
    /// opening it again then costs microseconds. Off, the last one checkpoints and removes
    /// `-wal` and `-shm`.
    pub keep_open: bool,
    /// Whether a store of ours that turns out to be damaged is moved aside, to
    /// `<path>.corrupt-<time>`, and begun anew with no counters. Off unless set: it is an error.
    /// Files that are not ours are never touched.
    pub recover_corrupt: bool,
    /// Whether each allowed hit is also a row of `api_calls`. Off unless set.
    pub audit: bool,
    /// How long those rows are kept before pruning takes them. Unless set it is 30 days where
    /// `audit` is on; where it is off too, this limiter leaves the rows of others alone.
    pub audit_retention: Option<Duration>,
    /// The permission bits of a store that is created, whatever the umask: 0600 unless set. The
    /// owner must be able to read and write.
    pub file_mode: u32,
    /// When a hit is in the file: see [`Durability`]. At an interval unless set.
    pub durability: Durability,
    /// The interval of [`Durability::Interval`]: 100 ms unless set, 1 ms to 60 s.
    pub flush_interval: Duration,
    /// How many windows of keys the shared table of a store that is created can hold, 1 to 2^32:
    /// 262,144 unless set, in a file of 33 MiB. Decided by whoever creates the store; if set, a store
    /// with another number is refused.
    pub table_slots: Option<u64>,
    /// If set, the store keeps HMAC-SHA-256 values under this secret instead of keys. Decided by
    /// whoever creates the store; a store made with another secret, or none, is refused.
    pub key_secret: Option<Vec<u8>>,
    /// Of a store on a server: the longest that connecting to it may take, the login included. 100 ms
    /// unless set, 1 ms to 60 s.
    pub connect_timeout: Duration,
    /// Of a store on a server: the longest that it may take to answer. 100 ms unless set, 1 ms to 60 s.
    pub command_timeout: Duration,
    /// Of a store on a server: whether a client that it has denied is refused by this process until one of
    /// its windows ends. The server is told of the attempts after `flush_interval`, then ever more seldom, up
    /// to eight times that, so `count` lags.
    /// Off unless set.
    pub remember_denied: bool,
    /// Of a store on a server: what takes over while the server is away. None unless set: calls fail then.
    pub insurance: Option<Insurance>,
}

/// A store in a file that takes over while a server is away, and hands back when it answers again.
/// Its counters are its own: nothing is carried over, in either direction.
#[derive(Clone, Debug)]
pub struct Insurance {
    /// The path of the file, created if it is not there. Whoever shares it shares the counts.
    pub store: PathBuf,
    /// What it grants.
    pub grants: Share,
}

/// What an [`Insurance`] grants.
#[derive(Clone, Debug)]
pub enum Share {
    /// So many percent of each limit, 1 to 100: rounded down, and at least one unit. With 100 each of
    /// ten machines lets the whole limit in.
    Percent(u32),
    /// Another policy, with rules of the same names in the same order.
    Policy(String),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: DEFAULT_BUSY_TIMEOUT,
            auto_prune: true,
            keep_open: true,
            recover_corrupt: false,
            audit: false,
            audit_retention: None,
            file_mode: DEFAULT_FILE_MODE,
            durability: default_durability(),
            flush_interval: DEFAULT_FLUSH_INTERVAL,
            table_slots: None,
            key_secret: None,
            connect_timeout: DEFAULT_SERVER_TIMEOUT,
            command_timeout: DEFAULT_SERVER_TIMEOUT,
            remember_denied: false,
            insurance: None,
        }
    }
}

fn default_durability() -> Durability {
    if switches::DURABLE_HIT.is_on() { Durability::Hit } else { Durability::Interval }
}

impl Options {
    /// How old an audit row must be for this limiter to prune it; `None`: it prunes none.
    pub(crate) fn effective_audit_retention(&self) -> Option<Duration> {
        self.audit_retention.or(self.audit.then_some(DEFAULT_AUDIT_RETENTION))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let owner_access = 0o600;
        if self.busy_timeout > MAX_BUSY_TIMEOUT {
            return Err(Error::invalid("busy_timeout is over 60 seconds"));
        }
        if !INTERVALS.contains(&self.flush_interval) {
            return Err(Error::invalid("flush_interval is not 1 ms to 60 s"));
        }
        if let Some(Insurance { grants: Share::Percent(percent), .. }) = self.insurance
            && !(1..=100).contains(&percent)
        {
            return Err(Error::invalid("option insurance_percent is not 1 to 100"));
        }
        let timeouts =
            [("connect_timeout", self.connect_timeout), ("command_timeout", self.command_timeout)];
        if let Some((name, _)) = timeouts.iter().find(|(_, time)| !INTERVALS.contains(time)) {
            return Err(Error::invalid(format!("{name} is not 1 ms to 60 s")));
        }
        if self.table_slots.is_some_and(|slots| !(1..=MOST_TABLE_SLOTS).contains(&slots)) {
            return Err(Error::invalid("table_slots is not 1 to 4294967296"));
        }
        if self.file_mode & !0o666 != 0 || self.file_mode & owner_access != owner_access {
            return Err(Error::invalid(format!(
                "file_mode {:o} is not a mode of a store: give read and write bits, 600 among them",
                self.file_mode
            )));
        }
        Ok(())
    }
}
