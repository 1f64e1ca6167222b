//! Locks of the open file description, and POSIX locks where the kernel has no others.

use std::path::Path;

use crate::support::{self, Mode};

#[test]
fn eight_processes_of_two_threads_are_each_told_another_count() {
    exact(&support::library_dir(), "ofd");
}

#[test]
fn posix_locks_are_exact_over_processes_and_visible_in_rl_info() {
    exact(&support::library_without("posix-locks"), "posix");
}

fn exact(library: &Path, locks: &str) {
    let program = support::compile("locks/exact.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    // In a table they take so little time that fewer would not come in each other's way.
    let in_table = support::mode() == Mode::Interval && locks == "ofd";
    let hits = if in_table { 50_000 } else { 500 } * support::scale();
    let words = [store.to_str().unwrap(), "8", "2", &hits.to_string()];
    let report = support::run_well(&program, library, 120, &words);
    println!("{locks}: {report}");
    assert_eq!(report.word("locks"), locks, "{report}");
    assert_eq!(report.number("acknowledged"), i64::from(8 * 2 * hits), "{report}");
    assert_eq!(report.number("stored"), i64::from(8 * 2 * hits), "{report}");
}
