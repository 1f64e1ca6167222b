//! An open connection, and what belongs to it alone.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::advanced::Advanced;
use super::checkpoint::Log;
use super::failure::Failure;
use super::housekeeping::Debt;
use super::meta::Meta;
use super::one_limit::OneLimit;
use super::rules::Rules;
use super::tables::Tables;
use crate::key::StoredKey;
use crate::os::written_log;
use crate::policy::{Limit, Rule};
use crate::table::place::Place;

pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) meta: Meta,
    pub(super) log: Log,
    pub(super) one_limit: OneLimit,
    pub(super) rules: Rules,
    pub(super) tables: Arc<Tables>,
    pub(super) advanced: Advanced,
    pub(super) debt: Debt,
    pub(super) audit_debt: Debt,
}

impl Session {
    pub(super) fn new(
        connection: Connection,
        meta: Meta,
        tables: Arc<Tables>,
    ) -> Result<Self, Failure> {
        let one_limit = OneLimit::install(&connection)?;
        Ok(Self {
            connection,
            meta,
            log: Log::default(),
            one_limit,
            rules: Rules::default(),
            tables,
            advanced: Advanced::default(),
            debt: Debt::default(),
            audit_debt: Debt::default(),
        })
    }

    /// Where a counter stands.
    pub(super) fn place(&self, rule: &Rule, limit: &Limit, key: &StoredKey) -> Place {
        self.meta.place_secret.place(rule.name(), limit.window().code(), key.as_bytes())
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
