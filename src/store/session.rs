//! An open connection, and what belongs to it alone.

use std::time::Duration;

use rusqlite::Connection;

use super::checkpoint::Log;
use super::failure::Failure;
use super::housekeeping::Debt;
use super::meta::Meta;
use super::one_limit::OneLimit;
use crate::os::written_log;

pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) meta: Meta,
    pub(super) log: Log,
    pub(super) one_limit: OneLimit,
    pub(super) debt: Debt,
    pub(super) audit_debt: Debt,
}

impl Session {
    pub(super) fn new(connection: Connection, meta: Meta) -> Result<Self, Failure> {
        let one_limit = OneLimit::install(&connection)?;
        Ok(Self {
            connection,
            meta,
            log: Log::default(),
            one_limit,
            debt: Debt::default(),
            audit_debt: Debt::default(),
        })
    }

    /// Runs `attempt`, and sees to the log if it has written to that, no longer than `patience`.
    pub(super) fn work<T>(
        &self,
        patience: Duration,
        attempt: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        written_log::take();
        let outcome = attempt(self);
        if let (Ok(_), Some(written)) = (&outcome, written_log::take()) {
            self.log.see_to(&self.connection, written, patience);
        }
        outcome
    }
}
