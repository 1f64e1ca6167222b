//! Counting in the shared table: an atomic step a hit. SQLite is told at an interval, or before a hit
//! is answered.

mod forget;
mod hit;
mod refund;
mod several_limits;
mod status;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::access::Access;
use super::failure::Failure;
use super::session::Session;
use super::written::{Occasion, TableRows};
use crate::clock::When;
use crate::deadline::Deadline;
use crate::judge::Question;
use crate::key::StoredKey;
use crate::options::{Durability, Options};
use crate::os::call::{self, Call};
use crate::outcome::Outcome;
use crate::policy::{Limit, Policy, Rule};
use crate::table::place::PlaceSecret;
use crate::table::{Identity, KeyWords, LimitName, Table, Trouble};
use crate::window::{Span, Time, Window};

type Result<T> = std::result::Result<T, Trouble>;

/// A limiter's use of a table.
pub(super) struct InTable {
    pub(super) table: Arc<Table>,
    secret: PlaceSecret,
    /// In the order of the policy.
    rules: Vec<Box<[TableLimit]>>,
    commits_each_hit: bool,
    interval_ms: i64,
    /// When to look at the store's file again, by the wall clock.
    next_look_ms: AtomicI64,
}

struct TableLimit {
    limit: Limit,
    name: LimitName,
    /// The start of the window that was asked for last: finding it takes a division.
    last_start_ms: AtomicI64,
}

impl TableLimit {
    #[inline]
    fn span_at(&self, now: Time) -> Span {
        let Window::Fixed(length) = self.limit.window() else {
            return self.limit.window().span_at(now);
        };
        let start_ms = self.last_start_ms.load(Ordering::Relaxed);
        if let Some(span) = length.span_from(start_ms, now) {
            return span;
        }
        let span = self.limit.window().span_at(now);
        self.last_start_ms.store(span.start_ms(), Ordering::Relaxed);
        span
    }
}

/// A rule's hit, on its way through the limits.
struct Asked<'a> {
    rule: &'a Rule,
    index: usize,
    limits: &'a [TableLimit],
    key: &'a StoredKey,
    words: KeyWords<'a>,
}

impl InTable {
    /// Registers the rules of a policy with the store.
    pub(super) fn new(
        session: &Session,
        table: Arc<Table>,
        policy: &Policy,
        options: &Options,
    ) -> std::result::Result<Self, Failure> {
        let secret = session.meta.place_secret;
        let mut rules = Vec::with_capacity(policy.rules().len());
        for rule in policy.rules() {
            session.rules.register(&session.connection, rule)?;
            let limits = rule.limits().iter().map(|limit| {
                let code = limit.window().code();
                let number = session.rules.number(rule.name(), code)?;
                let hash = secret.limit(rule.name(), code);
                let name = LimitName::new(number, limit.window(), hash);
                Ok(TableLimit { limit: *limit, name, last_start_ms: AtomicI64::new(i64::MIN) })
            });
            rules.push(limits.collect::<std::result::Result<_, Failure>>()?);
        }
        Ok(Self {
            table,
            secret,
            rules,
            commits_each_hit: options.durability == Durability::Hit || options.audit,
            interval_ms: options.flush_interval.as_millis() as i64,
            next_look_ms: AtomicI64::new(i64::MIN),
        })
    }

    #[inline(always)] // each copy of a result on its way up costs a hit 5 ns
    pub(super) fn ask(
        &self,
        access: &Access,
        (rule, index): (&Rule, usize),
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        let words = KeyWords::new(key, self.secret.key(key.as_bytes()));
        let asked = Asked { rule, index, limits: &self.rules[index], key, words };
        match question {
            Question::Hit(cost) if cost.get() > 0 => {
                if let [limit] = asked.limits {
                    return self.hit_one(access, &asked, limit, cost, when, answer);
                }
                *answer = self.hit_all(access, &asked, question, cost.get(), when)?;
            }
            Question::Refund(cost) if cost.get() > 0 => {
                *answer = self.refund(access, &asked, question, cost.get(), when)?;
            }
            _ => *answer = self.status(access, &asked, question, when)?,
        }
        Ok(())
    }

    fn must_count(&self) -> Result<()> {
        if !call::is_permitted() {
            // Says so.
            Call::enter(&Deadline::after(Duration::ZERO))?;
        }
        if self.table.is_retired() { Err(Trouble::Retired) } else { Ok(()) }
    }

    fn rows<'a>(
        &'a self,
        access: &'a Access,
        deadline: &'a Deadline,
        occasion: Occasion,
    ) -> TableRows<'a> {
        TableRows { access, table: &self.table, deadline, occasion }
    }

    pub(super) fn commits_each_hit(&self) -> bool {
        self.commits_each_hit
    }
}

impl Asked<'_> {
    /// The time that an answer tells: after its waits, if all windows that were asked are current
    /// then, else before.
    fn time_of_answer(&self, spans: &[Span], before: Time, after: Time) -> Time {
        let is_current = |(limit, span): (&TableLimit, &Span)| {
            limit.limit.window().span_at(after).start_ms() == span.start_ms()
        };
        if self.limits.iter().zip(spans).all(is_current) { after } else { before }
    }

    fn identities<'b>(&'b self, spans: &'b [Span]) -> impl Iterator<Item = Identity<'b>> {
        self.limits.iter().zip(spans).map(|(limit, span)| {
            let place = Identity::place(&limit.name, &self.words);
            Identity::new(&limit.name, &self.words, place, span)
        })
    }
}
