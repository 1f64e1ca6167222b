//! How a limiter gets at its store, and what it does there beside counting.

use std::sync::Arc;
use std::time::Duration;

use super::connection::SharedConnection;
use super::failure::Failure;
use super::session::Session;
use super::{prune, transaction};
use crate::clock;
use crate::deadline::Deadline;
use crate::error::Result;
use crate::key::SecretCheck;
use crate::options::Options;
use crate::table::Trouble;
use crate::window::Time;

pub(super) struct Access {
    pub(super) shared: Arc<SharedConnection>,
    pub(super) busy_timeout: Duration,
    pub(super) secret_check: Option<SecretCheck>,
    pub(super) auto_prune: bool,
    pub(super) audit: bool,
    recover_corrupt: bool,
    audit_retention_ms: Option<i64>,
}

impl Access {
    pub(super) fn new(
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
            audit: options.audit,
            recover_corrupt: options.recover_corrupt,
            audit_retention_ms: retention
                .map(|kept| i64::try_from(kept.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    pub(super) fn patience(&self) -> Deadline {
        Deadline::after(self.busy_timeout)
    }

    pub(super) fn name(&self) -> &str {
        self.shared.name()
    }

    /// Runs `attempt` on the store's connection: see [`SharedConnection::with`].
    pub(super) fn with<T>(
        &self,
        deadline: &Deadline,
        mut attempt: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        self.shared.with(deadline, self.recover_corrupt, |session| {
            session.meta.require_secret(self.secret_check.as_ref(), self.name())?;
            attempt(session)
        })
    }

    /// As [`Access::with`], for those who count in rows: another store may stand there by now.
    pub(super) fn with_rows<T>(
        &self,
        deadline: &Deadline,
        mut attempt: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Trouble> {
        let done = self.with(deadline, |session| {
            session.meta.counts_in_rows().then(|| attempt(session)).transpose()
        })?;
        done.ok_or(Trouble::Retired)
    }

    pub(super) fn write<T>(
        &self,
        deadline: &Deadline,
        mut work: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Trouble> {
        self.with_rows(deadline, |session| {
            transaction::write(&session.connection, self.name(), |_| work(session))
        })
    }

    pub(super) fn read<T>(
        &self,
        deadline: &Deadline,
        mut work: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Trouble> {
        self.with_rows(deadline, |session| {
            transaction::read(&session.connection, self.name(), |_| work(session))
        })
    }

    /// Removes a few rows that nobody asks for any more, after some were added.
    pub(super) fn keep_house(
        &self,
        session: &Session,
        now: Time,
        rows_added: usize,
        audited: usize,
    ) -> std::result::Result<(), Failure> {
        if !self.auto_prune {
            return Ok(());
        }
        let (counters, audit) = (session.debt.incur(rows_added), session.audit_debt.incur(audited));
        if counters.is_none() && audit.is_none() {
            return Ok(());
        }
        // Past by the hit's time *and* by the wall clock: a caller with a clock of his own (a
        // test, a replay) must not take other clients' live counters away.
        // With a clock that cannot be right there is no saying what is past.
        let Ok(wall_clock) = clock::now() else { return Ok(()) };
        let past = now.min(wall_clock);
        if let Some(at_most) = counters {
            self.prune_counters(session, past, at_most)?;
        }
        if let Some(at_most) = audit {
            let (connection, format) = (&session.connection, session.meta.format);
            transaction::write_known(connection, self.name(), format, |_| {
                self.prune_audit(session, past, at_most)
            })?;
        }
        Ok(())
    }

    /// About so many, if there are any.
    fn prune_counters(
        &self,
        session: &Session,
        past: Time,
        at_most: i64,
    ) -> std::result::Result<(), Failure> {
        let (connection, format) = (&session.connection, session.meta.format);
        if !prune::has_expired(connection, past)? {
            return Ok(());
        }
        session.tables.note_pruning(past);
        transaction::write_known(connection, self.name(), format, |connection| {
            prune::counters(connection, past, at_most).map(drop)
        })
    }

    /// Returns whether there may be more.
    pub(super) fn prune_audit(
        &self,
        session: &Session,
        now: Time,
        at_most: i64,
    ) -> std::result::Result<bool, Failure> {
        match self.audit_retention_ms {
            Some(kept) => {
                prune::audit(&session.connection, now.millis().saturating_sub(kept), at_most)
            }
            None => Ok(false),
        }
    }
}
