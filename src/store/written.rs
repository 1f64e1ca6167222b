//! The shared table's copy in SQLite: rows are read for it, and written from it.

use std::time::Duration;

use super::access::Access;
use super::attach::{self, Numbers};
use super::failure::Failure;
use super::reset::{self, LimitOf};
use super::session::Session;
use super::{meta, row, schema, transaction};
use crate::clock;
use crate::deadline::Deadline;
use crate::error::{Code, Error};
use crate::judge::Counter;
use crate::key::StoredKey;
use crate::policy::Rule;
use crate::table::{Flushed, Identity, Rows, Table, Trouble, Written};
use crate::window::Time;

/// How old a database's idea of its table may be, for a transaction of single hits: it tells a backup
/// that was put in the place of a database from that database.
const ADVANCE_EVERY: Duration = Duration::from_millis(100);

/// One call's use of the rows.
pub(super) struct TableRows<'a> {
    pub(super) access: &'a Access,
    pub(super) table: &'a Table,
    pub(super) deadline: &'a Deadline,
    pub(super) occasion: Occasion,
}

/// On what occasion the rows are used.
#[derive(Clone, Copy)]
pub(super) enum Occasion {
    /// A hit at this time: what is past by it need not be written, and it removes expired rows.
    Hit(Time),
    /// The last close of a process. It has no time of its own, but removes expired rows for the hits
    /// that left none.
    Close,
    /// A caller asked for just this.
    Call,
}

/// An allowed hit, for the audit.
pub(super) struct Audited<'a> {
    pub(super) now: Time,
    pub(super) rule: &'a Rule,
    pub(super) key: &'a StoredKey,
    pub(super) cost: i64,
}

impl TableRows<'_> {
    /// Runs `attempt` on the database of this table. [`Trouble::Retired`]: it is another's by now.
    pub(super) fn with<T>(
        &self,
        mut attempt: impl FnMut(&Session) -> Result<Option<T>, Failure>,
    ) -> Result<T, Trouble> {
        let done = self.access.with(self.deadline, |session| {
            let done = attempt(session)?;
            if done.is_none() {
                attach::leave(session, self.table);
            }
            Ok(done)
        });
        match done? {
            Some(done) => Ok(done),
            None => Err(Trouble::Retired),
        }
    }

    /// Looks whether the store still counts in this table. [`Trouble::Retired`]: it does not.
    pub(super) fn look(&self) -> Result<(), Trouble> {
        self.with(|session| {
            let done = self.table.sequence_done();
            transaction::read_unchecked(&session.connection, |_| {
                Ok(self.in_force(session, done)?.map(drop))
            })
        })
    }

    /// What the database knows of its table, if that is this one. `done` was read before the transaction
    /// began.
    fn in_force(&self, session: &Session, done: u64) -> Result<Option<Numbers>, Failure> {
        // An upgraded store, which attaching refuses; a restored one, which lacks what was written.
        if meta::format(&session.connection)? != session.meta.format {
            return Ok(None);
        }
        let numbers = attach::number_in_force(session)?;
        Ok(numbers.filter(|numbers| {
            numbers.table_id == self.table.id()
                && (done..=self.table.sequence_begun()).contains(&numbers.sequence)
        }))
    }

    /// Writes slots and a hit's audit row, whole or not at all. How the database knows its table is
    /// renewed `always`, or when it is old.
    pub(super) fn commit(
        &self,
        slots: &[usize],
        audited: Option<&Audited<'_>>,
        always: bool,
    ) -> Result<Flushed, Trouble> {
        self.with(|session| {
            let Some((written, sequence)) = self.transact(session, slots, audited, always)? else {
                return Ok(None);
            };
            if let Some(sequence) = sequence {
                self.table.note_done(sequence);
            }
            let added = written.slots().iter().filter(|slot| !slot.has_row).count();
            let past = match self.occasion {
                Occasion::Hit(now) => Some(now),
                // A window's start: a time at which there was a hit.
                Occasion::Close => latest_start(&written),
                Occasion::Call => None,
            };
            let flushed = written.mark();
            // Committed, so a failure here is not the hit's.
            if let Some(now) = past {
                let _ = self.access.keep_house(session, now, added, audited.iter().count());
            }
            Ok(Some(flushed))
        })
    }

    #[allow(clippy::type_complexity)]
    fn transact(
        &self,
        session: &Session,
        slots: &[usize],
        audited: Option<&Audited<'_>>,
        always: bool,
    ) -> Result<Option<(Written<'_>, Option<u64>)>, Failure> {
        let done = self.table.sequence_done();
        transaction::write_unchecked(&session.connection, |connection| {
            let Some(numbers) = self.in_force(session, done)? else { return Ok(None) };
            let written = self.table.read_unwritten(slots, self.past());
            if let Some(hit) = audited {
                let mut audit = connection.prepare_cached(schema::AUDIT)?;
                let now_ms = hit.now.millis();
                audit.execute((now_ms, hit.rule.name(), hit.key.as_bytes(), hit.cost))?;
            }
            let sequence = self.put(session, &numbers, &written, always)?;
            Ok(Some((written, sequence)))
        })
    }

    /// Stores what was read; returns the number of the transaction, if it has one.
    fn put(
        &self,
        session: &Session,
        numbers: &Numbers,
        written: &Written<'_>,
        always: bool,
    ) -> Result<Option<u64>, Failure> {
        put_rows(session, written)?;
        let highest_start_ms = latest_start(written).map_or(i64::MIN, Time::millis);
        let is_due = always || session.advanced.is_older_than(ADVANCE_EVERY);
        if !is_due && highest_start_ms <= numbers.highest_start_ms {
            return Ok(None);
        }
        numbers.advance(&session.connection, highest_start_ms)?;
        session.advanced.renew();
        let sequence = numbers.sequence.wrapping_add(1);
        self.table.note_begun(sequence);
        Ok(Some(sequence))
    }

    /// Counters that expired until then need not be written: past by the hit's time *and* by the wall
    /// clock, as for the rows.
    fn past(&self) -> Option<Time> {
        let Occasion::Hit(hit_at) = self.occasion else { return None };
        if !self.access.auto_prune {
            return None;
        }
        clock::now().ok().map(|wall| wall.min(hit_at))
    }

    /// Removes a key's rows under a limit, and writes what was counted since in these slots.
    pub(super) fn forget(
        &self,
        limit: &LimitOf<'_>,
        key: &StoredKey,
        slots: &[usize],
    ) -> Result<Vec<i64>, Trouble> {
        let mut expired_ms = Vec::new();
        let mut from = Some(i64::MIN);
        while let Some(after_ms) = from {
            let slice = self.with(|session| {
                let limits = std::slice::from_ref(limit);
                let done = self.table.sequence_done();
                let forgotten = transaction::write_unchecked(&session.connection, |_| {
                    let Some(numbers) = self.in_force(session, done)? else { return Ok(None) };
                    let slice = reset::slice(session, limits, key, after_ms)?;
                    // In the last slice: a row that another process wrote meanwhile is gone by then.
                    let slots = if slice.next.is_none() { slots } else { &[] };
                    let written = self.table.read_all(slots);
                    let sequence = self.put(session, &numbers, &written, false)?;
                    Ok(Some((slice, written, sequence)))
                })?;
                Ok(forgotten.map(|(slice, written, sequence)| {
                    sequence.into_iter().for_each(|sequence| self.table.note_done(sequence));
                    written.mark();
                    slice
                }))
            })?;
            expired_ms.extend(slice.expired_ms);
            from = slice.next;
        }
        Ok(expired_ms)
    }
}

fn latest_start(written: &Written<'_>) -> Option<Time> {
    let latest = written.slots().iter().map(|slot| slot.counted.span.start_ms()).max();
    latest.and_then(|start_ms| Time::from_millis(start_ms).ok())
}

fn put_rows(session: &Session, written: &Written<'_>) -> Result<(), Failure> {
    let connection = &session.connection;
    let mut put = connection.prepare_cached(schema::PUT_COUNTER)?;
    let mut delete = connection.prepare_cached(schema::DELETE_COUNTER)?;
    for slot in written.slots() {
        let counted = &slot.counted;
        let (expires_ms, code) = (counted.expires_ms(), counted.window.code());
        let key = counted.key.as_bytes();
        session.rules.with_name(connection, counted.number, |name| {
            // A number that was never given: nobody counts there but whoever scribbles in the file.
            let Some(name) = name else { return Ok(()) };
            let hash = session.meta.place_secret.place(name, code, key).row_hash();
            if slot.counter == Counter::default() {
                delete.execute((expires_ms, hash, name, code, key))?;
            } else {
                let Counter { attempts, admitted } = slot.counter;
                put.execute((expires_ms, hash, name, code, key, attempts, admitted))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

impl Rows for TableRows<'_> {
    fn read(&self, identity: &Identity<'_>) -> Result<Counter, Trouble> {
        let key = identity.key();
        let window = identity.window();
        let expires_ms = window.expires_ms(identity.span());
        self.with(|session| {
            let done = self.table.sequence_done();
            transaction::read_unchecked(&session.connection, |connection| {
                if self.in_force(session, done)?.is_none() {
                    return Ok(None);
                }
                session.rules.with_name(connection, identity.number(), |name| {
                    let name = name.ok_or_else(unknown_rule)?;
                    let mut statement = connection.prepare_cached(schema::GET_COUNTER)?;
                    let hash = identity.home().row_hash();
                    let mut rows =
                        statement.query((expires_ms, hash, name, window.code(), key.as_bytes()))?;
                    let Some(row) = rows.next()? else { return Ok(Some(Counter::default())) };
                    let counter = row::counter(row.get_ref(0)?, row.get_ref(1)?);
                    Ok(Some(counter.ok_or_else(|| row::damaged(name))?))
                })
            })
        })
    }

    fn write(&self, slots: &[usize]) -> Result<Flushed, Trouble> {
        self.commit(slots, None, true)
    }

    fn drops_expired(&self) -> bool {
        self.access.auto_prune
    }
}

fn unknown_rule() -> Error {
    Error::new(Code::Corrupt, "table rate_limit_rules lacks a rule that was counted")
}
