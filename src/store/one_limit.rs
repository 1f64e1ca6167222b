//! A hit under a rule of one limit, as one statement: it takes the store's write lock, reads the
//! clock, finds the row, judges it, stores it and commits. (As a transaction of five statements a
//! hit takes 37,000 instructions, so 22,000.)
//!
//! What SQL cannot say are functions of the connection: they judge the case that lies before them,
//! and leave what came of it for whoever executed the statement.

use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::failure::Failure;
use super::{meta, row, schema};
use crate::clock::When;
use crate::error::{Code, Error};
use crate::judge::{Counter, Question, Verdict, judge};
use crate::key::StoredKey;
use crate::os::batch;
use crate::outcome::Outcome;
use crate::policy::{Limit, Rule};
use crate::table::place::Place;
use crate::window::{Span, Time};

/// What came of a hit that is counted and committed.
pub(super) struct Counted {
    pub(super) verdict: Verdict,
    pub(super) counter: Counter,
    pub(super) span: Span,
    pub(super) now: Time,
    /// Whether it is the first of its key in this window.
    pub(super) is_first: bool,
}

/// The functions of one connection.
pub(super) struct OneLimit(Arc<Mutex<Option<Case>>>);

/// A hit whose statement is being executed.
struct Case {
    limit: Limit,
    question: Question,
    when: When,
    moment: Option<(Time, Span)>,
    judged: Option<(Verdict, Counter)>,
    is_first: bool,
    fault: Option<Fault>,
}

enum Fault {
    Clock(Error),
    DamagedRow,
}

impl Counted {
    /// In numbers, for the limit that was judged and the index of its rule.
    pub(super) fn outcome(&self, rule: usize, limit: &Limit) -> Outcome {
        let (limits, spans) = (slice::from_ref(limit), slice::from_ref(&self.span));
        Outcome::new(self.verdict, rule, limits, spans, slice::from_ref(&self.counter), self.now)
    }
}

impl OneLimit {
    /// Gives a connection the functions of [`schema::HIT`].
    pub(super) fn install(connection: &Connection) -> rusqlite::Result<Self> {
        let cases = Self(Arc::default());
        cases.define(connection, "hit_expires_ms", 0, |case, _| case.expires_ms())?;
        // Without arguments: of a hit that is the first.
        cases.define(connection, "hit_attempts", -1, |case, row| Ok(case.judge(row)?.attempts))?;
        cases.define(connection, "hit_admitted", -1, |case, row| Ok(case.judge(row)?.admitted))?;
        Ok(cases)
    }

    fn define(
        &self,
        connection: &Connection,
        name: &str,
        arguments: i32,
        body: impl Fn(&mut Case, &Context<'_>) -> Result<i64, Fault> + Send + 'static,
    ) -> rusqlite::Result<()> {
        let cases = Self(Arc::clone(&self.0));
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        connection.create_scalar_function(name, arguments, flags, move |context| {
            let mut lying_here = cases.lock();
            let case = lying_here.as_mut().ok_or_else(|| refused("there is no hit"))?;
            body(case, context).map_err(|fault| {
                case.fault = Some(fault);
                refused("the hit cannot be judged")
            })
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Case>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a hit of a cost above 0 under `limit`, the only one of `rule`.
    pub(super) fn hit(
        &self,
        connection: &Connection,
        store: &str,
        (rule, limit): (&Rule, Limit),
        (key, place): (&StoredKey, Place),
        question: Question,
        when: When,
    ) -> Result<Counted, Failure> {
        *self.lock() = Some(Case {
            limit,
            question,
            when,
            moment: None,
            judged: None,
            is_first: true,
            fault: None,
        });
        let together = batch::Transaction::begin();
        let executed = connection.prepare_cached(schema::HIT)?.execute((
            place.row_hash(),
            rule.name(),
            limit.window().code(),
            key.as_bytes(),
            schema::FORMAT_ROWS,
        ));
        drop(together);
        let case = self.lock().take();
        let Case { moment, judged, is_first, fault, .. } = case.ok_or_else(missing)?;
        match fault {
            Some(Fault::Clock(error)) => return Err(error.into()),
            Some(Fault::DamagedRow) => return Err(row::damaged(rule.name()).into()),
            None => {}
        }
        if executed? == 0 {
            let format = meta::format(connection)?;
            return Err(meta::unknown_format(store, format).into());
        }
        let ((now, span), (verdict, counter)) = moment.zip(judged).ok_or_else(missing)?;
        Ok(Counted { verdict, counter, span, now, is_first })
    }
}

impl Case {
    /// The clock is read here, under the write lock.
    fn expires_ms(&mut self) -> Result<i64, Fault> {
        let now = self.when.resolve().map_err(Fault::Clock)?;
        let window = self.limit.window();
        let span = window.span_at(now);
        self.moment = Some((now, span));
        Ok(window.expires_ms(&span))
    }

    fn judge(&mut self, stored: &Context<'_>) -> Result<Counter, Fault> {
        let Some((_, span)) = self.moment else { return Err(Fault::DamagedRow) };
        self.is_first = stored.is_empty();
        let mut counter = if self.is_first {
            Counter::default()
        } else {
            row::counter(stored.get_raw(0), stored.get_raw(1)).ok_or(Fault::DamagedRow)?
        };
        let verdict = judge(
            slice::from_ref(&self.limit),
            slice::from_ref(&span),
            slice::from_mut(&mut counter),
            self.question,
        );
        self.judged = Some((verdict, counter));
        Ok(counter)
    }
}

/// SQLite's error; whoever executed the statement sees the fault itself.
fn refused(why: &str) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(why.into())
}

fn missing() -> Error {
    Error::new(Code::Internal, "a hit was stored unjudged; please report this as a bug")
}
