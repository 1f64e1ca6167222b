//! What was removed is gone from the file, free space included.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ratelite::Limiter;
use tempfile::TempDir;

use crate::{files_with, support};

const NOW: i64 = 1_767_225_645_000;
const MINUTE: i64 = 60_000;
const GONE: u32 = 3_000;
const STAY: i64 = 1_000;
/// SQLite does not wipe what moves to another page when a full one is divided.
const LEFT_IN_PAGES_IN_USE: usize = GONE as usize / 100;
const MARK: &[u8] = b"G0NE-K3Y";

struct Scene {
    directory: TempDir,
    store: PathBuf,
    limiter: Limiter,
}

/// Keys that are to go, and others that stay: of a later window, or of the same.
fn scene(stay_ms: i64, audit: bool) -> Scene {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let mut options = support::options();
    options.audit = audit;
    options.audit_retention = Some(Duration::from_secs(60));
    options.auto_prune = false;
    options.keep_open = false;
    let limiter = Limiter::open(store.to_str().unwrap(), "r: 9/min", &options).unwrap();
    for number in 0..GONE {
        limiter.hit(None, &key(number), 1, Some(NOW)).unwrap();
    }
    for number in 0..STAY as u32 {
        let scattered = number.wrapping_mul(2_654_435_769);
        let stays = [&scattered.to_be_bytes()[..], b"stays"].concat();
        limiter.hit(None, &stays, 1, Some(NOW + stay_ms)).unwrap();
    }
    Scene { directory, store, limiter }
}

/// Every other one with the mark in the second half of its slot of the table.
fn key(number: u32) -> Vec<u8> {
    let scattered = number.wrapping_mul(2_654_435_769);
    let padding = vec![b'-'; number as usize % 2 * 40];
    [&scattered.to_be_bytes()[..], &padding, MARK, &number.to_le_bytes()].concat()
}

impl Scene {
    /// Closes the store, log and all, and counts in its file the keys that are gone.
    fn close(self) -> (TempDir, usize) {
        drop(self.limiter);
        for log in ["limits.db-wal", "limits.db-shm"] {
            assert!(!self.directory.path().join(log).exists(), "a log is left");
        }
        assert_eq!(count(&self.store, "rate_limit_windows"), STAY);
        let bytes = std::fs::read(&self.store).unwrap();
        let found = bytes.windows(MARK.len()).filter(|window| *window == MARK).count();
        (self.directory, found)
    }

    fn has_forgotten(self) {
        let (directory, found) = self.close();
        assert!(found <= LEFT_IN_PAGES_IN_USE, "{found}");
        let mut files = files_with(directory.path(), MARK);
        files.retain(|name| name != "limits.db");
        assert_eq!(files, [""; 0]);
    }
}

fn count(store: &Path, table: &str) -> i64 {
    let host = support::connect(store).unwrap();
    host.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn pruned_keys_and_audit_rows_do_not_linger_in_the_file() {
    let scene = scene(10 * MINUTE, true);
    assert_eq!(count(&scene.store, "api_calls"), i64::from(GONE) + STAY);
    assert_eq!(scene.limiter.prune(Some(NOW + 5 * MINUTE)).unwrap(), u64::from(GONE));
    assert_eq!(count(&scene.store, "api_calls"), STAY);
    scene.has_forgotten();
}

#[test]
fn keys_that_were_reset_do_not_linger_in_the_file() {
    // Of one window, so that those that go and those that stay share pages.
    let scene = scene(0, false);
    for number in 0..GONE {
        assert_eq!(scene.limiter.reset(None, &key(number)).unwrap(), 1);
    }
    assert_eq!(count(&scene.store, "api_calls"), 0);
    scene.has_forgotten();
}

#[test]
fn an_ordinary_delete_would_leave_them() {
    let scene = scene(10 * MINUTE, false);
    assert_eq!(scene.limiter.prune(Some(0)).unwrap(), 0);
    let host = support::connect(&scene.store).unwrap();
    host.execute_batch(
        "PRAGMA secure_delete = OFF;
         DELETE FROM rate_limit_windows WHERE instr(key, CAST('G0NE-K3Y' AS BLOB)) > 0;",
    )
    .unwrap();
    drop(host);
    assert_eq!(count(&scene.store, "rate_limit_windows"), STAY);
    let (_directory, found) = scene.close();
    assert!(found > GONE as usize / 2, "{found}");
}
