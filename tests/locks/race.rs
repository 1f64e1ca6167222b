//! 32 processes open one path at the same moment: all succeed, and every hit is stored.

use std::path::Path;

use crate::support;

const PROCESSES: u32 = 32;
const ROUNDS: u32 = 100;

#[test]
fn thirty_two_racing_first_opens_of_a_new_path_all_succeed() {
    race(&support::library_dir(), ROUNDS, "absent");
}

#[test]
fn thirty_two_racing_first_opens_of_an_empty_file_all_succeed() {
    race(&support::library_dir(), ROUNDS, "empty");
}

#[test]
fn racing_first_opens_succeed_where_there_is_no_o_tmpfile() {
    race(&support::library_without("no-tmpfile"), ROUNDS, "absent");
}

#[test]
fn racing_first_opens_succeed_with_posix_locks() {
    let library = support::library_without("posix-locks");
    race(&library, ROUNDS / 4, "absent");
    race(&library, ROUNDS / 4, "empty");
}

fn race(library: &Path, rounds: u32, kind: &str) {
    let rounds = rounds * support::scale();
    let program = support::compile("locks/race.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let words =
        [directory.path().to_str().unwrap(), &rounds.to_string(), &PROCESSES.to_string(), kind];
    let report = support::run_well(&program, library, 60 + rounds, &words);
    println!("{rounds} rounds, {kind}: {report}");
    let hits = i64::from(rounds * PROCESSES);
    assert_eq!(report.number("acknowledged"), hits, "{report}");
    assert_eq!(report.number("stored"), hits, "{report}");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}
