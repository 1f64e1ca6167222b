//! A store on a server: Redis or Valkey, one, a cluster, or one that sentinels watch.
//!
//! * Each call is one script on one key, so it is one atomic step, and in a cluster concerns one server.
//!   The key holds all counters of one client under one rule: of each limit the current window and the
//!   one before it, as fields of a hash. So what [`Store::reset`] forgets is what stands there, of
//!   whatever policy, and nobody ever has to search.
//! * The script decides who is admitted, and answers with the counters as they were before; [`judge`]
//!   makes the outcome of them, as for every other store.
//! * The server's clock decides, unless the caller gives the time.

mod address;
mod breaker;
mod client;
mod denied;
mod failure;
mod info;
mod registry;
mod route;
mod script;
mod slot;
mod tls;
mod wire;

use std::sync::Arc;
use std::time::Instant;

use self::address::Address;
use self::client::{Client, Timeouts};
use self::denied::{Recalled, Seen, Untold};
use self::failure::Fault;
use self::script::Script;
use super::{Info, Store};
use crate::clock::{self, When};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::judge::{Answer, Counter, Question, judge};
use crate::key::{SecretCheck, StoredKey};
use crate::options::{Durability, MAX_BUSY_TIMEOUT, Options};
use crate::os::call::Call;
use crate::outcome::Outcome;
use crate::policy::{Limit, Policy, Rule};
use crate::switches;
use crate::units::MAX_UNITS;
use crate::window::{Span, Time, Window};

pub(in crate::store) use self::address::is_meant;
pub(crate) use self::info::RedisInfo;

/// Of a rule: a script takes some thousand words.
const MOST_LIMITS: usize = 500;

/// How often a call guesses the month, before the server's clock is taken for broken.
const MOST_GUESSES: u32 = 4;

/// One limiter's use of a server.
pub(crate) struct RedisStore {
    client: Arc<Client>,
    /// What every key begins with.
    prefix: String,
    policy: Arc<Policy>,
    options: Options,
    secret_check: Option<SecretCheck>,
}

/// A question about a client under a rule.
struct Asked<'a> {
    rule: &'a Rule,
    index: usize,
    /// Of its counters, on the server.
    key: Vec<u8>,
    question: Question,
    when: When,
}

/// What the server said, and when.
struct Said {
    now: Time,
    counters: Vec<Counter>,
    sent: Instant,
    received: Instant,
}

impl RedisStore {
    /// Nothing is sent yet: a host must be able to start while its server is away.
    pub(super) fn open(
        name: &[u8],
        policy: Arc<Policy>,
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Result<Self> {
        let (address, prefix) = Address::parse(name)?;
        if policy.rules().iter().any(|rule| rule.limits().len() > MOST_LIMITS) {
            return Err(Error::invalid(format!(
                "a rule of a store on a server has {MOST_LIMITS} limits at most"
            )));
        }
        refuse_options_of_files(options)?;
        let timeouts =
            Timeouts { connect: options.connect_timeout, command: options.command_timeout };
        let client = registry::acquire(address, timeouts)?;
        Ok(Self { client, prefix, policy, options: options.clone(), secret_check })
    }

    /// Makes sure, once a process, that all who hash keys on the server do so under one secret. Those who
    /// hash none are not asked, so that they pay nothing for it.
    fn agree_on_secret(&self) -> Result<()> {
        let Some(check) = self.secret_check else { return Ok(()) };
        let own = (self.prefix.clone(), check);
        if self.client.state.lock_unbounded().agreed.contains(&own) {
            return Ok(());
        }
        let half =
            |at: usize| check[at..].first_chunk().map_or(0, |half| i64::from_le_bytes(*half));
        let key = format!("{}:key_secret", self.prefix);
        let script = &self.client.scripts.secret;
        if self.client.run(script, key.as_bytes(), &[half(0), half(8)])? != [1] {
            return Err(Error::invalid(format!(
                "store {}: its keys are hashed under another key_secret; give that, or another prefix",
                self.client.address.shown
            )));
        }
        self.client.state.lock_unbounded().agreed.push(own);
        Ok(())
    }

    fn key(&self, key: &StoredKey, rule: &Rule) -> Vec<u8> {
        // In braces, what decides which server of a cluster has it: one for all rules of a client. No
        // two clients or rules have one key, since no name of a rule has a brace.
        [self.prefix.as_bytes(), b":{", key.as_bytes(), b"}:", rule.name().as_bytes()].concat()
    }

    fn hit(&self, asked: &Asked<'_>, cost: i64) -> Result<Outcome> {
        let script = &self.client.scripts.hit;
        // While the server is away, it is to be seen that it is.
        if !self.options.remember_denied || self.client.is_resting() {
            let mut said = self.say(asked, script, cost, Untold::NONE)?;
            return Ok(said.outcome(asked).1);
        }
        let (id, limits) = (asked.id(), asked.rule.limits());
        let (question, when) = (asked.question, asked.when);
        let interval = self.options.flush_interval;
        let recalled = self.client.denied.lock_unbounded().hit(
            &id,
            limits,
            question,
            when,
            Instant::now(),
            interval,
        );
        let untold = match recalled {
            Recalled::Denied { verdict, spans, counters, now } => {
                return Ok(Outcome::new(verdict, asked.index, limits, &spans, &counters, now));
            }
            Recalled::Ask(untold) => untold,
        };
        let mut said = self.say(asked, script, cost, untold)?;
        said.add(untold, asked);
        let (answer, outcome) = said.outcome(asked);
        let mut denied = self.client.denied.lock_unbounded();
        match answer {
            Answer::Allowed => denied.forget(&id),
            Answer::Wait | Answer::Never => denied.remember(id, said.seen(asked)),
        }
        Ok(outcome)
    }

    fn refund(&self, asked: &Asked<'_>, cost: i64) -> Result<Outcome> {
        let mut said = self.say(asked, &self.client.scripts.refund, cost, Untold::NONE)?;
        if self.options.remember_denied {
            let (id, mut denied) = (asked.id(), self.client.denied.lock_unbounded());
            said.add(denied.untold(&id), asked);
            denied.ask_again(&id, said.sent.checked_sub(self.options.flush_interval));
        }
        Ok(said.outcome(asked).1)
    }

    fn status(&self, asked: &Asked<'_>) -> Result<Outcome> {
        let mut said = self.say(asked, &self.client.scripts.status, 0, Untold::NONE)?;
        if self.options.remember_denied {
            said.add(self.client.denied.lock_unbounded().untold(&asked.id()), asked);
        }
        Ok(said.outcome(asked).1)
    }

    /// Asks the server. The end of a month cannot be told from here, since its clock decides: the
    /// months are guessed, and if they are wrong nothing is done, and the guess is made anew by the time
    /// that it says.
    fn say(&self, asked: &Asked<'_>, script: &Script, units: i64, untold: Untold) -> Result<Said> {
        let (given_ms, mut guess) = match asked.when {
            When::At(time) => (time.millis(), Some(time)),
            When::Now => (-1, clock::now().ok()),
        };
        let limits = asked.rule.limits();
        for _ in 0..MOST_GUESSES {
            let prune = i64::from(self.options.auto_prune);
            let mut arguments = vec![given_ms, units, untold.attempts, untold.at_ms, prune];
            for limit in limits {
                arguments.extend(arguments_of(limit, guess));
            }
            let sent = Instant::now();
            let numbers = self.client.run(script, &asked.key, &arguments)?;
            let received = Instant::now();
            let senseless = || self.client.described(&Fault::Senseless);
            let (now_ms, counts) = numbers.split_first().ok_or_else(senseless)?;
            let now = Time::from_millis(*now_ms).map_err(|_| {
                Error::invalid("the clock of the store's server is outside 1970 to 9998: set it")
            })?;
            if counts.len() == 2 * limits.len() {
                if counts.iter().any(|count| !(0..=MAX_UNITS).contains(count)) {
                    return Err(senseless());
                }
                let counters = counts.chunks_exact(2);
                let counters =
                    counters.map(|pair| Counter { attempts: pair[0], admitted: pair[1] }).collect();
                return Ok(Said { now, counters, sent, received });
            }
            if !counts.is_empty() {
                return Err(senseless());
            }
            guess = Some(now);
        }
        Err(self.client.described(&Fault::Senseless))
    }
}

/// Of a limit, for the scripts. Where nothing is guessed yet, no time is in the month.
fn arguments_of(limit: &Limit, guess: Option<Time>) -> [i64; 5] {
    let (window, units) = (limit.window(), limit.units());
    match (window, guess) {
        (Window::Month, Some(time)) => {
            let span = window.span_at(time);
            let expires_ms = window.expires_ms(&span);
            [window.code(), units, span.start_ms(), span.end_ms(), expires_ms]
        }
        _ => [window.code(), units, 0, 0, 0],
    }
}

/// Options that promise what a server does not hold.
fn refuse_options_of_files(options: &Options) -> Result<()> {
    let refused = if options.audit {
        "audit keeps rows in a file: it is not for stores on a server"
    } else if options.durability == Durability::Hit && !switches::DURABLE_HIT.is_on() {
        "durability \"hit\" is not for stores on a server: its own appendfsync decides what a crash \
         takes"
    } else {
        return Ok(());
    };
    Err(Error::invalid(refused))
}

impl Asked<'_> {
    fn spans(&self, now: Time) -> Vec<Span> {
        self.rule.limits().iter().map(|limit| limit.window().span_at(now)).collect()
    }

    /// Under which denials are remembered: policies with other windows remember others.
    fn id(&self) -> Vec<u8> {
        let codes = self.rule.limits().iter().map(|limit| limit.window().code().to_le_bytes());
        [self.key.as_slice(), b"\0", &codes.collect::<Vec<_>>().concat()].concat()
    }
}

impl Said {
    /// With attempts that the server did not know of when it read its counters.
    fn add(&mut self, untold: Untold, asked: &Asked<'_>) {
        for (counter, span) in self.counters.iter_mut().zip(asked.spans(self.now)) {
            if span.start_ms() <= untold.at_ms {
                let attempts = counter.attempts.saturating_add(untold.attempts);
                counter.attempts = attempts.min(MAX_UNITS);
            }
        }
    }

    /// Brings the counters up to date, and answers by them.
    fn outcome(&mut self, asked: &Asked<'_>) -> (Answer, Outcome) {
        let (limits, spans) = (asked.rule.limits(), asked.spans(self.now));
        let verdict = judge(limits, &spans, &mut self.counters, asked.question);
        let outcome = Outcome::new(verdict, asked.index, limits, &spans, &self.counters, self.now);
        (verdict.answer, outcome)
    }

    fn seen(self, asked: &Asked<'_>) -> Seen {
        Seen {
            spans: asked.spans(self.now),
            counters: self.counters,
            now: self.now,
            is_given: matches!(asked.when, When::At(_)),
            sent: self.sent,
            received: self.received,
        }
    }
}

impl Store for RedisStore {
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        let _call = enter()?;
        self.agree_on_secret()?;
        let (rule, index) = (&self.policy.rules()[rule], rule);
        let asked = Asked { rule, index, key: self.key(key, rule), question, when };
        *answer = match question {
            Question::Hit(cost) if cost.get() > 0 => self.hit(&asked, cost.get())?,
            Question::Refund(cost) if cost.get() > 0 => self.refund(&asked, cost.get())?,
            _ => self.status(&asked)?,
        };
        Ok(())
    }

    /// One atomic step a rule.
    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64> {
        let _call = enter()?;
        self.agree_on_secret()?;
        let mut removed = 0;
        for &index in rules {
            let rule = &self.policy.rules()[index];
            let name = self.key(key, rule);
            let counters = self.client.run(&self.client.scripts.reset, &name, &[])?;
            removed += counters.first().map_or(0, |&counters| counters.max(0).unsigned_abs());
            let (question, when) = (Question::Status, When::Now);
            let asked = Asked { rule, index, key: name, question, when };
            self.client.denied.lock_unbounded().forget(&asked.id());
        }
        Ok(removed)
    }

    /// The server removes what has expired by itself.
    fn prune(&self, when: When) -> Result<u64> {
        when.resolve().map(|_| 0)
    }

    fn info(&self) -> Result<Info> {
        let _call = enter()?;
        Ok(Info::Redis(info::of(self)))
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        registry::release(&self.client, self.options.keep_open);
    }
}

fn enter() -> Result<Call> {
    Call::enter(&Deadline::after(MAX_BUSY_TIMEOUT))
}
