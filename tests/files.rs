//! The file under a limiter in use is taken away, replaced, damaged: noticed within a second, and a
//! good file put back is used again. Meanwhile a hit that is to be written is answered with the
//! documented code; one that is not goes on being counted, and `rl_info` tells why it is not written.

mod support;

#[path = "files/apart.rs"]
mod apart;
#[path = "files/damaged.rs"]
mod damaged;
#[path = "files/owner.rs"]
mod owner;
#[path = "files/replaced.rs"]
mod replaced;
#[path = "files/table.rs"]
mod table;
#[path = "files/taken.rs"]
mod taken;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ratelite::{Durability, Error, Limiter, Options, Outcome};
use support::{Mode, mode};
use tempfile::TempDir;

const NOW: i64 = 1_767_225_645_000;
const POLICY: &str = "r: 1000000000/month";
const FILES: [&str; 3] = ["limits.db", "limits.db-wal", "limits.db-shm"];
const TABLE: &str = "limits.db-table";

/// More hits than any test makes, so that a backup is not taken for the store itself.
const BACKED_UP: i64 = 500_000_000;

/// A store in a directory of its own, and a limiter that has counted five hits of alice there.
struct InUse {
    _root: TempDir,
    directory: PathBuf,
    store: PathBuf,
    limiter: Limiter,
}

impl InUse {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// Each hit is written before it is answered, whatever the mode of the tests.
    fn writing_each_hit() -> Self {
        Self::with(|options| options.durability = Durability::Hit)
    }

    fn writing_at_an_interval() -> Self {
        Self::with(|options| options.durability = Durability::Interval)
    }

    fn with(set: impl FnOnce(&mut Options)) -> Self {
        let root = support::fresh_directory();
        let directory = root.path().join("data");
        fs::create_dir(&directory).unwrap();
        let store = directory.join(FILES[0]);
        let limiter = open(&store, set).unwrap();
        limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
        Self { _root: root, directory, store, limiter }
    }

    fn delete(&self, names: &[&str]) {
        for name in names {
            fs::remove_file(self.file(name)).unwrap();
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn elsewhere(&self, name: &str) -> PathBuf {
        self.directory.with_file_name(name)
    }

    fn hit(&self) -> Result<Outcome, Error> {
        self.limiter.hit(None, b"alice", 1, Some(NOW))
    }

    /// Units that alice has spent: attempts that failed may be counted, but spend nothing.
    fn spent(&self) -> i64 {
        let outcome = self.limiter.status(None, b"alice", Some(NOW)).unwrap();
        outcome.limit - outcome.remaining
    }

    /// Hits until the answer is as `wanted`: within the second that is promised.
    fn within_a_second(
        &self,
        mut wanted: impl FnMut(&Result<Outcome, Error>) -> bool,
    ) -> Result<Outcome, Error> {
        let began = Instant::now();
        loop {
            let outcome = self.hit();
            if wanted(&outcome) {
                return outcome;
            }
            let took = began.elapsed();
            assert!(took < Duration::from_secs(1), "not noticed: {:?}", outcome.map(|o| o.count));
        }
    }

    fn fails_within_a_second(&self) -> Error {
        self.within_a_second(Result::is_err).unwrap_err()
    }

    fn counts_within_a_second(&self, count: i64) {
        let is_that = |outcome: &Result<Outcome, Error>| {
            outcome.as_ref().is_ok_and(|outcome| outcome.count == count)
        };
        self.within_a_second(is_that).unwrap();
    }

    /// Hits, each of which is told the next count, until the file's trouble is told, or is over.
    /// Returns the last count.
    fn hit_until_cause(&self, mut count: i64, is_told: bool) -> i64 {
        let deadline = Instant::now() + Duration::from_secs(2);
        loop {
            count += 1;
            assert_eq!(self.hit().unwrap().count, count);
            let info: serde_json::Value =
                serde_json::from_str(&self.limiter.info().unwrap()).unwrap();
            let lag = &info["table"]["lag"];
            let is_over = lag["cause"].is_null() && lag["unwritten"] == 0;
            if if is_told { lag["cause"].is_string() } else { is_over } {
                return count;
            }
            assert!(Instant::now() < deadline, "{lag}");
        }
    }

    /// Takes the store away with all that belongs to it, as `mv limits.db*` does.
    fn move_away(&self) {
        for name in FILES.iter().chain([&TABLE]) {
            fs::rename(self.file(name), self.away(name)).unwrap();
        }
    }

    fn move_back(&self) {
        for name in FILES.iter().chain([&TABLE]) {
            if self.away(name).exists() {
                fs::rename(self.away(name), self.file(name)).unwrap();
            }
        }
    }

    fn away(&self, name: &str) -> PathBuf {
        self.elsewhere(&name.replace("limits.db", "away.db"))
    }

    /// A whole store, beside the directory, that says alice hit so often.
    fn other_store(&self, hits: i64) -> PathBuf {
        let other = self.elsewhere("other.db");
        let limiter = open(&other, |options| options.keep_open = false).unwrap();
        limiter.hit(None, b"alice", hits, Some(NOW)).unwrap();
        drop(limiter);
        other
    }

    fn stored(&self) -> i64 {
        stored(&self.store)
    }
}

fn open(store: &Path, set: impl FnOnce(&mut Options)) -> Result<Limiter, Error> {
    let mut options = support::options();
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), POLICY, &options)
}

/// What another SQLite reads in the file once everything is written. It must be sound.
fn stored(store: &Path) -> i64 {
    if mode() != Mode::Hit {
        support::write_out(store);
    }
    in_file(store)
}

fn in_file(store: &Path) -> i64 {
    let connection = support::connect(store).unwrap();
    let sound: String =
        connection.query_one("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let sum = "SELECT total(attempts) FROM rate_limit_windows";
    connection.query_one(sum, [], |row| row.get::<_, f64>(0)).unwrap() as i64
}
