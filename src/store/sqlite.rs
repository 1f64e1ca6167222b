//! A store in a SQLite file, or in memory.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::access::Access;
use super::failure::Failure;
use super::in_table::InTable;
use super::meta::Settings;
use super::session::Session;
use super::written::Occasion;
use super::{Info, Store, attach, in_rows, meta, registry, schema};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::judge::Question;
use crate::key::{SecretCheck, StoredKey};
use crate::options::Options;
use crate::os::call::Call;
use crate::os::lock::{self, LockKind};
use crate::os::parked;
use crate::outcome::Outcome;
use crate::policy::{Policy, Rule};
use crate::table::Trouble;

/// One limiter's use of a store.
pub(crate) struct SqliteStore {
    access: Access,
    policy: Arc<Policy>,
    options: Options,
    counting: Attached,
}

/// What [`Store::info`] tells of a file.
#[derive(Debug, serde::Serialize)]
pub(crate) struct SqliteInfo {
    store: String,
    engine: &'static str,
    engine_version: &'static str,
    /// `hit`: each hit is committed before it is answered; `interval`: after it.
    durability: &'static str,
    flush_interval_ms: u64,
    /// The shared table in which hits are counted; null where they are counted in rows.
    table: Option<TableInfo>,
    /// `ofd`, `posix`, or `none` for a store in memory.
    locks: &'static str,
    format: i64,
    keys_hashed: bool,
    auto_prune: bool,
    audit: bool,
    busy_timeout_ms: u64,
    database_bytes: u64,
    wal_bytes: u64,
    /// How many descriptors this process holds on store files, all stores together.
    descriptors: usize,
}

/// Of a shared table.
#[derive(Debug, serde::Serialize)]
struct TableInfo {
    slots: u64,
    bytes: u64,
    lag: LagInfo,
}

/// How far the file lags behind the table.
#[derive(Debug, serde::Serialize)]
struct LagInfo {
    /// About how many counters are not in the file yet.
    unwritten: u64,
    /// Since when, at most.
    ms: u64,
    /// Why the last try to write them failed; null if it did not.
    cause: Option<&'static str>,
}

/// Where the store counts; and where it counts since it no longer counts there. A list without end,
/// so that a hit follows it without a lock; it grows when somebody deletes or replaces files.
struct Attached {
    counting: Counting,
    next: OnceLock<Box<Attached>>,
}

enum Counting {
    Rows,
    Table(InTable),
}

impl SqliteStore {
    pub(super) fn open(
        path: &[u8],
        policy: Arc<Policy>,
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Result<Self> {
        let deadline = Deadline::after(options.busy_timeout);
        let path = Path::new(OsStr::from_bytes(path));
        let shared = registry::acquire(path, settings(options, secret_check), &deadline)?;
        Self::new(Access::new(shared, options, secret_check), policy, options)
    }

    pub(super) fn in_memory(
        policy: Arc<Policy>,
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Result<Self> {
        let deadline = Deadline::after(options.busy_timeout);
        let shared = registry::in_memory(settings(options, secret_check), &deadline)?;
        Self::new(Access::new(shared, options, secret_check), policy, options)
    }

    /// A store that cannot be used is refused here, not at the first hit.
    fn new(access: Access, policy: Arc<Policy>, options: &Options) -> Result<Self> {
        let counting = Attached { counting: Counting::Rows, next: OnceLock::new() };
        let mut store = Self { access, policy, options: options.clone(), counting };
        let found = store.access.with(&store.access.patience(), |session| store.find(session))?;
        if let Counting::Table(table) = &found {
            table.write_by_the_way(&store.access, Occasion::Call);
        }
        store.counting.counting = found;
        Ok(store)
    }

    fn find(&self, session: &Session) -> std::result::Result<Counting, Failure> {
        let path = self.access.shared.path();
        Ok(match attach::table_of(session, path, self.options.table_slots)? {
            None => Counting::Rows,
            Some(table) => {
                Counting::Table(InTable::new(session, table, &self.policy, &self.options)?)
            }
        })
    }

    #[inline]
    fn attached(&self) -> &Attached {
        let mut last = &self.counting;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }

    /// Runs `attempt` where the store counts, and anew if it counts elsewhere by then.
    #[inline(always)]
    fn count<T>(
        &self,
        mut attempt: impl FnMut(&Counting) -> std::result::Result<T, Trouble>,
    ) -> Result<T> {
        let attached = self.attached();
        match attempt(&attached.counting) {
            Ok(done) => Ok(done),
            Err(Trouble::Failed(error)) => Err(error),
            Err(Trouble::Retired) => self.count_elsewhere(attached, attempt),
        }
    }

    #[cold]
    fn count_elsewhere<'a, T>(
        &'a self,
        mut left: &'a Attached,
        mut attempt: impl FnMut(&Counting) -> std::result::Result<T, Trouble>,
    ) -> Result<T> {
        let deadline = self.access.patience();
        loop {
            // Whether the others must look too is known when it is known what stands there now.
            if let Counting::Table(table) = &left.counting {
                table.table.leave();
            }
            // Under the lock of the connection, which nobody holds at a fork.
            self.access.with(&deadline, |session| {
                if left.next.get().is_none() {
                    let counting = self.find(session)?;
                    let _ = left.next.set(Box::new(Attached { counting, next: OnceLock::new() }));
                }
                Ok(())
            })?;
            left = self.attached();
            match attempt(&left.counting) {
                Ok(done) => return Ok(done),
                Err(Trouble::Failed(error)) => return Err(error),
                Err(Trouble::Retired) if deadline.pause() => {}
                Err(Trouble::Retired) => {
                    let message = "its files are replaced again and again; leave them alone";
                    let name = self.access.name();
                    return Err(Error::new(Code::Busy, format!("store {name}: {message}")));
                }
            }
        }
    }

    fn rule(&self, index: usize) -> &Rule {
        &self.policy.rules()[index]
    }
}

fn settings(options: &Options, secret_check: Option<SecretCheck>) -> Settings {
    Settings { file_mode: options.file_mode, table_slots: options.table_slots, secret_check }
}

impl Store for SqliteStore {
    #[inline(always)]
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        let asked = (self.rule(rule), rule);
        self.count(|counting| match counting {
            Counting::Table(table) => table.ask(&self.access, asked, key, question, when, answer),
            Counting::Rows => {
                *answer = in_rows::ask(&self.access, asked, key, question, when)?;
                Ok(())
            }
        })
    }

    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64> {
        let rules: Vec<_> = rules.iter().map(|&index| self.rule(index)).collect();
        self.count(|counting| match counting {
            Counting::Table(table) => table.reset(&self.access, &rules, key),
            Counting::Rows => in_rows::reset(&self.access, &rules, key),
        })
    }

    fn prune(&self, when: When) -> Result<u64> {
        // One clock for all slices: rows that expire meanwhile are the next call's.
        let now = when.resolve()?;
        self.count(|counting| {
            let unwritten = match counting {
                Counting::Table(table) => table.prune(&self.access, now)?,
                Counting::Rows => 0,
            };
            Ok(unwritten + in_rows::prune(&self.access, now)?)
        })
    }

    fn info(&self) -> Result<Info> {
        let deadline = self.access.patience();
        let _call = Call::enter(&deadline)?;
        let path = self.access.shared.path();
        let bytes = |suffix: &str| {
            path.map_or(0, |path| {
                let mut name = OsString::from(path);
                name.push(suffix);
                std::fs::metadata(name).map_or(0, |file| file.len())
            })
        };
        let table = match &self.attached().counting {
            Counting::Table(table) => Some(table),
            Counting::Rows => None,
        };
        // Of a file that cannot be opened the lag is to be told above all.
        let format = match table {
            Some(_) => schema::FORMAT_TABLE,
            None => self.access.with(&deadline, |session| meta::format(&session.connection))?,
        };
        let at_interval = table.is_some_and(|table| !table.commits_each_hit());
        Ok(Info::Sqlite(SqliteInfo {
            store: path.map_or(self.access.name().into(), Path::to_string_lossy).into_owned(),
            engine: "sqlite",
            engine_version: rusqlite::version(),
            durability: if at_interval { "interval" } else { "hit" },
            flush_interval_ms: self.options.flush_interval.as_millis() as u64,
            table: table.map(table_info),
            locks: match (path, lock::kind_in_force()) {
                (None, _) => "none",
                (Some(_), Some(LockKind::OpenFileDescription)) => "ofd",
                (Some(_), _) => "posix",
            },
            format,
            keys_hashed: self.access.secret_check.is_some(),
            auto_prune: self.access.auto_prune,
            audit: self.access.audit,
            busy_timeout_ms: self.access.busy_timeout.as_millis() as u64,
            database_bytes: bytes(""),
            wal_bytes: bytes("-wal"),
            descriptors: parked::count(),
        }))
    }
}

fn table_info(table: &InTable) -> TableInfo {
    let lag = table.table.lag();
    let now_ms = clock::wall_ms();
    let cause = Code::from_number(lag.failure).map(Code::description);
    let since = |swept_ms: i64| now_ms.saturating_sub(swept_ms).max(0) as u64;
    TableInfo {
        slots: table.table.slots(),
        bytes: table.table.bytes(),
        lag: LagInfo {
            unwritten: lag.unwritten,
            ms: if lag.unwritten == 0 { 0 } else { since(lag.swept_ms) },
            cause: cause.and_then(|text| text.to_str().ok()),
        },
    }
}

impl Drop for SqliteStore {
    /// What cannot be written stays in the table.
    fn drop(&mut self) {
        // Of those that close at once, one is the last.
        let is_last = self.access.shared.begin_close() == 0;
        if let (Counting::Table(table), Ok(now)) = (&self.attached().counting, clock::now())
            && is_last
            && !table.table.is_retired()
        {
            // A program that ends leaves nothing unwritten; a host that opens the store for each
            // request closes it as often.
            let is_due = self.access.shared.is_due_at_close(now, table.interval());
            if is_due || !self.options.keep_open {
                let _ = table.write_all(&self.access, Occasion::Close, &self.access.patience());
            } else {
                table.write_by_the_way(&self.access, Occasion::Close);
            }
        }
        registry::release(&self.access.shared, self.options.keep_open);
    }
}
