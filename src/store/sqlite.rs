//! Counting in SQLite.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::connection::SharedConnection;
use super::counters::Counters;
use super::failure::Failure;
use super::meta::Settings;
use super::session::Session;
use super::{
    Info, Store, checkpoint, housekeeping, meta, prune, registry, reset, schema, transaction,
};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::error::Result;
use crate::judge::{Answer, Question};
use crate::key::{SecretCheck, StoredKey};
use crate::options::Options;
use crate::os::call::Call;
use crate::os::lock::{self, LockKind};
use crate::os::parked;
use crate::outcome::Outcome;
use crate::policy::Rule;
use crate::window::Time;

/// One limiter's use of a store.
pub(crate) struct SqliteStore {
    shared: Arc<SharedConnection>,
    busy_timeout: Duration,
    secret_check: Option<SecretCheck>,
    auto_prune: bool,
    keep_open: bool,
    recover_corrupt: bool,
    audit: bool,
    audit_retention_ms: Option<i64>,
}

impl SqliteStore {
    pub(super) fn open(
        path: &[u8],
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Result<Self> {
        let settings = Settings { file_mode: options.file_mode, secret_check };
        let deadline = Deadline::after(options.busy_timeout);
        let path = Path::new(OsStr::from_bytes(path));
        let (shared, is_ready) = registry::acquire(path, settings, &deadline)?;
        let store = Self::new(shared, options, secret_check);
        if !is_ready {
            // A store that cannot be used is refused here, not at the first hit.
            store.with(&deadline, |_| Ok(()))?;
        }
        Ok(store)
    }

    pub(super) fn in_memory(options: &Options, secret_check: Option<SecretCheck>) -> Result<Self> {
        let settings = Settings { file_mode: options.file_mode, secret_check };
        let deadline = Deadline::after(options.busy_timeout);
        Ok(Self::new(registry::in_memory(settings, &deadline)?, options, secret_check))
    }

    fn new(
        shared: Arc<SharedConnection>,
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Self {
        let retention = options.effective_audit_retention();
        Self {
            shared,
            busy_timeout: options.busy_timeout,
            secret_check,
            auto_prune: options.auto_prune,
            keep_open: options.keep_open,
            recover_corrupt: options.recover_corrupt,
            audit: options.audit,
            audit_retention_ms: retention
                .map(|kept| i64::try_from(kept.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    fn patience(&self) -> Deadline {
        Deadline::after(self.busy_timeout)
    }

    fn name(&self) -> &str {
        self.shared.name()
    }

    fn with<T>(
        &self,
        deadline: &Deadline,
        mut attempt: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        self.shared.with(deadline, self.recover_corrupt, |session| {
            session.meta.require_secret(self.secret_check.as_ref(), self.name())?;
            attempt(session)
        })
    }

    fn write<T>(
        &self,
        deadline: &Deadline,
        mut work: impl FnMut(&Connection) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        self.with(deadline, |session| {
            transaction::write(&session.connection, self.name(), &mut work)
        })
    }

    fn read<T>(
        &self,
        deadline: &Deadline,
        mut work: impl FnMut(&Connection) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        self.with(deadline, |session| {
            transaction::read(&session.connection, self.name(), &mut work)
        })
    }

    /// Counts a hit, commits it, and removes a few of the rows that nobody asks for any more.
    fn count(
        &self,
        session: &Session,
        hit: &Hit<'_>,
        question: Question,
        when: When,
    ) -> std::result::Result<Outcome, Failure> {
        let connection = &session.connection;
        let (outcome, rows_added) = match hit.rule.limits() {
            [limit] if !self.audit => {
                let rule = (hit.rule, *limit);
                let counted = session.one_limit.hit(
                    connection,
                    self.name(),
                    rule,
                    hit.key,
                    question,
                    when,
                )?;
                (counted.outcome(hit.index, limit), usize::from(counted.is_first))
            }
            _ => transaction::write(connection, self.name(), |connection| {
                self.count_in_transaction(connection, hit, question, when)
            })?,
        };
        // The hit is committed, so a failure here is not the hit's: to report it would say that
        // nothing was counted. The next hit that has rows to remove meets it again.
        let _ = self.keep_house(session, &outcome, rows_added);
        Ok(outcome)
    }

    fn count_in_transaction(
        &self,
        connection: &Connection,
        hit: &Hit<'_>,
        question: Question,
        when: When,
    ) -> std::result::Result<(Outcome, usize), Failure> {
        let mut counters = Counters::read(connection, hit.rule, hit.key, when)?;
        let verdict = counters.judge(question);
        let rows_added = counters.write(connection)?;
        if self.audit && verdict.answer == Answer::Allowed {
            let mut audit = connection.prepare_cached(schema::AUDIT)?;
            let now_ms = counters.now.millis();
            audit.execute((now_ms, hit.rule.name(), hit.key.as_bytes(), hit.cost))?;
        }
        Ok((counters.outcome(verdict, hit.index), rows_added))
    }

    fn keep_house(
        &self,
        session: &Session,
        outcome: &Outcome,
        rows_added: usize,
    ) -> std::result::Result<(), Failure> {
        if !self.auto_prune {
            return Ok(());
        }
        let audited = usize::from(self.audit && outcome.allowed);
        let (counters, audit) = (session.debt.incur(rows_added), session.audit_debt.incur(audited));
        if counters.is_none() && audit.is_none() {
            return Ok(());
        }
        // Past by the hit's time *and* by the wall clock: a caller with a clock of his own (a
        // test, a replay) must not take other clients' live counters away.
        // With a clock that cannot be right there is no saying what is past.
        let Ok(wall_clock) = clock::now() else { return Ok(()) };
        let past = Time::from_millis(outcome.now_ms)?.min(wall_clock);
        let connection = &session.connection;
        if let Some(at_most) = counters {
            housekeeping::remove_counters(connection, self.name(), past, at_most)?;
        }
        if let Some(at_most) = audit {
            transaction::write(connection, self.name(), |connection| {
                self.prune_audit(connection, past, at_most)
            })?;
        }
        Ok(())
    }

    fn prune_audit(
        &self,
        connection: &Connection,
        now: Time,
        at_most: i64,
    ) -> std::result::Result<bool, Failure> {
        match self.audit_retention_ms {
            Some(kept) => prune::audit(connection, now.millis().saturating_sub(kept), at_most),
            None => Ok(false),
        }
    }
}

struct Hit<'a> {
    rule: &'a Rule,
    /// The rule's, in its policy.
    index: usize,
    key: &'a StoredKey,
    cost: i64,
}

impl Store for SqliteStore {
    fn ask(
        &self,
        rule: &Rule,
        index: usize,
        key: &StoredKey,
        question: Question,
        when: When,
    ) -> Result<Outcome> {
        let deadline = self.patience();
        match question {
            Question::Hit(cost) if cost.get() > 0 => {
                let hit = Hit { rule, index, key, cost: cost.get() };
                self.with(&deadline, |session| self.count(session, &hit, question, when))
            }
            Question::Refund(cost) if cost.get() > 0 => self.write(&deadline, |connection| {
                let mut counters = Counters::read(connection, rule, key, when)?;
                let verdict = counters.judge(question);
                counters.write_existing(connection)?;
                Ok(counters.outcome(verdict, index))
            }),
            _ => self.read(&deadline, |connection| {
                let mut counters = Counters::read(connection, rule, key, when)?;
                let verdict = counters.judge(question);
                Ok(counters.outcome(verdict, index))
            }),
        }
    }

    fn reset(&self, rules: &[&Rule], key: &StoredKey) -> Result<u64> {
        let mut removed = 0;
        let mut from = Some(reset::Group::before_all());
        while let Some(start) = from {
            let slice = self.write(&self.patience(), |connection| {
                reset::slice(connection, rules, key, &start)
            })?;
            removed += slice.removed as u64;
            from = slice.next;
        }
        Ok(removed)
    }

    fn prune(&self, when: When) -> Result<u64> {
        // One clock for all slices: rows that expire meanwhile are the next call's.
        let now = when.resolve()?;
        let mut removed = 0;
        let mut slices = 0u64;
        let mut more = (true, true);
        while more != (false, false) {
            let (counters, more_counters, more_audit) =
                self.write(&self.patience(), |connection| {
                    let (counters, more_counters) = if more.0 {
                        prune::counters(connection, now, prune::SLICE_ROWS)?
                    } else {
                        (0, false)
                    };
                    let more_audit =
                        more.1 && self.prune_audit(connection, now, prune::SLICE_ROWS)?;
                    Ok((counters, more_counters, more_audit))
                })?;
            removed += counters as u64;
            more = (more_counters, more_audit);
            slices += 1;
            if slices.is_multiple_of(prune::SLICES_BETWEEN_MOVES) {
                self.with(&self.patience(), |session| {
                    let _ = checkpoint::now(&session.connection);
                    Ok(())
                })?;
            }
            std::thread::sleep(prune::PAUSE_BETWEEN_SLICES);
        }
        Ok(removed)
    }

    fn info(&self) -> Result<Info> {
        let _call = Call::enter(&self.patience())?;
        let format = self.read(&self.patience(), meta::format)?;
        let bytes = |suffix: &str| {
            self.shared.path().map_or(0, |path| {
                let mut name = OsString::from(path);
                name.push(suffix);
                std::fs::metadata(name).map_or(0, |file| file.len())
            })
        };
        Ok(Info {
            store: self
                .shared
                .path()
                .map_or(self.name().into(), Path::to_string_lossy)
                .into_owned(),
            engine: "sqlite",
            engine_version: rusqlite::version(),
            durability: "hit",
            locks: match (self.shared.path(), lock::kind_in_force()) {
                (None, _) => "none",
                (Some(_), Some(LockKind::OpenFileDescription)) => "ofd",
                (Some(_), _) => "posix",
            },
            format,
            keys_hashed: self.secret_check.is_some(),
            auto_prune: self.auto_prune,
            audit: self.audit,
            busy_timeout_ms: self.busy_timeout.as_millis() as u64,
            database_bytes: bytes(""),
            wal_bytes: bytes("-wal"),
            descriptors: parked::count(),
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        registry::release(&self.shared, self.keep_open);
    }
}
