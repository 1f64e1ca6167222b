//! The decision: what a hit, a status question or a refund means for the counters of a key.

use std::cmp::Reverse;

use crate::policy::Limit;
use crate::units::{Cost, MAX_UNITS};
use crate::window::Span;

/// What a store keeps of one limit, window and key. Both numbers are 0 to [`MAX_UNITS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    /// Units asked for, denied ones too.
    pub(crate) attempts: i64,
    /// Units allowed, less those refunded.
    pub(crate) admitted: i64,
}

/// What is asked about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// May it have so many units? A hit that costs nothing is a [`Question::Status`].
    Hit(Cost),
    /// What would a hit of cost 1 meet?
    Status,
    /// It gives back so many units; then like [`Question::Status`].
    Refund(Cost),
}

/// The answer, and the limit that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) answer: Answer,
    /// Which of the rule's limits the result describes.
    pub(crate) limit_index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    /// Denied until the deciding window ends.
    Wait,
    /// Denied in every window: the cost is more than the limit.
    Never,
}

/// Answers `question` by all `limits` of a rule (at least one), whose current windows are `spans`
/// and whose counters are `counters`, all in the same order. Brings the counters up to date; a
/// status question and a hit of cost 0 leave them as they are.
#[inline(always)]
pub(crate) fn judge(
    limits: &[Limit],
    spans: &[Span],
    counters: &mut [Counter],
    question: Question,
) -> Verdict {
    let (cost, spends) = match question {
        Question::Hit(cost) if cost.get() > 0 => (cost.get(), true),
        Question::Hit(_) | Question::Status => (1, false),
        Question::Refund(cost) => {
            for counter in counters.iter_mut() {
                counter.admitted = counter.admitted.saturating_sub(cost.get()).max(0);
            }
            (1, false)
        }
    };

    let refusal = refusal(limits, spans, counters, cost);
    if spends {
        for counter in counters.iter_mut() {
            // Saturating twice: a damaged store may hold any number, and must not overflow a sum.
            counter.attempts = counter.attempts.saturating_add(cost).min(MAX_UNITS);
            if refusal.is_none() {
                counter.admitted += cost;
            }
        }
    }
    refusal.unwrap_or_else(|| Verdict {
        answer: Answer::Allowed,
        limit_index: scarcest(limits, counters),
    })
}

/// The denial, if any limit refuses: by the first that can never fit the cost, else by the one
/// whose window ends last, so that whoever waits for it waits for all.
#[inline(always)]
fn refusal(limits: &[Limit], spans: &[Span], counters: &[Counter], cost: i64) -> Option<Verdict> {
    if let Some(limit_index) = limits.iter().position(|limit| cost > limit.units()) {
        return Some(Verdict { answer: Answer::Never, limit_index });
    }
    let refusing = (0..limits.len())
        .filter(|&index| counters[index].admitted.saturating_add(cost) > limits[index].units());
    // `min_by_key` takes the first of equals, `max_by_key` would take the last.
    let limit_index = refusing.min_by_key(|&index| Reverse(spans[index].end_ms()))?;
    Some(Verdict { answer: Answer::Wait, limit_index })
}

/// The first of the limits with the least remaining.
#[inline(always)]
fn scarcest(limits: &[Limit], counters: &[Counter]) -> usize {
    (0..limits.len())
        .min_by_key(|&index| remaining(&limits[index], &counters[index]))
        .unwrap_or_default()
}

/// The units that are left. Never negative, even where another policy admitted more.
#[inline]
pub(crate) fn remaining(limit: &Limit, counter: &Counter) -> i64 {
    limit.units().saturating_sub(counter.admitted).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{Time, Window};

    /// Judges at 30 ms, by limits given as `(N, window in ms)` and `(attempts, admitted)`.
    fn ask(
        limits: &[(i64, i64)],
        before: &[(i64, i64)],
        question: Question,
    ) -> (Answer, usize, Vec<(i64, i64)>) {
        let now = Time::from_millis(30).unwrap();
        let limits: Vec<_> = limits
            .iter()
            .map(|&(units, ms)| Limit::new(units, Window::from_millis(ms).unwrap()))
            .collect();
        let spans: Vec<_> = limits.iter().map(|limit| limit.window().span_at(now)).collect();
        let mut counters: Vec<_> =
            before.iter().map(|&(attempts, admitted)| Counter { attempts, admitted }).collect();
        let verdict = judge(&limits, &spans, &mut counters, question);
        let after = counters.iter().map(|c| (c.attempts, c.admitted)).collect();
        (verdict.answer, verdict.limit_index, after)
    }

    fn hit(cost: i64) -> Question {
        Question::Hit(Cost::new(cost).unwrap())
    }

    fn refund(cost: i64) -> Question {
        Question::Refund(Cost::new(cost).unwrap())
    }

    #[test]
    fn a_hit_that_fits_is_counted_and_admitted() {
        assert_eq!(ask(&[(3, 10)], &[(0, 0)], hit(1)), (Answer::Allowed, 0, vec![(1, 1)]));
        assert_eq!(ask(&[(3, 10)], &[(9, 1)], hit(2)), (Answer::Allowed, 0, vec![(11, 3)]));
    }

    #[test]
    fn a_refused_large_hit_is_counted_and_spends_nothing() {
        assert_eq!(ask(&[(3, 10)], &[(1, 1)], hit(3)), (Answer::Wait, 0, vec![(4, 1)]));
    }

    #[test]
    fn a_denial_by_one_limit_spends_nothing_of_the_others() {
        assert_eq!(
            ask(&[(2, 10), (9, 90)], &[(2, 2), (2, 2)], hit(1)),
            (Answer::Wait, 0, vec![(3, 2), (3, 2)])
        );
    }

    #[test]
    fn no_wait_helps_a_cost_above_the_limit() {
        assert_eq!(ask(&[(3, 10)], &[(0, 0)], hit(4)), (Answer::Never, 0, vec![(4, 0)]));
        assert_eq!(ask(&[(0, 10)], &[(0, 0)], hit(1)), (Answer::Never, 0, vec![(1, 0)]));
        assert_eq!(ask(&[(0, 10)], &[(0, 0)], Question::Status), (Answer::Never, 0, vec![(0, 0)]));
    }

    #[test]
    fn a_denial_is_by_the_first_that_never_fits_else_by_the_last_to_end() {
        for (limits, before, cost, answer, limit_index) in [
            // A wait for the longest window is a wait for all.
            ([(1, 10), (1, 90), (1, 30)], [1, 1, 1], 1, Answer::Wait, 1),
            ([(1, 10), (2, 90), (1, 30)], [1, 1, 1], 1, Answer::Wait, 2),
            // These all end at 40 ms.
            ([(1, 20), (1, 40), (1, 10)], [1, 1, 1], 1, Answer::Wait, 0),
            ([(2, 20), (1, 40), (1, 10)], [1, 1, 1], 1, Answer::Wait, 1),
            ([(9, 10), (3, 20), (1, 90)], [9, 0, 0], 4, Answer::Never, 1),
            ([(1, 90), (0, 10), (0, 20)], [1, 0, 0], 1, Answer::Never, 1),
        ] {
            let (found, index, after) =
                ask(&limits, &before.map(|units| (units, units)), hit(cost));
            assert_eq!((found, index), (answer, limit_index), "{limits:?}");
            assert_eq!(after, before.map(|units| (units + cost, units)), "{limits:?}");
        }
    }

    #[test]
    fn an_allowance_is_by_the_first_with_the_least_remaining() {
        for (limits, before, limit_index) in [
            ([(5, 10), (3, 20), (4, 30)], [0, 0, 0], 1),
            ([(5, 10), (5, 20), (5, 30)], [0, 0, 0], 0),
            ([(9, 10), (5, 20), (7, 30)], [0, 2, 4], 1),
        ] {
            let before = before.map(|units| (units, units));
            for question in [hit(1), hit(0), Question::Status] {
                let (answer, index, _) = ask(&limits, &before, question);
                assert_eq!((answer, index), (Answer::Allowed, limit_index), "{limits:?}");
            }
        }
    }

    #[test]
    fn status_and_a_hit_of_cost_0_change_nothing() {
        for question in [Question::Status, hit(0)] {
            assert_eq!(ask(&[(3, 10)], &[(2, 2)], question), (Answer::Allowed, 0, vec![(2, 2)]));
            assert_eq!(ask(&[(3, 10)], &[(4, 3)], question), (Answer::Wait, 0, vec![(4, 3)]));
        }
    }

    #[test]
    fn a_refund_is_floored_at_zero_and_keeps_the_attempts() {
        assert_eq!(ask(&[(3, 10)], &[(4, 3)], refund(1)), (Answer::Allowed, 0, vec![(4, 2)]));
        assert_eq!(ask(&[(3, 10)], &[(4, 3)], refund(0)), (Answer::Wait, 0, vec![(4, 3)]));
        assert_eq!(
            ask(&[(3, 10)], &[(4, 3)], refund(MAX_UNITS)),
            (Answer::Allowed, 0, vec![(4, 0)])
        );
    }

    #[test]
    fn counters_saturate() {
        assert_eq!(
            ask(&[(MAX_UNITS, 10)], &[(0, 0)], hit(MAX_UNITS)),
            (Answer::Allowed, 0, vec![(MAX_UNITS, MAX_UNITS)])
        );
        assert_eq!(
            ask(&[(MAX_UNITS, 10)], &[(MAX_UNITS, MAX_UNITS)], hit(MAX_UNITS)),
            (Answer::Wait, 0, vec![(MAX_UNITS, MAX_UNITS)])
        );
        assert_eq!(
            ask(&[(MAX_UNITS, 10)], &[(i64::MAX, i64::MAX)], hit(1)),
            (Answer::Wait, 0, vec![(MAX_UNITS, i64::MAX)])
        );
    }

    #[test]
    fn a_lowered_limit_has_nothing_remaining() {
        let limit = Limit::new(3, Window::Month);
        for (admitted, left) in [(0, 3), (3, 0), (5, 0), (i64::MAX, 0)] {
            assert_eq!(remaining(&limit, &Counter { attempts: 0, admitted }), left);
        }
    }
}
