//! A model test: any sequence of calls gives what a dozen lines of obvious code give.

use std::collections::HashMap;

use proptest::prelude::*;
use ratelite::{Limiter, Options};

const MINUTE: i64 = 60_000;
const START: i64 = 1_767_225_600_000;
/// Two windows, one of them inside the other; and what a later version of the policy grants.
const WINDOWS: [i64; 2] = [10_000, MINUTE];
const POLICIES: [(&str, [i64; 2]); 3] =
    [("r: 3/10s, 8/min", [3, 8]), ("r: 5/10s, 6/min", [5, 6]), ("r: 1/10s, 20/min", [1, 20])];
const MAX: i64 = ratelite::MAX_UNITS;

#[derive(Clone, Debug)]
enum Step {
    Hit { key: u8, cost: i64 },
    Status { key: u8 },
    Refund { key: u8, cost: i64 },
    Reset { key: u8 },
    Prune,
    Reopen,
    Advance(i64),
    ChangePolicy(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..3u8;
    let cost = prop_oneof![8 => 0..6i64, 1 => Just(MAX)];
    let step = prop_oneof![
        8 => (key.clone(), cost.clone()).prop_map(|(key, cost)| Step::Hit { key, cost }),
        2 => key.clone().prop_map(|key| Step::Status { key }),
        2 => (key.clone(), cost).prop_map(|(key, cost)| Step::Refund { key, cost }),
        1 => key.prop_map(|key| Step::Reset { key }),
        1 => Just(Step::Prune),
        1 => Just(Step::Reopen),
        // Backwards too; but never behind what a prune before it has taken.
        3 => (-15_000..25_000i64).prop_map(Step::Advance),
        1 => (0..POLICIES.len()).prop_map(Step::ChangePolicy),
    ];
    proptest::collection::vec(step, 1..120)
}

/// (key, window, start) → (attempts, admitted)
#[derive(Default)]
struct Model(HashMap<(u8, i64, i64), (i64, i64)>);

impl Model {
    fn current(&self, key: u8, now: i64) -> [(i64, i64); 2] {
        WINDOWS.map(|window| self.0.get(&place(key, window, now)).copied().unwrap_or_default())
    }

    fn hit(&mut self, key: u8, cost: i64, now: i64, limits: [i64; 2]) -> bool {
        let counters = self.current(key, now);
        let allowed = (0..2).all(|i| counters[i].1 + cost <= limits[i]);
        for (window, (attempts, admitted)) in WINDOWS.into_iter().zip(counters) {
            let spent = if allowed { cost } else { 0 };
            let counter = ((attempts + cost).min(MAX), admitted + spent);
            self.0.insert(place(key, window, now), counter);
        }
        allowed
    }

    fn refund(&mut self, key: u8, cost: i64, now: i64) {
        for window in WINDOWS {
            if let Some((_, admitted)) = self.0.get_mut(&place(key, window, now)) {
                *admitted = (*admitted - cost).max(0);
            }
        }
    }

    fn reset(&mut self, key: u8) -> u64 {
        self.remove(|&(owner, ..)| owner == key)
    }

    fn prune(&mut self, now: i64) -> u64 {
        self.remove(|&(_, window, start)| start + window < now - now % window)
    }

    fn remove(&mut self, gone: impl Fn(&(u8, i64, i64)) -> bool) -> u64 {
        let before = self.0.len();
        self.0.retain(|place, _| !gone(place));
        (before - self.0.len()) as u64
    }
}

fn place(key: u8, window: i64, now: i64) -> (u8, i64, i64) {
    (key, window, now - now % window)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_sequence_of_calls_agrees_with_the_model(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("limits.db");
        let open = |policy: usize| {
            let mut options = Options::default();
            // The model prunes only when it is told to.
            options.auto_prune = false;
            options.keep_open = false;
            Limiter::open(store.to_str().unwrap(), POLICIES[policy].0, &options).unwrap()
        };
        let (mut model, mut policy, mut now) = (Model::default(), 0, START);
        let mut limiter = Some(open(policy));
        for step in steps {
            let handle = limiter.as_ref().unwrap();
            let limits = POLICIES[policy].1;
            let (key, asked, answer) = match step {
                Step::Hit { key, cost } => {
                    let answer = handle.hit(None, &[key], cost, Some(now)).unwrap();
                    if cost > 0 {
                        prop_assert_eq!(answer.allowed, model.hit(key, cost, now, limits));
                        (key, None, answer)
                    } else {
                        (key, Some(1), answer)
                    }
                }
                Step::Status { key } => {
                    (key, Some(1), handle.status(None, &[key], Some(now)).unwrap())
                }
                Step::Refund { key, cost } => {
                    model.refund(key, cost, now);
                    (key, Some(1), handle.refund(None, &[key], cost, Some(now)).unwrap())
                }
                Step::Reset { key } => {
                    prop_assert_eq!(handle.reset(None, &[key]).unwrap(), model.reset(key));
                    continue;
                }
                Step::Prune => {
                    prop_assert_eq!(handle.prune(Some(now)).unwrap(), model.prune(now));
                    continue;
                }
                Step::Reopen => {
                    drop(limiter.take());
                    limiter = Some(open(policy));
                    continue;
                }
                Step::Advance(by) => {
                    now += by;
                    continue;
                }
                Step::ChangePolicy(to) => {
                    policy = to;
                    drop(limiter.take());
                    limiter = Some(open(policy));
                    continue;
                }
            };
            let counters = model.current(key, now);
            let (attempts, admitted) = counters[answer.limit_index];
            prop_assert_eq!(answer.limit, limits[answer.limit_index]);
            prop_assert_eq!(answer.count, attempts);
            prop_assert_eq!(answer.remaining, (answer.limit - admitted).max(0));
            if let Some(cost) = asked {
                let fits = (0..2).all(|i| counters[i].1 + cost <= limits[i]);
                prop_assert_eq!(answer.allowed, fits);
            }
        }
    }
}
