//! A hit under a rule of one limit, and what every hit consists of.

use std::slice;
use std::sync::atomic::Ordering;

use super::{Asked, InTable, Result, TableLimit};
use crate::clock::When;
use crate::judge::{Answer, Question, Verdict, judge};
use crate::os::call::Call;
use crate::os::points;
use crate::outcome::Outcome;
use crate::store::access::Access;
use crate::store::written::{Audited, Occasion};
use crate::table::{Changed, Claimed, Identity, Moved, Step, Trouble};
use crate::units::Cost;
use crate::window::{Span, Time};

/// A hit under a rule of one limit, at its time.
struct OneLimit<'a> {
    asked: &'a Asked<'a>,
    limit: &'a TableLimit,
    span: Span,
    now: Time,
    question: Question,
    when: When,
}

impl InTable {
    /// A hit under a rule of one limit.
    #[inline(always)]
    pub(super) fn hit_one(
        &self,
        access: &Access,
        asked: &Asked<'_>,
        limit: &TableLimit,
        cost: Cost,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        let (question, cost) = (Question::Hit(cost), cost.get());
        let place = Identity::place(&limit.name, &asked.words);
        self.table.prefetch(place, limit.last_start_ms.load(Ordering::Relaxed));
        let step = Step::Spend { cost, limit: limit.limit.units() };
        loop {
            self.must_count()?;
            let mut now = when.resolve()?;
            let span = limit.span_at(now);
            let identity = Identity::new(&limit.name, &asked.words, place, &span);
            if let Some(sought) = self.table.find(&identity) {
                points::pass("hit-read");
                if let Ok(changed) = self.table.change(&identity, &sought, step) {
                    let asked = OneLimit { asked, limit, span, now, question, when };
                    return self.answer_one(access, &asked, &changed, answer);
                }
            } else if let Some(changed) = self.claim(access, &identity, step, when, &mut now)? {
                let asked = OneLimit { asked, limit, span, now, question, when };
                return self.answer_one(access, &asked, &changed, answer);
            }
        }
    }

    #[inline(always)]
    fn answer_one(
        &self,
        access: &Access,
        asked: &OneLimit<'_>,
        changed: &Changed,
        answer: &mut Outcome,
    ) -> Result<()> {
        let OneLimit { asked, limit, span, now, question, when } = *asked;
        let mut counter = changed.before;
        let verdict = judge(
            slice::from_ref(&limit.limit),
            slice::from_ref(&span),
            slice::from_mut(&mut counter),
            question,
        );
        if self.commits_each_hit {
            self.commit(access, asked, verdict, slice::from_ref(changed), question, now)?;
        } else {
            self.write_if_due(access, when, now);
        }
        let (limits, counters) = (slice::from_ref(&limit.limit), slice::from_ref(&counter));
        *answer = Outcome::new(verdict, asked.index, limits, slice::from_ref(&span), counters, now);
        Ok(())
    }

    /// A step to a counter, which is made live if it is not. `None`: its window is over, begin anew.
    /// Where that was waited for, `now` is the time after the wait, in the same window.
    pub(super) fn step(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        step: Step,
        when: When,
        now: &mut Time,
    ) -> Result<Option<Changed>> {
        while let Some(sought) = self.table.find(identity) {
            points::pass("hit-read");
            match self.table.change(identity, &sought, step) {
                Ok(changed) => return Ok(Some(changed)),
                Err(Moved) => continue,
            }
        }
        self.claim(access, identity, step, when, now)
    }

    #[cold]
    pub(super) fn claim(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        step: Step,
        when: When,
        now: &mut Time,
    ) -> Result<Option<Changed>> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        let rows = self.rows(access, &deadline, Occasion::Hit(*now));
        Ok(match self.table.claim(identity, step, when, &rows, &deadline)? {
            Claimed::Done(changed, after_wait) => {
                *now = after_wait;
                Some(changed)
            }
            Claimed::WindowMovedOn => None,
        })
    }

    /// Writes what a hit has counted before it is answered; on failure it has spent nothing.
    #[cold]
    pub(super) fn commit(
        &self,
        access: &Access,
        asked: &Asked<'_>,
        verdict: Verdict,
        changed: &[Changed],
        question: Question,
        now: Time,
    ) -> Result<()> {
        let Question::Hit(cost) = question else { return Ok(()) };
        let cost = cost.get();
        let deadline = access.patience();
        let slots: Vec<_> = changed.iter().map(Changed::slot).collect();
        let is_allowed = verdict.answer == Answer::Allowed;
        let audited = Audited { now, rule: asked.rule, key: asked.key, cost };
        let audited = (access.audit && is_allowed).then_some(&audited);
        let committed = Call::enter(&deadline).map_err(Trouble::from).and_then(|_call| {
            self.rows(access, &deadline, Occasion::Hit(now)).commit(&slots, audited, false)
        });
        if committed.is_err() && is_allowed {
            for done in changed {
                self.table.undo(done);
            }
        }
        committed.map(drop)
    }
}
