//! Counting in rows: a transaction a hit. For stores in memory, and where there is no shared table.

use super::access::Access;
use super::counters::Counters;
use super::failure::Failure;
use super::session::Session;
use super::{checkpoint, prune, reset, schema, transaction};
use crate::clock::When;
use crate::judge::{Answer, Question};
use crate::key::StoredKey;
use crate::outcome::Outcome;
use crate::policy::Rule;
use crate::table::Trouble;
use crate::window::Time;

type Result<T> = std::result::Result<T, Trouble>;

struct Hit<'a> {
    rule: &'a Rule,
    /// The rule's, in its policy.
    index: usize,
    key: &'a StoredKey,
    cost: i64,
}

pub(super) fn ask(
    access: &Access,
    (rule, index): (&Rule, usize),
    key: &StoredKey,
    question: Question,
    when: When,
) -> Result<Outcome> {
    let deadline = access.patience();
    match question {
        Question::Hit(cost) if cost.get() > 0 => {
            let hit = Hit { rule, index, key, cost: cost.get() };
            access.with_rows(&deadline, |session| count(access, session, &hit, question, when))
        }
        Question::Refund(cost) if cost.get() > 0 => access.write(&deadline, |session| {
            let mut counters = Counters::read(session, rule, key, when)?;
            let verdict = counters.judge(question);
            counters.write_existing()?;
            Ok(counters.outcome(verdict, index))
        }),
        _ => access.read(&deadline, |session| {
            let mut counters = Counters::read(session, rule, key, when)?;
            let verdict = counters.judge(question);
            Ok(counters.outcome(verdict, index))
        }),
    }
}

/// Counts a hit, commits it, and removes a few of the rows that nobody asks for any more.
fn count(
    access: &Access,
    session: &Session,
    hit: &Hit<'_>,
    question: Question,
    when: When,
) -> std::result::Result<Outcome, Failure> {
    let connection = &session.connection;
    session.rules.register(connection, hit.rule)?;
    let (outcome, rows_added) = match hit.rule.limits() {
        [limit] if !access.audit => {
            let rule = (hit.rule, *limit);
            let key = (hit.key, session.place(hit.rule, limit, hit.key));
            let counted =
                session.one_limit.hit(connection, access.name(), rule, key, question, when)?;
            (counted.outcome(hit.index, limit), usize::from(counted.is_first))
        }
        _ => transaction::write(connection, access.name(), |_| {
            count_in_transaction(access, session, hit, question, when)
        })?,
    };
    // The hit is committed, so a failure here is not the hit's: to report it would say that
    // nothing was counted. The next hit that has rows to remove meets it again.
    let audited = usize::from(access.audit && outcome.allowed);
    let now = Time::from_millis(outcome.now_ms)?;
    let _ = access.keep_house(session, now, rows_added, audited);
    Ok(outcome)
}

fn count_in_transaction(
    access: &Access,
    session: &Session,
    hit: &Hit<'_>,
    question: Question,
    when: When,
) -> std::result::Result<(Outcome, usize), Failure> {
    let mut counters = Counters::read(session, hit.rule, hit.key, when)?;
    let verdict = counters.judge(question);
    let rows_added = counters.write()?;
    if access.audit && verdict.answer == Answer::Allowed {
        let mut audit = session.connection.prepare_cached(schema::AUDIT)?;
        let now_ms = counters.now.millis();
        audit.execute((now_ms, hit.rule.name(), hit.key.as_bytes(), hit.cost))?;
    }
    Ok((counters.outcome(verdict, hit.index), rows_added))
}

pub(super) fn reset(access: &Access, rules: &[&Rule], key: &StoredKey) -> Result<u64> {
    let mut removed = 0;
    let mut from = Some(i64::MIN);
    while let Some(after_ms) = from {
        let slice = access.write(&access.patience(), |session| {
            let counters = reset::limits_of(session, rules)?;
            reset::slice(session, &counters, key, after_ms)
        })?;
        removed += slice.expired_ms.len() as u64;
        from = slice.next;
    }
    Ok(removed)
}

pub(super) fn prune(access: &Access, now: Time) -> Result<u64> {
    let mut removed = 0;
    let mut slices = 0u64;
    let mut more = (true, true);
    while more != (false, false) {
        let (counters, more_counters, more_audit) = access.with(&access.patience(), |session| {
            let connection = &session.connection;
            transaction::write_known(connection, access.name(), session.meta.format, |_| {
                let (counters, more_counters) = match more.0 {
                    true => prune::counters(connection, now, prune::SLICE_ROWS)?,
                    false => (0, false),
                };
                let more_audit = more.1 && access.prune_audit(session, now, prune::SLICE_ROWS)?;
                Ok((counters, more_counters, more_audit))
            })
        })?;
        removed += counters as u64;
        more = (more_counters, more_audit);
        slices += 1;
        if slices.is_multiple_of(prune::SLICES_BETWEEN_MOVES) {
            access.with(&access.patience(), |session| {
                let _ = checkpoint::now(&session.connection);
                Ok(())
            })?;
        }
        std::thread::sleep(prune::PAUSE_BETWEEN_SLICES);
    }
    Ok(removed)
}
