//! What a hit would meet.

use super::{Asked, InTable, Result};
use crate::clock::When;
use crate::judge::{Counter, Question, judge};
use crate::os::call::Call;
use crate::outcome::Outcome;
use crate::store::access::Access;
use crate::store::written::Occasion;
use crate::table::Identity;
use crate::window::Time;

impl InTable {
    #[inline(never)]
    pub(super) fn status(
        &self,
        access: &Access,
        asked: &Asked<'_>,
        question: Question,
        when: When,
    ) -> Result<Outcome> {
        'begin: loop {
            self.must_count()?;
            let now = when.resolve()?;
            let mut after_waits = now;
            let spans: Vec<_> = asked.limits.iter().map(|limit| limit.span_at(now)).collect();
            let mut counters = Vec::with_capacity(spans.len());
            for identity in asked.identities(&spans) {
                let counter = self.table.peek(&identity).map_or_else(
                    || self.look(access, &identity, when, &mut after_waits),
                    |counter| Ok(Some(counter)),
                );
                match counter? {
                    Some(counter) => counters.push(counter),
                    None => continue 'begin,
                }
            }
            let limits: Vec<_> = asked.limits.iter().map(|limit| limit.limit).collect();
            let now = asked.time_of_answer(&spans, now, after_waits);
            let verdict = judge(&limits, &spans, &mut counters, question);
            self.look_if_due(access, when, now);
            return Ok(Outcome::new(verdict, asked.index, &limits, &spans, &counters, now));
        }
    }

    /// A counter that is not live, as it stands. `None`: its window is over. `now`
    /// is the time after the wait.
    pub(super) fn look(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        when: When,
        now: &mut Time,
    ) -> Result<Option<Counter>> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        let rows = self.rows(access, &deadline, Occasion::Call);
        Ok(self.table.look(identity, when, &rows, &deadline)?.map(|(counter, after_wait)| {
            *now = after_wait;
            counter
        }))
    }
}
