//! What a hit would meet.

use super::{Asked, InTable, Result};
use crate::clock::When;
use crate::judge::{Counter, Question, judge};
use crate::os::call::Call;
use crate::outcome::Outcome;
use crate::store::access::Access;
use crate::table::Identity;

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
            let spans: Vec<_> = asked.limits.iter().map(|limit| limit.span_at(now)).collect();
            let mut counters = Vec::with_capacity(spans.len());
            for identity in asked.identities(&spans) {
                let counter = self.table.peek(&identity).map_or_else(
                    || self.look(access, &identity, when),
                    |counter| Ok(Some(counter)),
                );
                match counter? {
                    Some(counter) => counters.push(counter),
                    None => continue 'begin,
                }
            }
            let limits: Vec<_> = asked.limits.iter().map(|limit| limit.limit).collect();
            let verdict = judge(&limits, &spans, &mut counters, question);
            return Ok(Outcome::new(verdict, asked.index, &limits, &spans, &counters, now));
        }
    }

    /// A counter that is not live, as it stands. `None`: its window is over.
    pub(super) fn look(
        &self,
        access: &Access,
        identity: &Identity<'_>,
        when: When,
    ) -> Result<Option<Counter>> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        self.table.look(identity, when, &self.rows(access, &deadline, None), &deadline)
    }
}
