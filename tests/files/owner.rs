//! A store that this user may not use: the code says so, and nothing else is needed than the right.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::TABLE;
use crate::support::{self, Mode, Report, mode};

const RL_OK: i64 = 0;
const RL_EPERM: i64 = -7;

#[test]
fn a_store_of_another_user_is_refused_and_then_used() {
    is_refused_until(0o000, 0o666, |store| store.to_owned());
}

#[test]
fn a_read_only_store_is_refused_and_then_used() {
    is_refused_until(0o444, 0o666, |store| store.to_owned());
}

#[test]
fn a_store_in_a_read_only_directory_is_refused_and_then_used() {
    is_refused_until(0o555, 0o777, |store| store.parent().unwrap().to_owned());
}

#[test]
fn a_store_in_an_unreadable_directory_is_refused_and_then_used() {
    is_refused_until(0o000, 0o777, |store| store.parent().unwrap().to_owned());
}

#[test]
fn a_store_whose_table_is_another_users_is_refused_and_then_used() {
    if mode() != Mode::Rows {
        is_refused_until(0o000, 0o666, table_of);
        is_refused_until(0o444, 0o666, table_of);
    }
}

fn is_refused_until(before: u32, after: u32, of: impl Fn(&Path) -> PathBuf) {
    let root = support::fresh_directory();
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    let directory = root.path().join("data");
    fs::create_dir(&directory).unwrap();
    let store = directory.join("limits.db");
    let program = support::compile("locks/open.c", &["-lsqlite3"]);
    support::run_well(&program, &support::library_dir(), 30, &[&store]);
    // Another SQLite that is the last takes -wal and -shm away.
    let host = support::connect(&store).unwrap();
    host.query_row("SELECT count(*) FROM meta", [], |_| Ok(())).unwrap();
    drop(host);
    let files = || {
        let entries = fs::read_dir(&directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let made = files();
    let has_table = mode() != Mode::Rows;
    assert_eq!(made.len(), if has_table { 2 } else { 1 });
    let right =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    right(&directory, 0o777);
    right(&store, 0o666);
    if has_table {
        right(&table_of(&store), 0o666);
    }

    right(&of(&store), before);
    let report = open_as_nobody(&store);
    right(&of(&store), 0o777);
    assert_eq!(report.number("code"), RL_EPERM, "{report}");
    assert!(report.text.contains("limits.db"), "{report}");
    let mut left = files();
    if of(&store) == table_of(&store) {
        // It was at the database's before.
        left.retain(|name| !["limits.db-wal", "limits.db-shm"].contains(&name.to_str().unwrap()));
    }
    assert_eq!(left, made, "the refusal left something");

    right(&of(&store), after);
    let report = open_as_nobody(&store);
    assert_eq!(report.number("code"), RL_OK, "{report}");
}

fn table_of(store: &Path) -> PathBuf {
    store.with_file_name(TABLE)
}

/// Root may do everything, so it becomes somebody who may not.
fn open_as_nobody(store: &Path) -> Report {
    let built = support::compile("locks/open.c", &["-lsqlite3"]);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // Where nobody can read them, whoever's the source tree is.
    let shared = support::fresh_directory();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o755)).unwrap();
    let (program, library) = (shared.path().join("open"), shared.path().join("libratelite.so"));
    fs::copy(built, &program).unwrap();
    fs::copy(support::library_dir().join("libratelite.so"), &library).unwrap();
    fs::copy(&library, shared.path().join("libratelite.so.1")).unwrap();
    let mut command = Command::new(if is_root { "setpriv" } else { "env" });
    if is_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.arg(&program).arg(store).env("LD_LIBRARY_PATH", shared.path());
    Report::of(&command.output().expect("setpriv: apt-get install util-linux"))
}
