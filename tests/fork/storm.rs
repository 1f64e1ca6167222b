//! Many forks while many threads hit.

use crate::support::{self, Mode};

#[test]
fn two_hundred_forks_beside_three_busy_threads_lose_and_hang_nothing() {
    storm(200, 1, 3);
}

#[test]
fn four_threads_that_fork_at_once_lose_and_hang_nothing() {
    storm(200, 4, 0);
    storm(200, 4, 3);
}

#[test]
fn a_host_lock_around_each_hit_and_in_a_fork_handler_is_no_deadlock() {
    let program = support::compile("fork/host_lock.c", &["-lsqlite3"]);
    for registered in ["before", "after"] {
        let directory = support::fresh_directory();
        let store = directory.path().join("store.db");
        let words = [store.to_str().unwrap(), &(10 * support::scale()).to_string(), registered];
        let seconds = 60 * support::scale();
        let report = support::run_well(&program, &support::library_dir(), seconds, &words);
        println!("{registered}: {report}");
        assert_eq!(report.number("hung"), 0, "{registered}: {report}");
        assert_eq!(report.number("failed"), 0, "{registered}: {report}");
        assert_eq!(
            report.number("stored"),
            report.number("acknowledged"),
            "{registered}: {report}"
        );
        // The library's patience is 0.1 s a hit; three threads may come in before the fork.
        assert!(report.number("slowest_fork_ms") < 2_000, "{registered}: {report}");
    }
}

#[test]
fn a_fork_during_another_threads_first_call_hangs_nobody() {
    let program = support::compile("fork/first_call.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let rounds = 500 * support::scale();
    let words = [store.to_str().unwrap(), &rounds.to_string()];
    let report = support::run_well(&program, &support::library_dir(), 60 + rounds / 10, &words);
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("acknowledged"), i64::from(2 * rounds), "{report}");
    assert_eq!(report.number("stored"), i64::from(2 * rounds), "{report}");
}

#[test]
fn forks_beside_threads_that_close_stores_in_memory_hang_nobody() {
    let report = repeat("fork/memory_close.c", "store.db", 200);
    assert_eq!(report.number("stored"), report.number("forks"), "{report}");
}

#[test]
fn a_fork_and_an_open_do_not_wait_for_each_other() {
    let report = repeat("fork/open_while_forking.c", "", 500);
    assert_eq!(report.number("refused"), 0, "{report}");
}

/// Runs a program that must be through in time, whatever it forks.
fn repeat(program: &str, file: &str, forks: u32) -> support::Report {
    let compiled = support::compile(program, &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let place = directory.path().join(file);
    let words = [place.to_str().unwrap(), &(forks * support::scale()).to_string()];
    let report =
        support::run_well(&compiled, &support::library_dir(), 30 * support::scale(), &words);
    println!("{program}: {report}");
    report
}

#[test]
fn forks_beside_threads_that_open_and_close_stores_lose_and_hang_nothing() {
    let program = support::compile("fork/opening.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let forks = (50 * support::scale()).to_string();
    let words = [directory.path().to_str().unwrap(), &forks];
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    println!("opening: {report}");
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("failed"), 0, "{report}");
}

#[test]
fn a_library_that_is_loaded_and_unloaded_again_and_again_stays_exact() {
    let program = support::compile("fork/dlclose.c", &["-lsqlite3", "-ldl"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    // Not the one that the program is linked to: that one stays loaded anyhow.
    let library = directory.path().join("copy.so");
    std::fs::copy(support::library_dir().join("libratelite.so"), &library).unwrap();
    let words = [&library, &store, &"20".into()];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("stored"), 40, "{report}");
    let documented = if support::mode() == Mode::Rows { 5 } else { 6 };
    assert!(report.number("descriptors") <= documented, "{report}");
}

#[test]
fn a_store_in_memory_is_copied_by_fork() {
    let program = support::compile("fork/memory.c", &["-lsqlite3"]);
    let words = [(100 * support::scale()).to_string()];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.word("copies"), "apart", "{report}");
}

fn storm(forks: u32, forking_threads: u32, busy_threads: u32) {
    let program = support::compile("fork/storm.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let forks = (forks * support::scale()).to_string();
    let (forking, busy) = (forking_threads.to_string(), busy_threads.to_string());
    let words = [store.to_str().unwrap(), &forks, &forking, &busy];
    let report = support::run_well(&program, &support::library_dir(), 300, &words);
    println!("{forks} forks by {forking} threads, {busy} busy: {report}");
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
}
