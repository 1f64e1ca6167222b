//! Another store in its place: a restore from a backup, in each way that people do it.

use std::fs;

use ratelite::{Code, Outcome};

use super::{BACKED_UP, FILES, InUse};

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
    let outcome = used.within_a_second(|outcome| match outcome {
        Ok(outcome) => outcome.count > BACKED_UP,
        Err(error) => error.code() == Code::Corrupt,
    });
    if let Ok(outcome) = outcome {
        assert_eq!(used.stored(), outcome.count);
    }
}

#[test]
fn a_backup_copied_over_it_in_place_never_resets_the_limit_unnoticed() {
    let used = InUse::new();
    let backup = fs::read(used.other_store(BACKED_UP)).unwrap();
    let before = used.hit().unwrap().count;
    // As `cp` does: the same file, other bytes, and the old log beside it.
    fs::write(&used.store, backup).unwrap();
    let began = std::time::Instant::now();
    let mut last = before;
    while began.elapsed() < std::time::Duration::from_millis(1200) {
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
    assert_eq!(used.stored(), last);
}
