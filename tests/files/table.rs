//! The file of the shared table, which holds what is not written yet.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ratelite::{Code, Limiter};
use tempfile::TempDir;

use super::{NOW, open};
use crate::support::{self, Mode, mode};

/// A store that nobody has open, and of which everything is written; and its table.
fn closed() -> (TempDir, PathBuf, PathBuf) {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let limiter = open(&store, |options| options.keep_open = false).unwrap();
    limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
    drop(limiter);
    let table = directory.path().join("limits.db-table");
    (directory, store, table)
}

#[test]
fn whatever_stands_in_its_place_is_replaced_and_nothing_is_forgotten() {
    type Put = fn(&Path, &[u8]);
    let puts: [(&str, Put); 5] = [
        ("nothing", |_, _| {}),
        ("an empty file", |table, _| fs::write(table, "").unwrap()),
        ("its first half", |table, bytes| fs::write(table, &bytes[..bytes.len() / 2]).unwrap()),
        ("as many other bytes", |table, bytes| {
            fs::write(table, vec![0xA5; bytes.len()]).unwrap();
        }),
        ("a FIFO", |table, _| {
            assert!(Command::new("mkfifo").arg(table).status().unwrap().success());
        }),
    ];
    for (what, put) in puts {
        let (_directory, store, table) = closed();
        let bytes = fs::read(&table).unwrap();
        fs::remove_file(&table).unwrap();
        put(&table, &bytes);
        let limiter = open(&store, |_| {}).unwrap();
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 6, "{what}");
        assert_eq!(super::stored(&store), 6, "{what}");
        let made = fs::symlink_metadata(&table).unwrap();
        assert!(made.is_file() && made.len() == bytes.len() as u64, "{what}");
    }
}

#[test]
fn a_symbolic_link_in_its_place_is_refused_and_not_followed() {
    let (directory, store, table) = closed();
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&table, &elsewhere).unwrap();
    symlink(&elsewhere, &table).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let error = open(&store, |_| {}).err().expect("refused");
    assert_eq!(error.code(), Code::NotStore);
    assert!(error.to_string().contains("shared table: "), "{error}");
    fs::remove_file(&table).unwrap();
    let limiter = open(&store, |_| {}).unwrap();
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 6);
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
}

/// Of another store, of the same: one of another time, say.
#[test]
fn the_table_of_another_store_is_not_taken_for_its_own() {
    let (_other_directory, _, others) = closed();
    let (_directory, store, table) = closed();
    fs::copy(others, &table).unwrap();
    let limiter = open(&store, |_| {}).unwrap();
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 6);
}

#[test]
fn a_table_that_is_deleted_under_a_limiter_is_made_anew_for_everybody() {
    if mode() == Mode::Rows {
        return; // there is none
    }
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let policy = "attack: 9007199254740991/366d";
    let limiter = Limiter::open(store.to_str().unwrap(), policy, &support::options()).unwrap();
    // By tens here, by one there.
    let hit = || limiter.hit(None, b"k", 10, None).unwrap().count;
    assert_eq!([hit(), hit()], [10, 20]);
    assert_eq!(super::stored(&store), 20);
    fs::remove_file(directory.path().join("limits.db-table")).unwrap();
    let newcomer = support::compile("locks/open.c", &["-lsqlite3"]);
    let report = support::run_well(&newcomer, &support::library_dir(), 30, &[&store]);
    assert_eq!(report.number("code"), 0, "{report}");

    let deadline = Instant::now() + Duration::from_secs(1);
    let count = loop {
        let count = hit();
        if count % 10 == 1 {
            break count;
        }
        assert!(mode() == Mode::Interval && Instant::now() < deadline, "{count}");
    };
    assert_eq!(count, 31);
    assert_eq!(super::stored(&store), count);
}
