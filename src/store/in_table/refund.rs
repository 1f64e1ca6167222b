//! Giving units back.

use super::{Asked, InTable, Result};
use crate::clock::When;
use crate::judge::{Counter, Question, judge};
use crate::os::call::Call;
use crate::outcome::Outcome;
use crate::store::access::Access;
use crate::store::written::Occasion;
use crate::table::{Changed, Identity, Step, Trouble};
use crate::window::Time;

impl InTable {
    #[inline(never)]
    pub(super) fn refund(
        &self,
        access: &Access,
        asked: &Asked<'_>,
        question: Question,
        cost: i64,
        when: When,
    ) -> Result<Outcome> {
        let mut given: Vec<Option<(i64, Changed)>> = vec![None; asked.limits.len()];
        'begin: loop {
            self.must_count()?;
            let now = when.resolve()?;
            let mut after_waits = now;
            let spans: Vec<_> = asked.limits.iter().map(|limit| limit.span_at(now)).collect();
            let identities: Vec<_> = asked.identities(&spans).collect();
            // BEFORE anything is given back: what fails here has changed nothing.
            let mut is_counted = Vec::with_capacity(identities.len());
            for identity in &identities {
                match self.make_live_if_counted(access, identity, when, &mut after_waits)? {
                    Some(counted) => is_counted.push(counted),
                    None => continue 'begin,
                }
            }
            for (index, identity) in identities.iter().enumerate() {
                let start_ms = identity.span().start_ms();
                // Once. What was given back in a window that has ended meanwhile stays so there.
                given[index].take_if(|(start, _)| *start != start_ms);
                if is_counted[index] && given[index].is_none() {
                    let step = Step::Refund { cost };
                    let Some(changed) =
                        self.step(access, identity, step, when, &mut after_waits)?
                    else {
                        continue 'begin;
                    };
                    given[index] = Some((start_ms, changed));
                }
            }
            let limits: Vec<_> = asked.limits.iter().map(|limit| limit.limit).collect();
            let mut counters: Vec<_> = given
                .iter()
                .map(|given| given.map_or(Counter::default(), |(_, changed)| changed.before))
                .collect();
            let now = asked.time_of_answer(&spans, now, after_waits);
            let verdict = judge(&limits, &spans, &mut counters, question);
            let slots: Vec<_> = given.iter().flatten().map(|(_, changed)| changed.slot()).collect();
            if self.commits_each_hit && !slots.is_empty() {
                let committed = self.commit_refund(access, &slots, now);
                match committed {
                    Err(Trouble::Failed(error)) if !self.spend_again(asked, &given) => {
                        // It stands, for everybody. Only the file does not know yet.
                        self.note(&Err(error.into()));
                    }
                    committed => committed?,
                }
            } else {
                self.write_if_due(access, when, now);
            }
            return Ok(Outcome::new(verdict, asked.index, &limits, &spans, &counters, now));
        }
    }

    fn commit_refund(&self, access: &Access, slots: &[usize], now: Time) -> Result<()> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        self.rows(access, &deadline, Occasion::Hit(now)).commit(slots, None, false)?;
        Ok(())
    }

    /// Takes a refund back that cannot be written, under all limits. False: it stands under all of
    /// them, since somebody has used it.
    fn spend_again(&self, asked: &Asked<'_>, given: &[Option<(i64, Changed)>]) -> bool {
        let mut done = Vec::new();
        for (limit, (_, changed)) in asked
            .limits
            .iter()
            .zip(given)
            .filter_map(|(limit, given)| given.as_ref().map(|given| (limit, given)))
        {
            match self.table.spend_again(changed, limit.limit.units()) {
                Some(spent) => done.push(spent),
                None => {
                    done.iter().for_each(|spent| {
                        self.table.undo(spent);
                    });
                    return false;
                }
            }
        }
        true
    }

    /// Whether there is a counter, which is live then: a refund makes none. `None`: its window is over.
    fn make_live_if_counted(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        when: When,
        now: &mut Time,
    ) -> Result<Option<bool>> {
        if self.table.peek(identity).is_some() {
            return Ok(Some(true));
        }
        match self.look(access, identity, when, now)? {
            None => Ok(None),
            Some(counter) if counter == Counter::default() => Ok(Some(false)),
            Some(_) => {
                let claimed = self.claim(access, identity, Step::Keep, when, now)?;
                Ok(claimed.map(|_| true))
            }
        }
    }
}
