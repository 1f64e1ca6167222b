//! A dozen lines of obvious code that say what any sequence of calls gives, and that a store agrees.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use ratelite::Limiter;

const MINUTE: i64 = 60_000;
const START: i64 = 1_767_225_600_000;
/// Two windows, one of them inside the other; and what a later version of the policy grants.
const WINDOWS: [i64; 2] = [10_000, MINUTE];
pub const POLICIES: [(&str, [i64; 2]); 3] =
    [("r: 3/10s, 8/min", [3, 8]), ("r: 5/10s, 6/min", [5, 6]), ("r: 1/10s, 20/min", [1, 20])];
const MAX: i64 = ratelite::MAX_UNITS;

#[derive(Clone, Debug)]
pub enum Step {
    Hit {
        key: u8,
        cost: i64,
    },
    Status {
        key: u8,
    },
    Refund {
        key: u8,
        cost: i64,
    },
    Reset {
        key: u8,
    },
    Prune,
    Reopen(Manner),
    /// Everything is closed, and perhaps the table is gone, as after a crash of the system.
    ReopenAll {
        manners: [Manner; 2],
        is_table_lost: bool,
    },
    Advance(i64),
}

/// How a limiter is opened, where the store has a choice.
#[allow(dead_code)] // a server has none
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub policy: usize,
    /// `None`: each hit is written before it is answered.
    pub interval_ms: Option<u64>,
}

pub fn manner() -> impl Strategy<Value = Manner> {
    let interval_ms = prop_oneof![Just(None), Just(Some(1)), Just(Some(60_000))];
    (0..POLICIES.len(), interval_ms)
        .prop_map(|(policy, interval_ms)| Manner { policy, interval_ms })
}

/// Each with the limiter that takes it.
pub fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let key = 0..5u8;
    let cost = prop_oneof![8 => 0..6i64, 1 => Just(MAX)];
    let manners = [manner(), manner()];
    let step = prop_oneof![
        16 => (key.clone(), cost.clone()).prop_map(|(key, cost)| Step::Hit { key, cost }),
        4 => key.clone().prop_map(|key| Step::Status { key }),
        4 => (key.clone(), cost).prop_map(|(key, cost)| Step::Refund { key, cost }),
        2 => key.prop_map(|key| Step::Reset { key }),
        2 => Just(Step::Prune),
        2 => manner().prop_map(Step::Reopen),
        1 => (manners, any::<bool>())
            .prop_map(|(manners, is_table_lost)| Step::ReopenAll { manners, is_table_lost }),
        // Backwards too; but never behind what a prune before it has taken.
        6 => (-15_000..25_000i64).prop_map(Step::Advance),
    ];
    proptest::collection::vec((0..2usize, step), 1..160)
}

/// (key, window, start) → (attempts, admitted)
#[derive(Debug, Default, PartialEq)]
pub struct Model(pub HashMap<(u8, i64, i64), (i64, i64)>);

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

/// A store and the two limiters on it, of which none, one or both are open.
pub trait Scene {
    fn open(&mut self, which: usize, manner: Manner);
    /// Closes everything first.
    fn open_all(&mut self, manners: [Manner; 2], is_table_lost: bool);
    fn limiter(&self, which: usize) -> &Limiter;
    /// By which policy a limiter judges.
    fn manner(&self, which: usize) -> Manner;
    /// Whether pruning is the store's own affair, or does what it is told.
    fn prunes(&self) -> bool;
}

/// Takes the steps, and compares each answer. Returns what must stand in the store in the end.
pub fn agree(scene: &mut dyn Scene, steps: Vec<(usize, Step)>) -> Result<Model, TestCaseError> {
    let (mut model, mut now) = (Model::default(), START);
    for (which, step) in steps {
        let (limiter, limits) = (scene.limiter(which), POLICIES[scene.manner(which).policy].1);
        let (key, asked, answer) = match step {
            Step::Hit { key, cost } => {
                let answer = limiter.hit(None, &[key], cost, Some(now)).unwrap();
                if cost > 0 {
                    prop_assert_eq!(answer.allowed, model.hit(key, cost, now, limits));
                    (key, None, answer)
                } else {
                    (key, Some(1), answer)
                }
            }
            Step::Status { key } => {
                (key, Some(1), limiter.status(None, &[key], Some(now)).unwrap())
            }
            Step::Refund { key, cost } => {
                model.refund(key, cost, now);
                (key, Some(1), limiter.refund(None, &[key], cost, Some(now)).unwrap())
            }
            Step::Reset { key } => {
                prop_assert_eq!(limiter.reset(None, &[key]).unwrap(), model.reset(key));
                continue;
            }
            Step::Prune if !scene.prunes() => continue,
            Step::Prune => {
                prop_assert_eq!(limiter.prune(Some(now)).unwrap(), model.prune(now));
                continue;
            }
            Step::Reopen(manner) => {
                scene.open(which, manner);
                continue;
            }
            Step::ReopenAll { manners, is_table_lost } => {
                scene.open_all(manners, is_table_lost);
                continue;
            }
            Step::Advance(by) => {
                now += by;
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
    Ok(model)
}
