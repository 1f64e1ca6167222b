//! Deleted, moved, or something in its place that is no store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use ratelite::Code;

use super::{FILES, InUse};

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
    used.move_away("away.db");
    used.counts_within_a_second(1);
    // The hits between the move and the look are in the file that was moved.
    let away = super::stored(&used.elsewhere("away.db"));
    assert!(away >= 5);
    used.delete(&FILES);
    for name in FILES {
        let from = used.elsewhere(&name.replace("limits.db", "away.db"));
        if from.exists() {
            fs::rename(from, used.file(name)).unwrap();
        }
    }
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
        let other = rusqlite::Connection::open(&used.store).unwrap();
        other.execute_batch("CREATE TABLE notes (n)").unwrap();
    });
}

#[test]
fn a_symbolic_link_in_its_place_is_not_followed() {
    is_no_store(|used| symlink(used.other_store(7), &used.store).unwrap());
}

#[test]
fn a_second_name_is_refused_until_it_goes() {
    let used = InUse::new();
    let second = used.elsewhere("second.db");
    fs::hard_link(&used.store, &second).unwrap();
    assert_eq!(used.fails_within_a_second().code(), Code::NotStore);
    let counted = super::stored(&used.store);
    fs::remove_file(second).unwrap();
    used.counts_within_a_second(counted + 1);
}

#[test]
fn a_directory_that_was_removed_and_made_again_holds_a_new_store() {
    let used = InUse::new();
    fs::remove_dir_all(&used.directory).unwrap();
    assert_eq!(used.fails_within_a_second().code(), Code::Io);
    fs::create_dir(&used.directory).unwrap();
    used.counts_within_a_second(1);
    assert_eq!(used.stored(), 1);
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
        for name in ["s.db", "s.db-wal", "s.db-shm"] {
            let mode = fs::metadata(root.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name} under umask {umask}");
        }
    }
}

/// Puts something else in the store's place, and later the store back.
fn is_no_store(put: impl FnOnce(&InUse)) {
    let used = InUse::new();
    used.move_away("away.db");
    put(&used);
    let error = used.fails_within_a_second();
    assert_eq!(error.code(), Code::NotStore, "{error}");
    assert!(error.to_string().contains("limits.db"), "{error}");
    assert_eq!(used.hit().unwrap_err().code(), Code::NotStore);
    fs::rename(&used.store, used.elsewhere("refused")).unwrap();
    let counted = super::stored(&used.elsewhere("away.db"));
    for name in FILES {
        let from = used.elsewhere(&name.replace("limits.db", "away.db"));
        if from.exists() {
            fs::rename(from, used.file(name)).unwrap();
        }
    }
    used.counts_within_a_second(counted + 1);
}
