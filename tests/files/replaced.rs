//! Another store in its place: a restore from a backup, in each way that people do it.

use std::fs;

use std::time::{Duration, Instant};

use ratelite::{Code, Outcome};

use super::{BACKED_UP, FILES, InUse};
use crate::support::{Mode, connect, mode};

#[test]
fn a_backup_moved_into_its_place_with_the_old_log_deleted_is_used() {
    let used = InUse::new();
    let backup = used.other_store(BACKED_UP);
    for name in &FILES[1..] {
        fs::remove_file(used.file(name)).unwrap();
    }
    fs::rename(backup, &used.store).unwrap();
    used.counts_within_a_second(BACKED_UP + 1);
    assert_eq!(used.stored(), BACKED_UP + 1);
}

#[test]
fn a_backup_moved_into_its_place_beside_the_old_log_is_used_or_is_damaged() {
    let used = InUse::new();
    let backup = used.other_store(BACKED_UP);
    fs::rename(backup, &used.store).unwrap();
    let is_damaged = || used.limiter.info().is_err_and(|error| error.code() == Code::Corrupt);
    let outcome = used.within_a_second(|outcome| match outcome {
        Ok(outcome) => outcome.count > BACKED_UP || (mode() != Mode::Hit && is_damaged()),
        Err(error) => error.code() == Code::Corrupt,
    });
    if let Ok(outcome) = outcome
        && outcome.count > BACKED_UP
    {
        assert_eq!(used.stored(), outcome.count);
    }
}

/// Not another store: an older state of this one.
#[test]
fn a_backup_of_the_store_itself_is_used_within_a_second_and_by_whoever_opens_it() {
    let sequence = |file: &std::path::Path| -> i64 {
        let sql = "SELECT sequence FROM shared_table";
        connect(file).unwrap().query_one(sql, [], |row| row.get(0)).unwrap()
    };
    for is_in_use in [true, false] {
        let used = InUse::new();
        let backup = used.elsewhere("backup.db");
        let before = used.stored();
        connect(&used.store)
            .unwrap()
            .execute("VACUUM INTO ?1", [backup.to_str().unwrap()])
            .unwrap();
        let mut last = used.hit().unwrap().count;
        // What the backup lacks, until the database says that more was written.
        let deadline = Instant::now() + Duration::from_secs(10);
        while last < before + 1_000 || sequence(&used.store) == sequence(&backup) {
            assert!(Instant::now() < deadline);
            last = used.hit().unwrap().count;
        }
        for name in &FILES[1..] {
            fs::remove_file(used.file(name)).unwrap();
        }
        fs::rename(&backup, &used.store).unwrap();
        if !is_in_use {
            let newcomer = super::open(&used.store, |_| {}).unwrap();
            assert_eq!(
                newcomer.hit(None, b"alice", 1, Some(super::NOW)).unwrap().count,
                before + 1
            );
        }
        let is_restored =
            |count: i64| (before + 1..before + 1_000).contains(&count) && count < last;
        let is_restored = |outcome: &Result<Outcome, _>| {
            outcome.as_ref().is_ok_and(|outcome| is_restored(outcome.count))
        };
        let count = used.within_a_second(is_restored).unwrap().count;
        assert_eq!(used.stored(), count);
    }
}

#[test]
fn a_backup_copied_over_it_in_place_never_resets_the_limit_unnoticed() {
    let used = InUse::new();
    let backup = fs::read(used.other_store(BACKED_UP)).unwrap();
    let before = used.hit().unwrap().count;
    used.limiter.prune(Some(0)).unwrap();
    // As `cp` does: the same file, other bytes, and the old log beside it.
    fs::write(&used.store, backup).unwrap();
    let began = Instant::now();
    let mut last = before;
    while began.elapsed() < Duration::from_millis(1200) {
        match used.hit() {
            Ok(Outcome { count, .. }) => {
                assert!(count > last, "from {last} down to {count}");
                last = count;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::Corrupt, "{error}");
                return;
            }
        }
    }
    if let Err(error) = used.limiter.prune(Some(0)) {
        // At an interval nobody's hit has met it.
        assert!(mode() != Mode::Hit && error.code() == Code::Corrupt, "{error}");
        return;
    }
    assert_eq!(super::in_file(&used.store), last);
}
