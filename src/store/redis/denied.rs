//! Denials that this process remembers, if it is told to: a client that floods is refused here, without
//! asking the server, until one of its windows ends. What it attempted is told in batches: by the first
//! hit after an interval, which also learns whether somebody has given units back, and then by the same
//! process for others whose interval is nearly over. It doubles while the denial stands: thousands of
//! clients that flood would else be told of without end.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::MOST_LIMITS;
use super::failure::Fault;
use super::lane::Server;
use crate::clock::When;
use crate::judge::{Answer, Counter, Question, judge};
use crate::key::StoredKey;
use crate::outcome::Outcome;
use crate::policy::Limit;
use crate::units::{Cost, MAX_UNITS};
use crate::window::{Span, Time};

/// How many clients are remembered at most: some megabytes.
const MOST_ENTRIES: usize = 16_384;

const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How often the interval doubles.
const MOST_DOUBLINGS: usize = 3;

#[derive(Default)]
pub(super) struct Denied {
    entries: HashMap<Id, Entry>,
    /// Who was told of, and when, first things first; by how often their interval has doubled. Those of
    /// which this is no longer true are still in here.
    told: [VecDeque<(Id, Instant)>; MOST_DOUBLINGS + 1],
    /// When those were last looked for whose window has ended.
    swept: Option<Instant>,
    /// When all was last told at the end of a limiter.
    ended: Option<Instant>,
}

/// A client, and the number of the scheme that it is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub(super) scheme: usize,
    pub(super) client: StoredKey,
}

/// What the server said, and what has been attempted since.
struct Entry {
    seen: Seen,
    untold: Untold,
    /// When the server was last asked for this client, if it need not be now; and how often it has denied
    /// in a row.
    asked: Option<Instant>,
    denials: usize,
}

/// What the server said when it denied a hit.
pub(super) struct Seen {
    pub(super) spans: Vec<Span>,
    /// After the hit.
    pub(super) counters: Vec<Counter>,
    /// The time of the decision, and whether the caller gave it.
    pub(super) now: Time,
    pub(super) is_given: bool,
    /// The server read its clock between these two.
    pub(super) sent: Instant,
    pub(super) received: Instant,
    pub(super) server: Arc<Server>,
}

/// What the server is to be told of clients.
pub(super) type ToTell = Vec<(Id, Untold)>;

/// Attempts that the server does not know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Untold {
    pub(super) attempts: i64,
    /// The time of the last of them.
    pub(super) at_ms: i64,
}

impl Untold {
    pub(super) const NONE: Self = Self { attempts: 0, at_ms: -1 };

    /// With more of them, the last of which was made at that time.
    fn and(self, attempts: i64, at_ms: i64) -> Self {
        Self { attempts: self.attempts.saturating_add(attempts).min(MAX_UNITS), at_ms }
    }
}

impl Denied {
    /// A denial of a hit that costs something, under the `rule`-th rule, as far as the server would deny it,
    /// so that nobody need ask it. `instant` is now by the monotonic clock, whatever `when` says. Neither
    /// allocates nor frees.
    pub(super) fn recall(
        &mut self,
        id: &Id,
        (rule, limits): (usize, &[Limit]),
        cost: Cost,
        when: When,
        instant: Instant,
        interval: Duration,
    ) -> Option<Outcome> {
        let entry = self.entries.get_mut(id)?;
        // While the server is away, it is to be seen that it is.
        if entry.seen.server.is_resting() {
            return None;
        }
        let now = entry.seen.time(when, instant)?;
        if instant.saturating_duration_since(entry.asked?) >= pause(interval, entry.denials) {
            return None;
        }
        let Seen { spans, counters, .. } = &mut entry.seen;
        let mut after = [Counter::default(); MOST_LIMITS];
        let after = &mut after[..counters.len()];
        after.copy_from_slice(counters);
        let verdict = judge(limits, spans, after, Question::Hit(cost));
        if verdict.answer == Answer::Allowed {
            return None;
        }
        counters.copy_from_slice(after);
        entry.untold = entry.untold.and(cost.get(), now.millis());
        Some(Outcome::new(verdict, rule, limits, spans, counters, now))
    }

    /// The server is going to be asked of a client, by one for all; what it is to be told.
    pub(super) fn ask(&mut self, id: &Id, instant: Instant) -> Untold {
        let Some(entry) = self.entries.get_mut(id) else { return Untold::NONE };
        entry.asked = Some(instant);
        entry.take_untold()
    }

    /// The server has denied a hit.
    pub(super) fn remember(&mut self, id: Id, mut seen: Seen) {
        let asked = seen.received;
        let (mut untold, mut denials) = (Untold::NONE, 0);
        if let Some(known) = self.entries.get(&id) {
            untold = known.untold;
            if known.seen.spans == seen.spans {
                // Several that were under way together are one.
                denials = known.denials + usize::from(seen.sent >= known.seen.received);
                // Attempted while the server was asked.
                for counter in &mut seen.counters {
                    let attempts = counter.attempts.saturating_add(untold.attempts);
                    counter.attempts = attempts.min(MAX_UNITS);
                }
            }
        } else if self.entries.len() >= MOST_ENTRIES {
            // Not for each newcomer: it takes a millisecond.
            if self.swept.is_some_and(|swept| asked.duration_since(swept) < SWEEP_EVERY) {
                return;
            }
            self.swept = Some(asked);
            self.entries.retain(|_, entry| entry.seen.time(When::Now, asked).is_some());
            if self.entries.len() >= MOST_ENTRIES {
                return;
            }
        }
        let told = &mut self.told[denials.min(MOST_DOUBLINGS)];
        if !seen.is_given && told.len() < 2 * MOST_ENTRIES {
            told.push_back((id, asked));
        }
        self.entries.insert(id, Entry { seen, untold, asked: Some(asked), denials });
    }

    /// Takes up to `most` clients of a server off who still flood and whose interval is nearly over, with
    /// what it is to be told of them.
    pub(super) fn nearly_due(
        &mut self,
        server: &Arc<Server>,
        most: usize,
        instant: Instant,
        interval: Duration,
    ) -> ToTell {
        let (mut due, mut elsewhere) = (Vec::new(), Vec::new());
        for (denials, told) in self.told.iter_mut().enumerate() {
            let nearly = pause(interval, denials) * 3 / 4;
            while due.len() < most
                && elsewhere.len() < 4 * most
                && told
                    .front()
                    .is_some_and(|(_, at)| instant.saturating_duration_since(*at) >= nearly)
                && let Some((id, at)) = told.pop_front()
            {
                let Some(entry) = self.entries.get_mut(&id) else { continue };
                let is_over = entry.seen.time(When::Now, instant).is_none();
                if entry.asked != Some(at) || entry.untold == Untold::NONE || is_over {
                    continue;
                }
                if Arc::ptr_eq(&entry.seen.server, server) {
                    entry.asked = Some(instant);
                    due.push((id, entry.take_untold()));
                } else {
                    elsewhere.push((id, at));
                }
            }
            // Behind the others, so that a server that is gone does not stand in their way.
            told.extend(elsewhere.drain(..));
        }
        due
    }

    /// As [`Denied::nearly_due`], of whatever server, and whether its turn is near or not.
    pub(super) fn any_untold(&mut self, most: usize) -> Option<(Arc<Server>, ToTell)> {
        let can_be_told = |entry: &Entry| {
            let Seen { is_given, server, .. } = &entry.seen;
            entry.untold != Untold::NONE && !is_given && !server.is_resting()
        };
        let first = self.entries.values().find(|entry| can_be_told(entry))?;
        let server = Arc::clone(&first.seen.server);
        let theirs = self
            .entries
            .iter_mut()
            .filter(|(_, entry)| can_be_told(entry) && Arc::ptr_eq(&entry.seen.server, &server));
        let untold = theirs.take(most).map(|(id, entry)| (*id, entry.take_untold()));
        let untold = untold.collect();
        Some((server, untold))
    }

    /// Whether all that is untold is to be told, since a limiter is closed: once an interval, because some
    /// hosts open and close one for each request.
    pub(super) fn is_end_due(&mut self, instant: Instant, interval: Duration) -> bool {
        let is_due = |at: Instant| instant.saturating_duration_since(at) >= interval;
        if self.ended.is_none_or(is_due) {
            self.ended = Some(instant);
            return true;
        }
        false
    }

    /// The server was told, or was to be, and failed: what it cannot have counted is told again.
    pub(super) fn failed(&mut self, id: &Id, untold: Untold, fault: &Fault) {
        match fault.may_have_counted() {
            true => self.ask_again(id),
            false => self.not_told(id, untold),
        }
    }

    /// What was to be told was not, and cannot have been counted: the next hit tells it.
    pub(super) fn not_told(&mut self, id: &Id, untold: Untold) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.untold = entry.untold.and(untold.attempts, entry.untold.at_ms.max(untold.at_ms));
        entry.asked = None;
    }

    /// What the server is still to be told of a client.
    pub(super) fn untold(&self, id: &Id) -> Untold {
        self.entries.get(id).map_or(Untold::NONE, |entry| entry.untold)
    }

    /// The server has allowed a hit, or its answer is not to be believed. What was attempted while it was
    /// asked is told by the next.
    pub(super) fn forget_answer(&mut self, id: &Id) {
        if self.untold(id) == Untold::NONE {
            self.forget(id);
        } else {
            self.ask_again(id);
        }
    }

    pub(super) fn forget(&mut self, id: &Id) {
        self.entries.remove(id);
    }

    /// Units may have been given back: the next hit asks.
    pub(super) fn ask_again(&mut self, id: &Id) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.ask_again();
        }
    }

    /// Somebody could not say whose units were given back.
    pub(super) fn ask_again_all(&mut self) {
        self.entries.values_mut().for_each(Entry::ask_again);
    }

    /// What is still to be told is told by somebody else.
    pub(super) fn forget_untold(&mut self) {
        for entry in self.entries.values_mut() {
            entry.untold = Untold::NONE;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Entry {
    fn take_untold(&mut self) -> Untold {
        std::mem::replace(&mut self.untold, Untold::NONE)
    }

    fn ask_again(&mut self) {
        (self.asked, self.denials) = (None, 0);
    }
}

fn pause(interval: Duration, denials: usize) -> Duration {
    interval * (1 << denials.min(MOST_DOUBLINGS))
}

impl Seen {
    /// The time of a hit, if all windows are surely still those that were judged.
    fn time(&self, when: When, instant: Instant) -> Option<Time> {
        let first_end_ms = self.spans.iter().map(Span::end_ms).min()?;
        let last_start_ms = self.spans.iter().map(Span::start_ms).max()?;
        match when {
            When::At(time) => {
                (last_start_ms..first_end_ms).contains(&time.millis()).then_some(time)
            }
            When::Now if self.is_given => None,
            When::Now => {
                let now_ms = self.now.millis();
                let since = |begin: Instant| {
                    i64::try_from(instant.saturating_duration_since(begin).as_millis())
                        .unwrap_or(i64::MAX)
                };
                // Not later than this is it by the server's clock, milliseconds begun counted whole.
                let at_most_ms = now_ms.saturating_add(since(self.sent)).saturating_add(2);
                let time = Time::from_millis(now_ms.saturating_add(since(self.received))).ok();
                time.filter(|_| at_most_ms < first_end_ms)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::Endpoint;
    use super::*;
    use crate::policy::Policy;

    const INTERVAL: Duration = Duration::from_millis(100);
    const START_MS: i64 = 1_767_225_600_000;

    struct Scene {
        denied: Denied,
        policy: Policy,
        instant: Instant,
        server: Arc<Server>,
    }

    impl Scene {
        /// Three of three are spent in a window of ten seconds, at its beginning.
        fn new(is_given: bool) -> Self {
            let policy = Policy::parse(b"3/10s").unwrap();
            let server = Server::new(Endpoint::Tcp("a".into(), 1));
            let mut scene =
                Self { denied: Denied::default(), policy, instant: Instant::now(), server };
            scene.denied.remember(id(0), scene.seen(4, is_given));
            scene
        }

        fn seen(&self, attempts: i64, is_given: bool) -> Seen {
            let now = Time::from_millis(START_MS).unwrap();
            Seen {
                spans: vec![self.policy.rules()[0].limits()[0].window().span_at(now)],
                counters: vec![Counter { attempts, admitted: 3 }],
                now,
                is_given,
                sent: self.instant,
                received: self.instant,
                server: Arc::clone(&self.server),
            }
        }

        /// The count of a denial; what is to be told of a hit that must ask.
        fn hit(&mut self, after_ms: u64, when: When) -> Result<i64, Untold> {
            let cost = Cost::new(1).unwrap();
            let instant = self.instant + Duration::from_millis(after_ms);
            let limits = self.policy.rules()[0].limits();
            let known = self.denied.recall(&id(0), (0, limits), cost, when, instant, INTERVAL);
            match known {
                Some(outcome) => Ok(outcome.count),
                None => Err(self.denied.ask(&id(0), instant)),
            }
        }
    }

    fn id(scheme: usize) -> Id {
        let mut client = StoredKey::EMPTY;
        client.set(b"client", None).unwrap();
        Id { scheme, client }
    }

    fn untold(attempts: i64, after_ms: i64) -> Untold {
        Untold { attempts, at_ms: START_MS + after_ms }
    }

    #[test]
    fn a_flood_is_refused_here_and_told_in_batches() {
        let mut scene = Scene::new(false);
        assert_eq!(scene.hit(1, When::Now), Ok(5));
        assert_eq!(scene.hit(99, When::Now), Ok(6));
        assert_eq!(scene.hit(100, When::Now), Err(untold(2, 99)));
        // While that one asks, others do not.
        assert_eq!(scene.hit(101, When::Now), Ok(7));
        let mut seen = scene.seen(7, false);
        seen.received += Duration::from_millis(102);
        scene.denied.remember(id(0), seen);
        assert_eq!(scene.hit(103, When::Now), Ok(9));
        assert_eq!(scene.hit(301, When::Now), Ok(10));
        assert_eq!(scene.hit(302, When::Now), Err(untold(3, 199)));
    }

    #[test]
    fn a_window_is_left_before_it_can_have_ended() {
        let mut scene = Scene::new(false);
        assert_eq!(scene.hit(9_998, When::Now), Err(Untold::NONE));
        scene.denied.remember(id(0), scene.seen(4, false));
        assert_eq!(scene.hit(1, When::Now), Ok(5));
        let at = |ms| When::At(Time::from_millis(START_MS + ms).unwrap());
        assert_eq!(scene.hit(2, at(9_999)), Ok(6));
        assert_eq!(scene.hit(3, at(10_000)), Err(untold(2, 9_999)));
        // Until it is told.
        scene.denied.not_told(&id(0), untold(2, 9_999));
        assert_eq!(scene.hit(3, at(10_000)), Err(untold(2, 9_999)));
    }

    #[test]
    fn a_given_time_says_nothing_of_the_clock() {
        let mut scene = Scene::new(true);
        assert_eq!(scene.hit(1, When::Now), Err(Untold::NONE));
    }

    #[test]
    fn after_a_refund_the_next_hit_asks_and_tells() {
        let mut scene = Scene::new(false);
        assert_eq!(scene.hit(1, When::Now), Ok(5));
        scene.denied.ask_again(&id(0));
        assert_eq!(scene.hit(2, When::Now), Err(untold(1, 1)));
    }

    #[test]
    fn no_more_than_so_many_are_remembered() {
        let mut scene = Scene::new(false);
        for number in 0..MOST_ENTRIES + 10 {
            scene.denied.remember(id(number), scene.seen(4, false));
        }
        assert_eq!(scene.denied.len(), MOST_ENTRIES);
    }

    #[test]
    fn who_floods_is_told_of_before_the_interval_ends() {
        let mut scene = Scene::new(false);
        scene.denied.remember(id(1), scene.seen(4, false));
        assert_eq!(scene.hit(1, When::Now), Ok(5));
        let nearly_due = |scene: &mut Scene, after_ms| {
            let instant = scene.instant + Duration::from_millis(after_ms);
            scene.denied.nearly_due(&scene.server, 9, instant, INTERVAL)
        };
        let another = Server::new(Endpoint::Tcp("b".into(), 1));
        let late = scene.instant + INTERVAL;
        assert_eq!(scene.denied.nearly_due(&another, 9, late, INTERVAL).len(), 0);
        assert_eq!(nearly_due(&mut scene, 74).len(), 0);
        // Not the one that is quiet.
        let due = nearly_due(&mut scene, 75);
        assert!(due.len() == 1 && due[0].0 == id(0) && due[0].1 == untold(1, 1));
        assert_eq!(nearly_due(&mut scene, 76).len(), 0);
        // As if it had asked.
        assert_eq!(scene.hit(174, When::Now), Ok(6));
        scene.denied.not_told(&id(0), untold(1, 1));
        assert_eq!(scene.hit(175, When::Now), Err(untold(2, 174)));
    }

    #[test]
    fn nobody_is_told_of_whom_the_caller_gave_a_time_for() {
        let mut scene = Scene::new(true);
        let when = When::At(Time::from_millis(START_MS).unwrap());
        assert_eq!(scene.hit(1, when), Ok(5));
        let instant = scene.instant + INTERVAL;
        assert_eq!(scene.denied.nearly_due(&scene.server, 9, instant, INTERVAL).len(), 0);
    }
}
