//! The counters of one key under one rule, as rows.

use super::failure::Failure;
use super::session::Session;
use super::{row, schema};
use crate::clock::When;
use crate::judge::{Counter, Question, Verdict, judge};
use crate::key::StoredKey;
use crate::outcome::Outcome;
use crate::policy::{Limit, Rule};
use crate::window::{Span, Time};

/// A rule's limits and their current windows and counters, side by side.
pub(super) struct Counters<'a> {
    session: &'a Session,
    rule: &'a Rule,
    key: &'a StoredKey,
    pub(super) now: Time,
    spans: Vec<Span>,
    values: Vec<Counter>,
    is_stored: Vec<bool>,
}

impl<'a> Counters<'a> {
    /// Reads what is stored for the windows that are current; no row means zero. The clock is read
    /// here, when the transaction has begun: see [`When::resolve`].
    pub(super) fn read(
        session: &'a Session,
        rule: &'a Rule,
        key: &'a StoredKey,
        when: When,
    ) -> Result<Self, Failure> {
        let connection = &session.connection;
        let now = when.resolve()?;
        let limits = rule.limits();
        let spans: Vec<_> = limits.iter().map(|limit| limit.window().span_at(now)).collect();
        let mut values = Vec::with_capacity(limits.len());
        let mut is_stored = Vec::with_capacity(limits.len());
        let mut statement = connection.prepare_cached(schema::GET_COUNTER)?;
        for (limit, span) in limits.iter().zip(&spans) {
            let mut rows = statement.query((
                expires_ms(limit, span),
                session.place(rule, limit, key).row_hash(),
                rule.name(),
                limit.window().code(),
                key.as_bytes(),
            ))?;
            let row = rows.next()?;
            is_stored.push(row.is_some());
            values.push(match row {
                Some(row) => row::counter(row.get_ref(0)?, row.get_ref(1)?)
                    .ok_or_else(|| row::damaged(rule.name()))?,
                None => Counter::default(),
            });
        }
        drop(statement);
        Ok(Self { session, rule, key, now, spans, values, is_stored })
    }

    /// Answers a question by them, and brings them up to date.
    pub(super) fn judge(&mut self, question: Question) -> Verdict {
        judge(self.rule.limits(), &self.spans, &mut self.values, question)
    }

    /// The verdict in numbers, for the index of the rule.
    pub(super) fn outcome(&self, verdict: Verdict, rule: usize) -> Outcome {
        Outcome::new(verdict, rule, self.rule.limits(), &self.spans, &self.values, self.now)
    }

    /// Stores every counter, and says how many rows are new.
    pub(super) fn write(&self) -> Result<usize, Failure> {
        self.write_if(|_| true)
    }

    /// Stores the counters that have a row already: a refund makes none.
    pub(super) fn write_existing(&self) -> Result<(), Failure> {
        self.write_if(|is_stored| is_stored).map(drop)
    }

    fn write_if(&self, wanted: impl Fn(bool) -> bool) -> Result<usize, Failure> {
        let mut statement = self.session.connection.prepare_cached(schema::PUT_COUNTER)?;
        let mut added = 0;
        for (index, limit) in self.rule.limits().iter().enumerate() {
            if !wanted(self.is_stored[index]) {
                continue;
            }
            let counter = self.values[index];
            statement.execute((
                expires_ms(limit, &self.spans[index]),
                self.session.place(self.rule, limit, self.key).row_hash(),
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
