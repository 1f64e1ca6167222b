//! Deleted, moved, or something in its place that is no store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use ratelite::Code;

use super::{FILES, InUse, TABLE};
use crate::support::{Mode, connect, mode};

#[test]
fn a_store_deleted_with_its_log_is_begun_anew() {
    let used = InUse::new();
    used.delete(&FILES);
    used.counts_within_a_second(1);
    assert_eq!(used.stored(), 1);
}

#[test]
fn a_store_deleted_without_its_log_is_begun_anew() {
    let used = InUse::new();
    fs::remove_file(&used.store).unwrap();
    used.counts_within_a_second(1);
    assert_eq!(used.hit().unwrap().count, 2);
    assert_eq!(used.stored(), 2);
}

#[test]
fn a_store_that_was_moved_away_and_comes_back_goes_on() {
    let used = InUse::new();
    used.move_away();
    let mut last = 5;
    used.within_a_second(|outcome| {
        let count = outcome.as_ref().unwrap().count;
        let is_new = count < last;
        last = last.max(count);
        is_new
    })
    .unwrap();
    // The hits between the move and the look are in the file that was moved; at an interval those of
    // the last one may be missing.
    let away = super::stored(&used.away(FILES[0]));
    assert!((5..=last).contains(&away), "{away} of {last}");
    assert!(mode() != Mode::Hit || away == last, "{away} of {last}");
    used.delete(&FILES);
    used.delete(&[TABLE]);
    used.move_back();
    let goes_on = |count: i64| count > away;
    used.within_a_second(|hit| hit.as_ref().is_ok_and(|hit| goes_on(hit.count))).unwrap();
}

#[test]
fn garbage_in_its_place_is_no_store_and_stays_as_it_is() {
    is_no_store(|used| fs::write(&used.store, [0xA5; 9000]).unwrap());
}

#[test]
fn a_fifo_in_its_place_is_no_store_and_hangs_nobody() {
    is_no_store(|used| {
        assert!(Command::new("mkfifo").arg(&used.store).status().unwrap().success());
    });
}

#[test]
fn a_directory_in_its_place_is_no_store() {
    is_no_store(|used| fs::create_dir(&used.store).unwrap());
}

#[test]
fn another_programs_database_in_its_place_is_no_store() {
    is_no_store(|used| {
        let other = connect(&used.store).unwrap();
        other.execute_batch("CREATE TABLE notes (n)").unwrap();
    });
}

#[test]
fn a_symbolic_link_in_its_place_is_not_followed() {
    is_no_store(|used| symlink(used.other_store(7), &used.store).unwrap());
}

#[test]
fn a_second_name_is_refused_until_it_goes() {
    let used = InUse::writing_each_hit();
    let second = used.elsewhere("second.db");
    fs::hard_link(&used.store, &second).unwrap();
    assert_eq!(used.fails_within_a_second().code(), Code::NotStore);
    let counted = super::in_file(&used.store);
    fs::remove_file(second).unwrap();
    used.hit().unwrap();
    assert_eq!(used.spent(), counted + 1);
}

#[test]
fn at_an_interval_nothing_is_written_under_a_second_name() {
    let used = InUse::writing_at_an_interval();
    let second = used.elsewhere("second.db");
    fs::hard_link(&used.store, &second).unwrap();
    let count = used.hit_until_cause(5, true);
    fs::remove_file(second).unwrap();
    let count = used.hit_until_cause(count, false);
    assert_eq!(super::in_file(&used.store), count);
}

#[test]
fn a_directory_that_was_removed_and_made_again_holds_a_new_store() {
    let used = InUse::writing_each_hit();
    fs::remove_dir_all(&used.directory).unwrap();
    assert_eq!(used.fails_within_a_second().code(), Code::Io);
    fs::create_dir(&used.directory).unwrap();
    used.counts_within_a_second(1);
    assert_eq!(super::in_file(&used.store), 1);
}

#[test]
fn at_an_interval_a_directory_that_was_removed_and_made_again_holds_a_new_store() {
    let used = InUse::writing_at_an_interval();
    fs::remove_dir_all(&used.directory).unwrap();
    used.hit_until_cause(5, true);
    fs::create_dir(&used.directory).unwrap();
    used.counts_within_a_second(1);
    used.limiter.prune(Some(0)).unwrap();
    assert_eq!(super::in_file(&used.store), 1);
}

#[test]
fn new_files_have_their_mode_under_every_umask() {
    for umask in ["000", "077", "777"] {
        let root = crate::support::fresh_directory();
        let program = crate::support::compile("locks/open.c", &["-lsqlite3"]);
        let script = format!("umask {umask}; exec \"$0\" \"$1\"");
        let report = crate::support::run_well(
            "sh".as_ref(),
            &crate::support::library_dir(),
            30,
            &[
                "-c".as_ref(),
                script.as_ref(),
                program.as_os_str(),
                root.path().join("s.db").as_os_str(),
            ],
        );
        assert_eq!(report.number("code"), 0, "{umask}: {report}");
        for name in ["s.db", "s.db-wal", "s.db-shm", "s.db-table"] {
            if mode() == Mode::Rows && name == "s.db-table" {
                continue;
            }
            let mode = fs::metadata(root.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name} under umask {umask}");
        }
    }
}

/// Puts something else in the store's place, and later the store back.
fn is_no_store(put: impl Fn(&InUse)) {
    let used = InUse::writing_each_hit();
    used.move_away();
    put(&used);
    let error = used.fails_within_a_second();
    assert_eq!(error.code(), Code::NotStore, "{error}");
    assert!(error.to_string().contains("limits.db"), "{error}");
    assert_eq!(used.hit().unwrap_err().code(), Code::NotStore);
    fs::rename(&used.store, used.elsewhere("refused")).unwrap();
    let counted = super::in_file(&used.away(FILES[0]));
    used.move_back();
    used.within_a_second(Result::is_ok).unwrap();
    assert_eq!(used.spent(), counted + 1);

    // Nobody's hit is in its way where it is not to be written.
    let used = InUse::writing_at_an_interval();
    used.move_away();
    put(&used);
    let before = fs::symlink_metadata(&used.store).unwrap();
    let count = used.hit_until_cause(5, true);
    let after = fs::symlink_metadata(&used.store).unwrap();
    assert_eq!(
        (before.modified().unwrap(), before.len()),
        (after.modified().unwrap(), after.len())
    );
    fs::rename(&used.store, used.elsewhere("refused")).unwrap();
    used.move_back();
    let count = used.hit_until_cause(count, false);
    assert_eq!(super::in_file(&used.store), count);
}
