//! A model test: any sequence of calls gives what a dozen lines of obvious code give, whichever of
//! two limiters is called, however each of them writes, however often the shared table is too small
//! or lost; and in the end the file says the same.

mod support;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use ratelite::{Durability, Limiter};
use rusqlite::Connection;
use tempfile::TempDir;

const MINUTE: i64 = 60_000;
const START: i64 = 1_767_225_600_000;
/// Two windows, one of them inside the other; and what a later version of the policy grants.
const WINDOWS: [i64; 2] = [10_000, MINUTE];
const POLICIES: [(&str, [i64; 2]); 3] =
    [("r: 3/10s, 8/min", [3, 8]), ("r: 5/10s, 6/min", [5, 6]), ("r: 1/10s, 20/min", [1, 20])];
const MAX: i64 = ratelite::MAX_UNITS;

/// One bucket of slots, in which nearly every new window takes another's place; two; and as many as
/// usual.
const TABLE_SLOTS: [Option<u64>; 3] = [Some(16), Some(32), None];

#[derive(Clone, Debug)]
enum Step {
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

/// How a limiter is opened.
#[derive(Clone, Copy, Debug)]
struct Manner {
    policy: usize,
    /// `None`: each hit is written before it is answered.
    interval_ms: Option<u64>,
}

fn manner() -> impl Strategy<Value = Manner> {
    let interval_ms = prop_oneof![Just(None), Just(Some(1)), Just(Some(60_000))];
    (0..POLICIES.len(), interval_ms)
        .prop_map(|(policy, interval_ms)| Manner { policy, interval_ms })
}

/// Each with the limiter that takes it.
fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
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

/// A store and the two limiters on it, of which none, one or both are open.
struct Scene {
    _directory: TempDir,
    store: PathBuf,
    table_slots: Option<u64>,
    manners: [Manner; 2],
    limiters: [Option<Limiter>; 2],
}

impl Scene {
    fn new(table_slots: Option<u64>, manners: [Manner; 2]) -> Self {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let limiters = [None, None];
        let mut scene = Self { _directory: directory, store, table_slots, manners, limiters };
        scene.open(0, manners[0]);
        scene.open(1, manners[1]);
        scene
    }

    fn open(&mut self, which: usize, manner: Manner) {
        self.limiters[which] = None;
        let mut options = support::options();
        // The model prunes only when it is told to.
        options.auto_prune = false;
        options.keep_open = false;
        options.table_slots = self.table_slots;
        options.durability = Durability::Hit;
        if let Some(interval_ms) = manner.interval_ms {
            options.durability = Durability::Interval;
            options.flush_interval = Duration::from_millis(interval_ms);
        }
        let (store, policy) = (self.store.to_str().unwrap(), POLICIES[manner.policy].0);
        self.limiters[which] = Some(Limiter::open(store, policy, &options).unwrap());
        self.manners[which] = manner;
    }

    fn open_all(&mut self, manners: [Manner; 2], is_table_lost: bool) {
        self.limiters = [None, None];
        if is_table_lost {
            std::fs::remove_file(self.store.with_file_name("limits.db-table")).unwrap();
        }
        self.open(0, manners[0]);
        self.open(1, manners[1]);
    }

    fn limiter(&self, which: usize) -> &Limiter {
        self.limiters[which].as_ref().unwrap()
    }

    fn limits(&self, which: usize) -> [i64; 2] {
        POLICIES[self.manners[which].policy].1
    }
}

/// What the file says, as a model.
fn stored(store: &Path) -> Model {
    let host = Connection::open(store).unwrap();
    let sql = "SELECT key, window_ms, expires_ms, attempts, admitted FROM rate_limit_windows";
    let mut statement = host.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let [window, expires_ms, attempts, admitted] =
            [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        let [key] = row.get(0)?;
        Ok(((key, window, expires_ms - 2 * window), (attempts, admitted)))
    });
    Model(rows.unwrap().collect::<Result<_, _>>().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100 * support::scale(), failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_sequence_of_calls_agrees_with_the_model(
        table_slots in proptest::sample::select(&TABLE_SLOTS),
        manners in [manner(), manner()],
        steps in steps(),
    ) {
        let mut scene = Scene::new(table_slots, manners);
        let (mut model, mut now) = (Model::default(), START);
        for (which, step) in steps {
            let (limiter, limits) = (scene.limiter(which), scene.limits(which));
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
        prop_assert_eq!(scene.limiter(0).prune(Some(0)).unwrap(), 0);
        prop_assert_eq!(stored(&scene.store), model);
    }
}
