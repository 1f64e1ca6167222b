//! What a caller is told about a hit, a status question or a refund.

use crate::error::{Error, Result};
use crate::judge::{Answer, Counter, Verdict, remaining};
use crate::policy::{Limit, Policy, Rule};
use crate::units::MAX_UNITS;
use crate::window::{Span, Time};

/// The answer, and the limit that decided it: on a denial the first refusing limit that can never
/// fit the cost, else the refusing one whose window ends last; on an allowance the one with the
/// least remaining; the first at a tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the hit is allowed; for a status question or a refund, whether a hit of cost 1
    /// would be.
    pub allowed: bool,
    /// The units that the deciding limit grants a window, 0 to 2^53 - 1.
    pub limit: i64,
    /// The units asked for in its window, this hit and denied ones included, 0 to 2^53 - 1.
    pub count: i64,
    /// The units left in its window after this hit, 0 to `limit`.
    pub remaining: i64,
    /// The end of its window in epoch seconds, rounded up: at that time the next window is open.
    pub reset_at: i64,
    /// Seconds to wait: 0 when allowed, -1 when no wait helps, else at least 1.
    pub retry_after: i64,
    /// The start of its window in milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// The length of its window in milliseconds, at least 1.
    pub window_ms: i64,
    /// The time that the decision was made for, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// The index of the rule in its policy.
    pub rule: usize,
    /// The index of the deciding limit in its rule.
    pub limit_index: usize,
    /// Whether the insurance answered, by its own limits and counters, since the store's server was away:
    /// see [`Insurance`](crate::Insurance).
    pub insured: bool,
}

impl Outcome {
    /// Of a question that has no answer yet: a denial.
    pub(crate) const NONE: Self = Self {
        allowed: false,
        limit: 0,
        count: 0,
        remaining: 0,
        reset_at: 0,
        retry_after: 0,
        window_start_ms: 0,
        window_ms: 0,
        now_ms: 0,
        rule: 0,
        limit_index: 0,
        insured: false,
    };

    /// Puts a verdict into numbers. `limits`, `spans` and `counters` are those that were judged,
    /// the counters after it; `rule` is the index of their rule.
    #[inline(always)]
    pub(crate) fn new(
        verdict: Verdict,
        rule: usize,
        limits: &[Limit],
        spans: &[Span],
        counters: &[Counter],
        now: Time,
    ) -> Self {
        let limit_index = verdict.limit_index;
        let (limit, span, counter) =
            (&limits[limit_index], &spans[limit_index], &counters[limit_index]);
        Self {
            allowed: verdict.answer == Answer::Allowed,
            limit: limit.units(),
            count: counter.attempts,
            remaining: remaining(limit, counter),
            reset_at: span.reset_at(),
            retry_after: match verdict.answer {
                Answer::Allowed => 0,
                Answer::Wait => span.retry_after(now),
                Answer::Never => -1,
            },
            window_start_ms: span.start_ms(),
            window_ms: span.length_ms(),
            now_ms: now.millis(),
            rule,
            limit_index,
            insured: false,
        }
    }

    /// The rule and the limit that this outcome speaks of. Fields that cannot have come from a
    /// limiter of this policy are [`Code::Invalid`](crate::error::Code::Invalid).
    pub(crate) fn source<'p>(&self, policy: &'p Policy) -> Result<(&'p Rule, &'p Limit)> {
        let rule = policy.rules().get(self.rule);
        let limit = rule.and_then(|rule| rule.limits().get(self.limit_index));
        match (rule, limit, Time::from_millis(self.now_ms)) {
            (Some(rule), Some(limit), Ok(now)) if self.is_of(limit, now) => Ok((rule, limit)),
            _ => Err(Error::invalid(
                "the result does not fit the policy of this limiter: \
                 pass the result of a successful call on the same limiter",
            )),
        }
    }

    fn is_of(&self, limit: &Limit, now: Time) -> bool {
        let span = limit.window().span_at(now);
        let retry_after_fits = if self.allowed {
            self.retry_after == 0
        } else {
            self.retry_after == -1 || self.retry_after == span.retry_after(now)
        };
        retry_after_fits
            && self.limit == limit.units()
            && (0..=self.limit).contains(&self.remaining)
            && (0..=MAX_UNITS).contains(&self.count)
            && self.reset_at == span.reset_at()
            && self.window_start_ms == span.start_ms()
            && self.window_ms == span.length_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// What a key with 9 attempts and 3 admitted meets under `1/10s, 5/min`, by the second limit.
    fn outcome(answer: Answer) -> Outcome {
        let policy = policy();
        let limits = policy.rules()[1].limits();
        let now = Time::from_millis(1_767_225_645_500).unwrap();
        let spans: Vec<_> = limits.iter().map(|limit| limit.window().span_at(now)).collect();
        let counters = [Counter::default(), Counter { attempts: 9, admitted: 3 }];
        Outcome::new(Verdict { answer, limit_index: 1 }, 1, limits, &spans, &counters, now)
    }

    fn policy() -> Policy {
        Policy::parse(b"a: 7/s; b: 1/10s, 5/min").unwrap()
    }

    #[test]
    fn an_outcome_describes_the_deciding_limit() {
        let allowed = Outcome {
            allowed: true,
            limit: 5,
            count: 9,
            remaining: 2,
            reset_at: 1_767_225_660,
            retry_after: 0,
            window_start_ms: 1_767_225_600_000,
            window_ms: 60_000,
            now_ms: 1_767_225_645_500,
            rule: 1,
            limit_index: 1,
            insured: false,
        };
        assert_eq!(outcome(Answer::Allowed), allowed);
        assert_eq!(outcome(Answer::Wait), Outcome { allowed: false, retry_after: 15, ..allowed });
        assert_eq!(outcome(Answer::Never), Outcome { allowed: false, retry_after: -1, ..allowed });
    }

    #[test]
    fn an_outcome_finds_its_rule_and_limit() {
        for answer in [Answer::Allowed, Answer::Wait, Answer::Never] {
            let policy = policy();
            let (rule, limit) = outcome(answer).source(&policy).unwrap();
            assert_eq!((rule.name(), limit.units()), ("b", 5));
        }
    }

    #[test]
    fn a_zeroed_or_foreign_outcome_is_an_argument_error() {
        let good = outcome(Answer::Wait);
        for foreign in [
            Outcome::NONE,
            Outcome { allowed: true, ..good },
            Outcome { limit: 6, ..good },
            Outcome { count: -1, ..good },
            Outcome { count: MAX_UNITS + 1, ..good },
            Outcome { remaining: 6, ..good },
            Outcome { remaining: -1, ..good },
            Outcome { reset_at: good.reset_at + 1, ..good },
            Outcome { retry_after: 0, ..good },
            Outcome { retry_after: 16, ..good },
            Outcome { retry_after: i64::MIN, ..good },
            Outcome { window_start_ms: i64::MAX, ..good },
            Outcome { window_ms: i64::MAX, ..good },
            Outcome { now_ms: -1, ..good },
            Outcome { now_ms: i64::MIN, ..good },
            Outcome { rule: 2, ..good },
            Outcome { rule: usize::MAX, ..good },
            Outcome { limit_index: 2, ..good },
            Outcome { limit_index: usize::MAX, ..good },
        ] {
            assert_eq!(foreign.source(&policy()).unwrap_err().code(), Code::Invalid, "{foreign:?}");
        }
        for policy in ["a: 7/s; b: 1/10s, 5/h", "a: 7/s; b: 1/10s, 6/min", "b: 1/10s, 5/min"] {
            let policy = Policy::parse(policy.as_bytes()).unwrap();
            assert_eq!(good.source(&policy).unwrap_err().code(), Code::Invalid);
        }
    }
}
