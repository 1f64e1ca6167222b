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
    identity: &'a Identity<'a>,
    /// How often counters had been forgotten before it counted.
    forgotten: u64,
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
            let identity = &identity;
            let forgotten = if self.commits_each_hit { self.table.forgotten(identity) } else { 0 };
            if let Some(sought) = self.table.find(identity) {
                points::pass("hit-read");
                if let Ok(changed) = self.table.change(identity, &sought, step) {
                    let asked =
                        OneLimit { asked, limit, span, now, question, when, identity, forgotten };
                    return self.answer_one(access, &asked, &changed, answer);
                }
            } else if let Some(changed) = self.claim(access, identity, step, when, &mut now)? {
                let asked =
                    OneLimit { asked, limit, span, now, question, when, identity, forgotten };
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
        let OneLimit { asked, limit, span, now, question, when, identity, forgotten } = *asked;
        let mut counter = changed.before;
        let verdict = judge(
            slice::from_ref(&limit.limit),
            slice::from_ref(&span),
            slice::from_mut(&mut counter),
            question,
        );
        if self.commits_each_hit {
            let committed =
                self.commit(access, asked, verdict, slice::from_ref(changed), question, now);
            if let Err(trouble) = committed {
                if verdict.answer == Answer::Allowed {
                    self.give_back(access, identity, changed, forgotten, when);
                }
                return Err(trouble);
            }
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

    /// Takes back what a hit has spent. What cannot be taken back stays spent until its window ends, so
    /// nobody is let over a limit.
    #[cold]
    pub(super) fn give_back(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        changed: &Changed,
        forgotten: u64,
        when: When,
    ) {
        if self.table.undo(changed) {
            return;
        }
        let deadline = access.patience();
        let _ = Call::enter(&deadline).map_err(Trouble::from).and_then(|_call| {
            let rows = self.rows(access, &deadline, Occasion::Hit(when.resolve()?));
            self.table.undo_elsewhere(identity, changed, forgotten, when, &rows, &deadline)
        });
    }

    /// Writes what a hit has counted before it is answered.
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
        let _call = Call::enter(&deadline)?;
        self.rows(access, &deadline, Occasion::Hit(now)).commit(&slots, audited, false)?;
        Ok(())
    }
}
