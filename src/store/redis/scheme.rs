//! How a rule is counted on a server: under which keys, in which windows, by which scripts.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::denied::Untold;
use super::failure::Fault;
use super::script::RuleScripts;
use crate::judge::Counter;
use crate::key::StoredKey;
use crate::policy::Rule;
use crate::units::MAX_UNITS;
use crate::window::{Span, Time, Window};

/// What all limiters that count alike have in common, whatever their limits.
pub(super) struct Scheme {
    /// Which of its client's it is.
    pub(super) number: usize,
    pub(super) scripts: Arc<RuleScripts>,
    prefix: String,
    rule: String,
    windows: Vec<Window>,
}

/// What is sent with a call besides its limits.
pub(super) struct Sent {
    /// By whose clock; `None`: the server's.
    pub(super) given: Option<Time>,
    /// A time that is thought to be in the same month as the server's.
    pub(super) guess: Option<Time>,
    pub(super) units: i64,
    pub(super) untold: Untold,
    pub(super) keeps_past_windows: bool,
}

/// What the server says to a call.
pub(super) enum Said {
    /// The time of the decision, and the counters as they were before.
    Counted(Time, Vec<Counter>),
    /// Nothing was done, since at that time it is another month.
    OtherMonth(Time),
}

impl Scheme {
    pub(super) fn new(number: usize, prefix: &str, rule: &Rule, scripts: Arc<RuleScripts>) -> Self {
        let windows = rule.limits().iter().map(|limit| limit.window()).collect();
        let (prefix, rule) = (prefix.to_owned(), rule.name().to_owned());
        Self { number, scripts, prefix, rule, windows }
    }

    pub(super) fn is_of(&self, prefix: &str, rule: &Rule) -> bool {
        let windows = rule.limits().iter().map(|limit| limit.window());
        self.prefix == prefix
            && self.rule == rule.name()
            && self.windows.iter().copied().eq(windows)
    }

    /// Whether counters of both may stand under one key.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.prefix == other.prefix && self.rule == other.rule
    }

    pub(super) fn has_limits(&self, limits: usize) -> bool {
        self.windows.len() == limits
    }

    /// Where a client's counters stand, as a hash: the same for all schemes beside.
    pub(super) fn place(&self, client: &StoredKey) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.prefix, &self.rule, client).hash(&mut hasher);
        hasher.finish()
    }

    /// Of a client's counters.
    pub(super) fn key(&self, client: &StoredKey) -> Vec<u8> {
        // In braces, what decides which server of a cluster has it: one for all rules of a client. No
        // two clients or rules have one key, since no name of a rule has a brace.
        [self.prefix.as_bytes(), b":{", client.as_bytes(), b"}:", self.rule.as_bytes()].concat()
    }

    pub(super) fn spans(&self, now: Time) -> Vec<Span> {
        self.windows.iter().map(|window| window.span_at(now)).collect()
    }

    /// For the scripts, as `windows.lua` lists them; `granted` is of each limit.
    pub(super) fn arguments(&self, sent: &Sent, granted: impl Iterator<Item = i64>) -> Vec<i64> {
        let mut arguments = vec![sent.given.map_or(-1, Time::millis), sent.units];
        let limits = self.windows.iter().zip(granted);
        arguments.extend(limits.flat_map(|(window, granted)| [window.code(), granted]));
        let has_month = self.windows.contains(&Window::Month);
        if has_month || sent.untold != Untold::NONE || sent.keeps_past_windows {
            // Where nothing is guessed, no time is in the month.
            let month = sent.guess.map(|time| Window::Month.span_at(time));
            arguments.extend(month.map_or([0, 0], |month| [month.start_ms(), month.end_ms()]));
            let Untold { attempts, at_ms } = sent.untold;
            arguments.extend([attempts, at_ms, i64::from(sent.keeps_past_windows)]);
        }
        arguments
    }

    pub(super) fn read(&self, answer: &[i64]) -> Result<Said, Fault> {
        let (now_ms, counts) = answer.split_first().ok_or(Fault::Senseless)?;
        let now = Time::from_millis(*now_ms).map_err(|_| Fault::NoTime)?;
        if counts.is_empty() {
            return Ok(Said::OtherMonth(now));
        }
        let is_in_range = counts.iter().all(|count| (0..=MAX_UNITS).contains(count));
        if counts.len() != 2 * self.windows.len() || !is_in_range {
            return Err(Fault::Senseless);
        }
        let counters = counts.chunks_exact(2);
        let counters = counters.map(|pair| Counter { attempts: pair[0], admitted: pair[1] });
        Ok(Said::Counted(now, counters.collect()))
    }
}
