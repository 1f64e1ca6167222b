//! Making a counter live: under its bucket's lock, in a slot that can be spared.

use std::sync::atomic::{Ordering, fence};

use super::bucket::Sought;
use super::count::{Changed, Step};
use super::identity::Identity;
use super::layout::Stripe;
use super::lock::Held;
use super::place::Place;
use super::slot::Slot;
use super::state::State;
use super::write::Flushed;
use super::{Rows, Table, Trouble};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::error::{Code, Error};
use crate::judge::Counter;
use crate::os::points;
use crate::window::Time;

/// After so many times in vain, the deadline ends the writing of a bucket.
const MOST_WRITES: u32 = 8;

/// What came of a claim.
pub(crate) enum Claimed {
    /// At the time at which the window was found to be current.
    Done(Changed, Time),
    /// The window ended while this thread waited: begin with the time.
    WindowMovedOn,
}

/// A slot that can be spared, and its state.
#[derive(Clone, Copy)]
struct Choice {
    slot: usize,
    state: State,
}

impl Table {
    /// Makes a counter live that was not found, and does a step to it in the same moment: so the slot
    /// cannot be taken away in between, and a process that dies leaves no empty counter.
    pub(crate) fn claim(
        &self,
        identity: &Identity<'_>,
        step: Step,
        when: When,
        rows: &dyn Rows,
        deadline: &Deadline,
    ) -> Result<Claimed, Trouble> {
        let held = self.lock_bucket(identity.home(), deadline)?;
        self.claim_locked(&held, identity, step, when, rows, deadline)
    }

    fn claim_locked(
        &self,
        _held: &Held<'_>,
        identity: &Identity<'_>,
        step: Step,
        when: When,
        rows: &dyn Rows,
        deadline: &Deadline,
    ) -> Result<Claimed, Trouble> {
        points::pass("claim-locked");
        let (mut writes, mut flushed) = (0, Flushed::default());
        loop {
            self.must_count()?;
            // AFTER the lock: who waited for two windows would open a counter that was dropped anew.
            let now = when.resolve()?;
            if !is_current(identity, now) {
                return Ok(Claimed::WindowMovedOn);
            }
            if let Some(sought) = self.find(identity) {
                match self.change(identity, &sought, step) {
                    Ok(changed) => return Ok(Claimed::Done(changed, now)),
                    Err(_moved) => continue,
                }
            }
            let Some(choice) = self.choose(identity, now, rows, &flushed) else {
                // All of them may be hit without pause: not for ever.
                if writes >= MOST_WRITES && deadline.remaining().is_zero() {
                    return Err(too_small().into());
                }
                writes += 1;
                flushed = rows.write(&self.slots_of(identity.home()).collect::<Vec<_>>())?;
                continue;
            };
            points::pass("claim-chosen");
            if let Some(free) = self.vacate(choice) {
                return self.take_over(identity, free, step, now, when, rows);
            }
        }
    }

    /// How often counters were reset until now, this one perhaps among them.
    pub(crate) fn forgotten(&self, identity: &Identity<'_>) -> u64 {
        self.stripe_of(self.bucket_of(identity.home())).forgotten.load(Ordering::SeqCst)
    }

    /// Takes units back that were admitted in a life of the counter which has ended: its slot was
    /// needed, so they stand in its row or in a later life. But not where they may be gone, since
    /// counters were `forgotten` after they were admitted, or expired ones pruned, or the window is
    /// over: that would take somebody else's.
    pub(crate) fn undo_elsewhere(
        &self,
        identity: &Identity<'_>,
        changed: &Changed,
        forgotten: u64,
        when: When,
        rows: &dyn Rows,
        deadline: &Deadline,
    ) -> Result<(), Trouble> {
        let held = self.lock_bucket(identity.home(), deadline)?;
        let expires_ms = identity.window().expires_ms(identity.span());
        if self.forgotten(identity) == forgotten && expires_ms > self.pruned_until_ms() {
            let step = Step::Refund { cost: changed.admitted() };
            self.claim_locked(&held, identity, step, when, rows, deadline)?;
        }
        Ok(())
    }

    /// The counter as it stands, without making it live, and the time then. `None`: its window ended
    /// while this thread waited, so it may be gone.
    pub(crate) fn look(
        &self,
        identity: &Identity<'_>,
        when: When,
        rows: &dyn Rows,
        deadline: &Deadline,
    ) -> Result<Option<(Counter, Time)>, Trouble> {
        // A slot that is left is written before: its bucket's lock makes sure of that.
        let _held = self.lock_bucket(identity.home(), deadline)?;
        self.must_count()?;
        let now = when.resolve()?;
        if !is_current(identity, now) {
            return Ok(None);
        }
        if let Some(counter) = self.peek(identity) {
            return Ok(Some((counter, now)));
        }
        if !self.may_have_row(identity) {
            return Ok(Some((Counter::default(), now)));
        }
        let counter = rows.read(identity)?;
        // AFTER the row was looked for, as in a claim.
        let now = when.resolve()?;
        Ok(is_current(identity, now).then_some((counter, now)))
    }

    /// The counter, if it is live.
    pub(crate) fn peek(&self, identity: &Identity<'_>) -> Option<Counter> {
        loop {
            let Sought { slot, state } = self.find(identity)?;
            let standing = &self.mapping.slots()[slot];
            let read = standing.state.read();
            if read.tag() == state.tag() && standing.is_still(identity) {
                return Some(read.counter());
            }
        }
    }

    /// Whether SQLite may hold a row of a counter that no slot holds.
    pub(crate) fn may_have_row(&self, identity: &Identity<'_>) -> bool {
        let spill = &self.mapping.spills()[self.bucket_of(identity.home())];
        let first = self.mapping.header().first_start_ms.load(Ordering::Relaxed);
        identity.start_ms() <= spill.load(Ordering::Acquire).max(first)
    }

    pub(super) fn lock_bucket(
        &self,
        place: Place,
        deadline: &Deadline,
    ) -> Result<Held<'_>, Trouble> {
        self.lock_bucket_at(self.bucket_of(place), deadline)
    }

    pub(super) fn lock_bucket_at(
        &self,
        bucket: usize,
        deadline: &Deadline,
    ) -> Result<Held<'_>, Trouble> {
        self.stripe_of(bucket).lock.lock(&self.mapping, &self.process, deadline)
    }

    pub(super) fn stripe_of(&self, bucket: usize) -> &Stripe {
        let stripes = self.mapping.stripes();
        &stripes[bucket % stripes.len()]
    }

    fn must_count(&self) -> Result<(), Trouble> {
        if self.is_retired() { Err(Trouble::Retired) } else { Ok(()) }
    }

    /// A slot that is free or whose window has expired; one that SQLite holds as it is, of a past
    /// window first. `None`: the bucket must be written before one can be spared.
    fn choose(
        &self,
        identity: &Identity<'_>,
        now: Time,
        rows: &dyn Rows,
        flushed: &Flushed,
    ) -> Option<Choice> {
        // Past by the hit's time *and* by the wall clock, as for the rows.
        let past = clock::now().map_or(now, |wall| wall.min(now));
        let is_expired = |slot: &Slot| {
            slot.snapshot().is_some_and(|(_, counted)| counted.expires_ms() <= past.millis())
        };
        let is_over = |slot: &Slot| {
            slot.snapshot().is_some_and(|(_, counted)| counted.span.end_ms() <= now.millis())
        };
        // A mark does not tell of rows that were pruned since; what was written this moment does.
        let is_stored =
            |at: usize, slot: &Slot, state: State| self.is_clean(slot) || flushed.has(at, state);
        let unused = self.choice(identity, |_, slot, state| {
            !state.is_live() || rows.drops_expired() && is_expired(slot)
        });
        if let Some(Choice { slot, state }) = unused
            && state.is_live()
            && self.mapping.slots()[slot].mark.read_whole() != state
        {
            // What SQLite does not hold goes as in a prune.
            self.note_pruning(past);
        }
        unused
            .or_else(|| {
                self.choice(identity, |at, slot, state| is_stored(at, slot, state) && is_over(slot))
            })
            .or_else(|| self.choice(identity, is_stored))
    }

    /// In the order in which a look-up looks.
    fn choice(
        &self,
        identity: &Identity<'_>,
        can_be_spared: impl Fn(usize, &Slot, State) -> bool,
    ) -> Option<Choice> {
        self.look_up_order(identity).find_map(|slot| {
            let standing = &self.mapping.slots()[slot];
            // BEFORE the question: the state that is replaced is one of which the answer is true.
            let state = standing.state.read();
            can_be_spared(slot, standing, state).then_some(Choice { slot, state })
        })
    }

    /// Ends the life of a slot, unless somebody has counted in it meanwhile; the state of the free
    /// slot.
    fn vacate(&self, Choice { slot, state }: Choice) -> Option<Sought> {
        if !state.is_live() {
            return Some(Sought { slot, state });
        }
        let freed = self.free(slot, state)?;
        points::pass("claim-freed");
        Some(Sought { slot, state: freed })
    }

    /// As [`Table::vacate`], of a live slot.
    pub(super) fn free(&self, slot: usize, state: State) -> Option<State> {
        let standing = &self.mapping.slots()[slot];
        let (seen, counted) = standing.snapshot()?;
        if seen.tag() != state.tag() {
            return None;
        }
        // BEFORE the slot is free: who then does not find it asks SQLite.
        let bucket = slot / super::layout::BUCKET_SLOTS;
        self.mapping.spills()[bucket].fetch_max(counted.span.start_ms(), Ordering::AcqRel);
        points::pass("claim-spill-raised");
        standing.state.replace(state, state.freed()).ok()?;
        fence(Ordering::Release);
        Some(state.freed())
    }

    fn take_over(
        &self,
        identity: &Identity<'_>,
        Sought { slot, state: free }: Sought,
        step: Step,
        mut now: Time,
        when: When,
        rows: &dyn Rows,
    ) -> Result<Claimed, Trouble> {
        let mut row = Counter::default();
        if self.may_have_row(identity) {
            row = rows.read(identity)?;
            // AFTER the row was looked for: it may have expired before, and be gone.
            now = when.resolve()?;
            if !is_current(identity, now) {
                return Ok(Claimed::WindowMovedOn);
            }
        }
        points::pass("claim-row-read");
        let standing = &self.mapping.slots()[slot];
        standing.name(identity);
        points::pass("claim-identity-written");
        let as_stored = free.reborn(row);
        // In one store, of whichever life: a late mark of an old life must not mix with it.
        standing.mark.put(if row == Counter::default() { free } else { as_stored });
        points::pass("claim-marked");
        let after = step.next(as_stored);
        if standing.state.replace(free, after).is_err() {
            // Nobody but the holder of this lock changes a free slot; he was taken for dead.
            return Err(robbed().into());
        }
        points::pass("claim-published");
        self.announce(slot);
        Ok(Claimed::Done(Changed { slot, after, before: row }, now))
    }
}

fn is_current(identity: &Identity<'_>, now: Time) -> bool {
    identity.window().span_at(now).start_ms() == identity.start_ms()
}

fn too_small() -> Error {
    let cure = "begin a new store with more table_slots";
    Error::new(Code::Busy, format!("the shared table is too small for the keys in use; {cure}"))
}

fn robbed() -> Error {
    Error::new(
        Code::Busy,
        "a lock of the shared table was taken over by another process: this program has closed a \
         descriptor that it did not open",
    )
}
