//! Hits, refunds and questions.

use std::sync::Arc;
use std::time::Instant;

use super::RedisStore;
use super::denied::{Denied, Id, Seen, Untold};
use super::failure::Fault;
use super::lane::Server;
use super::scheme::{Said, Scheme, Sent};
use super::script::Script;
use crate::clock::{self, When};
use crate::error::Result;
use crate::judge::{Answer, Counter, Question, judge};
use crate::key::StoredKey;
use crate::os::call;
use crate::outcome::Outcome;
use crate::policy::Rule;
use crate::units::{Cost, MAX_UNITS};
use crate::window::Time;

/// How often a call guesses the month, before the server's clock is taken for broken.
const MOST_GUESSES: u32 = 4;

/// A question about a client under a rule.
pub(super) struct Asked<'a> {
    rule: &'a Rule,
    index: usize,
    scheme: &'a Scheme,
    key: &'a StoredKey,
    question: Question,
    when: When,
}

/// What the server said, and when.
pub(super) struct Reply {
    pub(super) now: Time,
    pub(super) counters: Vec<Counter>,
    pub(super) sent: Instant,
    pub(super) received: Instant,
    pub(super) server: Arc<Server>,
}

impl RedisStore {
    pub(super) fn asked<'a>(
        &'a self,
        index: usize,
        key: &'a StoredKey,
        question: Question,
        when: When,
    ) -> Asked<'a> {
        let (rule, scheme) = (&self.policy.rules()[index], &*self.schemes[index]);
        Asked { rule, index, scheme, key, question, when }
    }

    /// The denial of a hit that costs something, if it is remembered; for calls that do not hold signals
    /// back.
    pub(super) fn glance(&self, asked: &Asked<'_>, cost: Cost) -> Option<Outcome> {
        if !self.options.remember_denied || !call::is_permitted() {
            return None;
        }
        self.recall(&mut *self.client.memory.glance()?, asked, cost)
    }

    fn recall(&self, denied: &mut Denied, asked: &Asked<'_>, cost: Cost) -> Option<Outcome> {
        let rule = (asked.index, asked.rule.limits());
        let interval = self.options.flush_interval;
        denied.recall(&asked.id(), rule, cost, asked.when, Instant::now(), interval)
    }

    pub(super) fn hit(&self, asked: &Asked<'_>, cost: Cost) -> Result<Outcome> {
        let (script, units) = (&asked.scheme.scripts.hit, cost.get());
        let memory = &self.client.memory;
        let denied = if self.options.remember_denied { memory.lock() } else { None };
        let Some(mut denied) = denied else {
            let reply = self.say(asked, script, units, Untold::NONE);
            return Ok(self.described(reply)?.outcome(asked).1);
        };
        // Somebody may have asked meanwhile.
        if let Some(denial) = self.recall(&mut denied, asked, cost) {
            return Ok(denial);
        }
        let (id, place) = (asked.id(), asked.scheme.place(asked.key));
        let given_back = memory.given_back(place);
        let untold = denied.ask(&id, Instant::now());
        drop(denied);
        let reply = self.say(asked, script, units, untold).inspect_err(|fault| {
            if let Some(mut denied) = memory.lock() {
                denied.failed(&id, untold, fault);
            }
        });
        let mut reply = self.described(reply)?;
        reply.add(untold, asked.scheme);
        let (answer, outcome) = reply.outcome(asked);
        let server = Arc::clone(&reply.server);
        if let Some(mut denied) = memory.lock() {
            let is_believed = memory.given_back(place) == given_back;
            match answer {
                Answer::Wait | Answer::Never if is_believed => {
                    let is_given = matches!(asked.when, When::At(_));
                    denied.remember(id, reply.seen(asked.scheme, is_given));
                }
                _ => denied.forget_answer(&id),
            }
        }
        if untold != Untold::NONE {
            self.tell_of_others(&server);
        }
        Ok(outcome)
    }

    pub(super) fn refund(&self, asked: &Asked<'_>, cost: i64) -> Result<Outcome> {
        let reply = self.say(asked, &asked.scheme.scripts.refund, cost, Untold::NONE);
        // Also if the answer was lost.
        let (mut untold, ids) = (Untold::NONE, self.ids_beside(asked.scheme, asked.key));
        self.client.memory.give_back(asked.scheme.place(asked.key), |denied| {
            untold = denied.untold(&asked.id());
            ids.iter().for_each(|id| denied.ask_again(id));
        });
        let mut reply = self.described(reply)?;
        reply.add(untold, asked.scheme);
        Ok(reply.outcome(asked).1)
    }

    pub(super) fn status(&self, asked: &Asked<'_>) -> Result<Outcome> {
        let reply = self.say(asked, &asked.scheme.scripts.status, 0, Untold::NONE);
        let mut reply = self.described(reply)?;
        if self.options.remember_denied
            && let Some(denied) = self.client.memory.lock()
        {
            reply.add(denied.untold(&asked.id()), asked.scheme);
        }
        Ok(reply.outcome(asked).1)
    }

    /// Under which a client's denials may be remembered, if units of a scheme are given back.
    pub(super) fn ids_beside(&self, scheme: &Scheme, client: &StoredKey) -> Vec<Id> {
        let schemes = self.client.schemes_beside(scheme).into_iter();
        schemes.map(|scheme| Id { scheme, client: *client }).collect()
    }

    fn described<T>(&self, reply: std::result::Result<T, Fault>) -> Result<T> {
        reply.map_err(|fault| self.client.described(&fault))
    }

    /// Asks the server. The end of a month cannot be told from here, since its clock decides: the
    /// months are guessed, and if they are wrong nothing is done, and the guess is made anew by the time
    /// that it says.
    fn say(
        &self,
        asked: &Asked<'_>,
        script: &Script,
        units: i64,
        untold: Untold,
    ) -> std::result::Result<Reply, Fault> {
        let (given, mut guess) = match asked.when {
            When::At(time) => (Some(time), Some(time)),
            When::Now => (None, clock::now().ok()),
        };
        let (scheme, keeps_past_windows) = (asked.scheme, !self.options.auto_prune);
        let key = scheme.key(asked.key);
        for _ in 0..MOST_GUESSES {
            let granted = asked.rule.limits().iter().map(|limit| limit.units());
            let sent = Sent { given, guess, units, untold, keeps_past_windows };
            let arguments = scheme.arguments(&sent, granted);
            let sent = Instant::now();
            let (answer, server) = self.client.run(script, &key, &arguments)?;
            let received = Instant::now();
            match scheme.read(&answer)? {
                Said::Counted(now, counters) => {
                    return Ok(Reply { now, counters, sent, received, server });
                }
                Said::OtherMonth(now) => guess = Some(now),
            }
        }
        Err(Fault::Senseless)
    }
}

impl Asked<'_> {
    fn id(&self) -> Id {
        Id { scheme: self.scheme.number, client: *self.key }
    }
}

impl Reply {
    /// With attempts that the server did not know of when it read its counters.
    pub(super) fn add(&mut self, untold: Untold, scheme: &Scheme) {
        for (counter, span) in self.counters.iter_mut().zip(scheme.spans(self.now)) {
            if (span.start_ms()..span.end_ms()).contains(&untold.at_ms) {
                let attempts = counter.attempts.saturating_add(untold.attempts);
                counter.attempts = attempts.min(MAX_UNITS);
            }
        }
    }

    /// Brings the counters up to date, and answers by them.
    fn outcome(&mut self, asked: &Asked<'_>) -> (Answer, Outcome) {
        let (limits, spans) = (asked.rule.limits(), asked.scheme.spans(self.now));
        let verdict = judge(limits, &spans, &mut self.counters, asked.question);
        let outcome = Outcome::new(verdict, asked.index, limits, &spans, &self.counters, self.now);
        (verdict.answer, outcome)
    }

    pub(super) fn seen(self, scheme: &Scheme, is_given: bool) -> Seen {
        Seen {
            spans: scheme.spans(self.now),
            counters: self.counters,
            now: self.now,
            is_given,
            sent: self.sent,
            received: self.received,
            server: self.server,
        }
    }
}
