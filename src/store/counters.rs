//! The counters of one key under one rule, as rows.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::failure::Failure;
use super::schema;
use crate::error::{Code, Error};
use crate::judge::Counter;
use crate::key::StoredKey;
use crate::policy::{Limit, Rule};
use crate::units::MAX_UNITS;
use crate::window::{Span, Time};

/// A rule's limits and their current windows and counters, side by side.
pub(super) struct Counters<'a> {
    rule: &'a Rule,
    key: &'a StoredKey,
    pub(super) spans: Vec<Span>,
    pub(super) values: Vec<Counter>,
    is_stored: Vec<bool>,
}

impl<'a> Counters<'a> {
    /// Reads what is stored for the windows that are current at `now`; no row means zero.
    pub(super) fn read(
        connection: &Connection,
        rule: &'a Rule,
        key: &'a StoredKey,
        now: Time,
    ) -> Result<Self, Failure> {
        let limits = rule.limits();
        let spans: Vec<_> = limits.iter().map(|limit| limit.window().span_at(now)).collect();
        let mut values = Vec::with_capacity(limits.len());
        let mut is_stored = Vec::with_capacity(limits.len());
        let mut statement = connection.prepare_cached(schema::GET_COUNTER)?;
        for (limit, span) in limits.iter().zip(&spans) {
            let mut rows = statement.query((
                expires_ms(limit, span),
                rule.name(),
                limit.window().code(),
                key.as_bytes(),
            ))?;
            let row = rows.next()?;
            is_stored.push(row.is_some());
            values.push(match row {
                Some(row) => checked(row.get_ref(0)?, row.get_ref(1)?, rule)?,
                None => Counter::default(),
            });
        }
        drop(statement);
        Ok(Self { rule, key, spans, values, is_stored })
    }

    /// Stores every counter, and says how many rows are new.
    pub(super) fn write(&self, connection: &Connection) -> Result<usize, Failure> {
        self.write_if(connection, |_| true)
    }

    /// Stores the counters that have a row already: a refund makes none.
    pub(super) fn write_existing(&self, connection: &Connection) -> Result<(), Failure> {
        self.write_if(connection, |is_stored| is_stored).map(drop)
    }

    fn write_if(
        &self,
        connection: &Connection,
        wanted: impl Fn(bool) -> bool,
    ) -> Result<usize, Failure> {
        let mut statement = connection.prepare_cached(schema::PUT_COUNTER)?;
        let mut added = 0;
        for (index, limit) in self.rule.limits().iter().enumerate() {
            if !wanted(self.is_stored[index]) {
                continue;
            }
            let counter = self.values[index];
            statement.execute((
                expires_ms(limit, &self.spans[index]),
                self.rule.name(),
                limit.window().code(),
                self.key.as_bytes(),
                counter.attempts,
                counter.admitted,
            ))?;
            added += usize::from(!self.is_stored[index]);
        }
        Ok(added)
    }
}

fn expires_ms(limit: &Limit, span: &Span) -> i64 {
    limit.window().expires_ms(span)
}

/// The schema allows nothing else, but whoever edits the file by hand can: a damaged row is an
/// error, never an allowance.
fn checked(
    attempts: ValueRef<'_>,
    admitted: ValueRef<'_>,
    rule: &Rule,
) -> Result<Counter, Failure> {
    match (attempts, admitted) {
        (ValueRef::Integer(attempts), ValueRef::Integer(admitted))
            if (0..=MAX_UNITS).contains(&attempts) && (0..=attempts).contains(&admitted) =>
        {
            Ok(Counter { attempts, admitted })
        }
        _ => Err(Failure::Own(Error::new(
            Code::Corrupt,
            format!(
                "a counter of rule \"{}\" in table rate_limit_windows is damaged; reset this key \
                 or delete its row",
                rule.name()
            ),
        ))),
    }
}
