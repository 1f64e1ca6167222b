//! A model test: any sequence of calls gives what a dozen lines of obvious code give, whichever of
//! two limiters is called, however each of them writes, however often the shared table is too small
//! or lost; and in the end the file says the same.

#[path = "support/agreement.rs"]
mod agreement;
mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agreement::{Manner, Model, POLICIES, Scene, agree, manner, steps};
use proptest::prelude::*;
use ratelite::{Durability, Limiter};
use tempfile::TempDir;

/// One bucket of slots, in which nearly every new window takes another's place; two; and as many as
/// usual.
const TABLE_SLOTS: [Option<u64>; 3] = [Some(16), Some(32), None];

/// A store in a file.
struct FileScene {
    _directory: TempDir,
    store: PathBuf,
    table_slots: Option<u64>,
    manners: [Manner; 2],
    limiters: [Option<Limiter>; 2],
}

impl FileScene {
    fn new(table_slots: Option<u64>, manners: [Manner; 2]) -> Self {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let limiters = [None, None];
        let mut scene = Self { _directory: directory, store, table_slots, manners, limiters };
        scene.open(0, manners[0]);
        scene.open(1, manners[1]);
        scene
    }
}

impl Scene for FileScene {
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

    fn manner(&self, which: usize) -> Manner {
        self.manners[which]
    }

    fn prunes(&self) -> bool {
        true
    }
}

/// What the file says, as a model.
fn stored(store: &Path) -> Model {
    let host = support::connect(store).unwrap();
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
        let mut scene = FileScene::new(table_slots, manners);
        let model = agree(&mut scene, steps)?;
        prop_assert_eq!(scene.limiter(0).prune(Some(0)).unwrap(), 0);
        prop_assert_eq!(stored(&scene.store), model);
    }
}
