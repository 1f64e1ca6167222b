//! What may stand at a store's path, and that whatever is refused stays as it was: its bytes, its
//! times, its neighbours.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::{self, Mode, Report};

const RL_OK: i64 = 0;
const RL_ENOTSTORE: i64 = -9;
const STORE: &str = "store.db";

#[test]
fn another_programs_database_is_refused() {
    refused(|store| {
        support::connect(store).unwrap().execute_batch(NOTES).unwrap();
    });
}

#[test]
fn another_programs_database_in_use_keeps_its_wal() {
    refused_while(|store| {
        let user = support::connect(store).unwrap();
        user.execute_batch(&format!("PRAGMA journal_mode = WAL; {NOTES}")).unwrap();
        user
    });
}

#[test]
fn another_programs_database_keeps_the_wal_of_a_crash() {
    refused(|store| leave_by_crash(store, "-wal", "PRAGMA journal_mode = WAL;"));
}

#[test]
fn another_programs_database_keeps_its_hot_journal() {
    refused(|store| {
        // The cache is too small for the transaction, so it is in the file before it is committed.
        let setup = format!("{NOTES} PRAGMA cache_size = 1; BEGIN;");
        leave_by_crash(store, "-journal", &setup);
        let journal = fs::read(beside(store, "-journal")).unwrap();
        assert!(journal.len() > 512 && journal[0] != 0, "the journal is not hot");
    });
}

#[test]
fn a_store_of_a_newer_format_is_refused() {
    refused(|store| {
        make_store(store);
        support::connect(store).unwrap().execute_batch("PRAGMA user_version = 4").unwrap();
    });
}

#[test]
fn garbage_is_refused() {
    refused(|store| fs::write(store, [0xA5; 8192]).unwrap());
}

#[test]
fn seventeen_bytes_are_refused() {
    refused(|store| fs::write(store, "SQLite format 3\0\x10").unwrap());
}

#[test]
fn a_fifo_is_refused_without_waiting_for_a_writer() {
    refused(|store| {
        assert!(Command::new("mkfifo").arg(store).status().unwrap().success());
    });
}

#[test]
fn a_directory_is_refused() {
    refused(|store| fs::create_dir(store).unwrap());
}

#[test]
fn a_symbolic_link_to_nothing_is_refused() {
    refused(|store| symlink("nothing", store).unwrap());
}

#[test]
fn a_symbolic_link_to_a_foreign_file_is_refused() {
    refused(|store| {
        fs::write(beside(store, ".real"), [0xA5; 8192]).unwrap();
        symlink("store.db.real", store).unwrap();
    });
}

#[test]
fn a_second_hard_link_is_refused() {
    refused(|store| {
        make_store(store);
        fs::hard_link(store, beside(store, ".other")).unwrap();
    });
}

#[test]
fn a_symbolic_link_to_a_store_is_that_store() {
    let directory = support::fresh_directory_on_disk();
    let store = directory.path().join(STORE);
    let real = beside(&store, ".real");
    make_store(&real);
    symlink("store.db.real", &store).unwrap();
    assert_eq!(open(&store).number("code"), RL_OK);
    assert_eq!(attempts(&real), 2, "the hits through both names");
    for file in ["-wal", "-table"] {
        assert!(!beside(&store, file).exists(), "{file} under the link's name is another one");
    }
}

#[test]
fn an_absent_path_and_an_empty_file_become_stores() {
    for is_there in [false, true] {
        let directory = support::fresh_directory_on_disk();
        let store = directory.path().join(STORE);
        if is_there {
            fs::write(&store, "").unwrap();
        }
        assert_eq!(open(&store).number("code"), RL_OK);
        assert_eq!(attempts(&store), 1);
    }
}

const NOTES: &str = "CREATE TABLE notes (n); INSERT INTO notes VALUES (1);";

fn refused(make: impl FnOnce(&Path)) {
    refused_while(make);
}

/// What `make` returns lives until the store was refused.
fn refused_while<T>(make: impl FnOnce(&Path) -> T) {
    let directory = support::fresh_directory_on_disk();
    let store = directory.path().join(STORE);
    let user = make(&store);
    let before = everything_in(directory.path());
    let report = open(&store);
    assert_eq!(report.number("code"), RL_ENOTSTORE, "{report}");
    assert!(report.text.contains(STORE), "it does not name the file: {report}");
    assert_eq!(everything_in(directory.path()), before, "not as it was");
    drop(user);
}

fn open(store: &Path) -> Report {
    let program = support::compile("locks/open.c", &["-lsqlite3"]);
    support::run_well(&program, &support::library_dir(), 30, &[store])
}

fn make_store(store: &Path) {
    assert_eq!(open(store).number("code"), RL_OK);
    // A process's end leaves the WAL; without it the file alone is the store.
    support::connect(store)
        .and_then(|user| user.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"))
        .unwrap();
}

fn attempts(store: &Path) -> i64 {
    if support::mode() == Mode::Interval {
        support::write_out(store);
    }
    support::connect(store)
        .and_then(|user| {
            user.query_one("SELECT sum(attempts) FROM rate_limit_windows", [], |row| row.get(0))
        })
        .unwrap()
}

/// A database with a companion file, as a killed process leaves them: copied amid its work.
fn leave_by_crash(store: &Path, companion: &str, setup: &str) {
    let working = support::fresh_directory_on_disk();
    let original = working.path().join(STORE);
    let user = support::connect(&original).unwrap();
    user.execute_batch(&format!(
        "{setup} CREATE TABLE more (n);
         INSERT INTO more SELECT randomblob(3000) FROM json_each('[1,2,3,4,5,6,7,8,9]'),
             json_each('[1,2,3,4,5,6,7,8,9]');"
    ))
    .unwrap();
    fs::copy(&original, store).unwrap();
    fs::copy(beside(&original, companion), beside(store, companion)).unwrap();
    assert!(fs::metadata(beside(store, companion)).unwrap().len() > 0);
}

fn beside(store: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = OsString::from(store);
    name.push(ending);
    name.into()
}

#[derive(Debug, PartialEq)]
struct Entry {
    content: Option<Vec<u8>>,
    target: Option<std::path::PathBuf>,
    inode: u64,
    mode: u32,
    links: u64,
    modified: (i64, i64),
}

fn everything_in(directory: &Path) -> BTreeMap<OsString, Entry> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name(), describe(&entry.path()))).collect()
}

fn describe(path: &Path) -> Entry {
    let facts = fs::symlink_metadata(path).unwrap();
    Entry {
        content: facts.is_file().then(|| fs::read(path).unwrap()),
        target: fs::read_link(path).ok(),
        inode: facts.ino(),
        mode: facts.mode(),
        links: facts.nlink(),
        modified: (facts.mtime(), facts.mtime_nsec()),
    }
}
