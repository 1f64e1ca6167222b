//! Truncated, overwritten, or damaged inside.

use std::fs::{self, File};

use ratelite::{Code, Error, Outcome};

use super::{BACKED_UP, FILES, InUse};
use crate::support;

/// Moves the log into the database, so that what is damaged is all there is.
fn checkpointed() -> InUse {
    is_checkpointed(InUse::new())
}

fn is_checkpointed(used: InUse) -> InUse {
    assert_eq!(used.stored(), 5);
    let host = support::connect(&used.store).unwrap();
    host.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    used
}

/// Either goes on counting without a gap or says that the store is damaged; never fewer.
fn never_forgets(used: &InUse, codes: &[Code]) {
    let mut last = 5;
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_secs(1) {
        match used.hit() {
            Ok(Outcome { count, .. }) => {
                assert!(count > last, "from {last} down to {count}");
                last = count;
            }
            Err(error) => assert!(codes.contains(&error.code()), "{:?} {error}", error.code()),
        }
    }
}

fn put_back(used: &InUse) {
    let good = used.other_store(BACKED_UP);
    for name in FILES {
        let _ = fs::remove_file(used.file(name));
    }
    fs::rename(good, &used.store).unwrap();
    used.counts_within_a_second(BACKED_UP + 1);
}

#[test]
fn a_store_cut_to_nothing_is_damaged_until_a_good_one_is_there() {
    let used = checkpointed();
    File::options().write(true).open(&used.store).unwrap().set_len(0).unwrap();
    never_forgets(&used, &[Code::Corrupt, Code::NotStore, Code::Io]);
    put_back(&used);
}

#[test]
fn a_store_cut_to_half_is_damaged_until_a_good_one_is_there() {
    let used = checkpointed();
    File::options().write(true).open(&used.store).unwrap().set_len(9000).unwrap();
    never_forgets(&used, &[Code::Corrupt, Code::Io]);
    put_back(&used);
}

#[test]
fn garbage_written_into_it_is_damage_until_a_good_one_is_there() {
    let used = checkpointed();
    let length = fs::metadata(&used.store).unwrap().len() as usize;
    fs::write(&used.store, vec![0xA5; length]).unwrap();
    never_forgets(&used, &[Code::Corrupt, Code::NotStore]);
    put_back(&used);
}

#[test]
fn a_log_cut_to_nothing_is_damage_or_is_survived() {
    let used = InUse::new();
    File::options().write(true).open(used.file(FILES[1])).unwrap().set_len(0).unwrap();
    never_forgets(&used, &[Code::Corrupt, Code::Io]);
    put_back(&used);
}

#[test]
fn a_damaged_store_in_use_is_set_aside_where_the_option_says_so() {
    let used = is_checkpointed(InUse::with(|options| options.recover_corrupt = true));
    let mut bytes = fs::read(&used.store).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(&used.store, &bytes).unwrap();
    used.within_a_second(|outcome| is_fresh(outcome) || goes_on(outcome)).unwrap();
}

fn is_fresh(outcome: &Result<Outcome, Error>) -> bool {
    outcome.as_ref().is_ok_and(|outcome| outcome.count == 1)
}

fn goes_on(outcome: &Result<Outcome, Error>) -> bool {
    outcome.as_ref().is_ok_and(|outcome| outcome.count > 5)
}
