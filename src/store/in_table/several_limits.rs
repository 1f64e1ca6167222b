//! A hit under a rule of several limits: all of them or none.

use super::{Asked, InTable, Result};
use crate::clock::When;
use crate::judge::{Answer, Counter, Question, judge};
use crate::os::points;
use crate::outcome::Outcome;
use crate::store::access::Access;
use crate::table::{Changed, Identity, Step, fits};
use crate::window::{Span, Time};

/// A hit under a rule of several limits, at its time.
struct Hit<'a> {
    access: &'a Access,
    asked: &'a Asked<'a>,
    identities: &'a [Identity<'a>],
    cost: i64,
    when: When,
}

/// What a limit was asked for.
#[derive(Clone, Copy)]
struct Reserved {
    /// Of the window.
    start_ms: i64,
    changed: Changed,
    /// How often counters had been forgotten before.
    forgotten: u64,
}

enum Reservation {
    Done,
    Refused,
    /// What is reserved in windows that are not over stays so: begin anew with the rest.
    WindowMovedOn,
}

impl InTable {
    /// A hit under a rule of several limits: all of them or none.
    ///
    /// Units are only added before they are spent, and what is taken back was added here: so nobody
    /// is ever let over a limit. A hit that meets units which are taken back a moment later may be
    /// refused for them; that takes two hits that race for the last units of two limits.
    #[inline(never)]
    pub(super) fn hit_all(
        &self,
        access: &Access,
        asked: &Asked<'_>,
        question: Question,
        cost: i64,
        when: When,
    ) -> Result<Outcome> {
        let mut reserved = vec![None; asked.limits.len()];
        loop {
            let now = when.resolve()?;
            let mut after_waits = now;
            let spans: Vec<_> = asked.limits.iter().map(|limit| limit.span_at(now)).collect();
            let identities: Vec<_> = asked.identities(&spans).collect();
            self.give_back_past(&mut reserved, &spans);
            let hit = Hit { access, asked, identities: &identities, cost, when };
            let done = self
                .must_count()
                .and_then(|()| self.reserve(&hit, &mut reserved, &mut after_waits));
            match done {
                Ok(Reservation::WindowMovedOn) => continue,
                Ok(Reservation::Refused) => self.give_all_back(&hit, &reserved),
                Ok(Reservation::Done) => {}
                Err(trouble) => {
                    self.give_all_back(&hit, &reserved);
                    return Err(trouble);
                }
            }
            let changed: Vec<_> =
                reserved.iter().flatten().map(|reserved| reserved.changed).collect();
            let limits: Vec<_> = asked.limits.iter().map(|limit| limit.limit).collect();
            let mut counters: Vec<_> = reserved
                .iter()
                .map(|reserved| {
                    reserved.map_or(Counter::default(), |it: Reserved| it.changed.before)
                })
                .collect();
            let now = asked.time_of_answer(&spans, now, after_waits);
            let verdict = judge(&limits, &spans, &mut counters, question);
            if self.commits_each_hit {
                let committed = self.commit(access, asked, verdict, &changed, question, now);
                if let Err(trouble) = committed {
                    if verdict.answer == Answer::Allowed {
                        self.give_all_back(&hit, &reserved);
                    }
                    return Err(trouble);
                }
            } else {
                self.write_if_due(access, when, now);
            }
            return Ok(Outcome::new(verdict, asked.index, &limits, &spans, &counters, now));
        }
    }

    /// Counts in all limits; spends in all, or in some until one refuses.
    fn reserve(
        &self,
        hit: &Hit<'_>,
        reserved: &mut [Option<Reserved>],
        now: &mut Time,
    ) -> Result<Reservation> {
        // BEFORE anything is counted: what fails here has counted nothing.
        let Some(order) = self.live_order(hit, reserved, now)? else {
            return Ok(Reservation::WindowMovedOn);
        };
        let mut is_refused = false;
        for index in order {
            let (identity, cost) = (&hit.identities[index], hit.cost);
            let limit = hit.asked.limits[index].limit.units();
            let step = if is_refused { Step::Refuse { cost } } else { Step::Spend { cost, limit } };
            let forgotten = self.table.forgotten(identity);
            match self.step(hit.access, identity, step, hit.when, now)? {
                Some(changed) => {
                    is_refused |= !fits(changed.before, cost, limit);
                    let start_ms = identity.span().start_ms();
                    reserved[index] = Some(Reserved { start_ms, changed, forgotten });
                    points::pass("reserve-first");
                }
                // A refusal stands. In a window that is over, nobody misses an attempt.
                None if is_refused => {}
                None => return Ok(Reservation::WindowMovedOn),
            }
        }
        if is_refused {
            points::pass("reserve-refused");
            return Ok(Reservation::Refused);
        }
        Ok(Reservation::Done)
    }

    /// Makes all counters live that are not reserved yet; those that seem to refuse come first, so that
    /// little is taken back. `None`: a window is over.
    fn live_order(
        &self,
        hit: &Hit<'_>,
        reserved: &[Option<Reserved>],
        now: &mut Time,
    ) -> Result<Option<Vec<usize>>> {
        let mut order = Vec::with_capacity(reserved.len());
        for (index, identity) in hit.identities.iter().enumerate() {
            if reserved[index].is_some() {
                continue;
            }
            let counter = match self.table.peek(identity) {
                Some(counter) => counter,
                None => match self.claim(hit.access, identity, Step::Keep, hit.when, now)? {
                    Some(changed) => changed.before,
                    None => return Ok(None),
                },
            };
            match fits(counter, hit.cost, hit.asked.limits[index].limit.units()) {
                true => order.push(index),
                false => order.insert(0, index),
            }
        }
        Ok(Some(order))
    }

    /// What was reserved in windows that are over; the attempts stay there.
    fn give_back_past(&self, reserved: &mut [Option<Reserved>], spans: &[Span]) {
        for (reserved, span) in reserved.iter_mut().zip(spans) {
            if let Some(past) = reserved.take_if(|it| it.start_ms != span.start_ms()) {
                self.table.undo(&past.changed);
            }
        }
    }

    fn give_all_back(&self, hit: &Hit<'_>, reserved: &[Option<Reserved>]) {
        for (reserved, identity) in reserved.iter().zip(hit.identities) {
            if let Some(Reserved { changed, forgotten, .. }) = reserved {
                self.give_back(hit.access, identity, changed, *forgotten, hit.when);
            }
        }
    }
}
