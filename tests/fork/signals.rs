//! Forks from signal handlers, at any moment of a hit.

use crate::support::{self, Report};

const FORKS: u32 = 100;

#[test]
fn a_signal_handler_that_forks_loses_no_hit() {
    let report = run("fork/handler.c", &[]);
    let (answered, stored) = (report.number("acknowledged"), report.number("stored"));
    assert_eq!(report.number("failed"), 0, "{report}");
    assert!(answered <= stored, "lost: {report}");
    // A hit that began anew in both is counted twice by the store, and once by the program.
    assert!(stored <= answered + i64::from(FORKS * support::scale()), "too many: {report}");
}

#[test]
fn a_crash_handler_that_forks_inside_a_hit_gives_its_child_no_open_file() {
    let report = crash("hits");
    assert!(report.number("covered") > 0, "no fork came inside a hit: {report}");
}

#[test]
fn a_crash_handler_that_forks_inside_a_first_hit_gives_its_child_no_open_file() {
    crash("claims");
}

fn crash(inside: &str) -> Report {
    let report = run("fork/crash_handler.c", &[inside]);
    assert_eq!(report.number("shared"), 0, "{report}");
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
    report
}

#[test]
fn a_crash_in_the_midst_of_a_fork_is_no_deadlock() {
    let report = run("fork/crash_in_fork.c", &[]);
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("hung"), 0, "{report}");
    assert_eq!(report.number("stored"), 9, "{report}");
}

#[test]
fn a_signal_handler_that_forks_in_the_midst_of_a_fork_is_no_deadlock() {
    let report = run("fork/handler_in_fork.c", &[]);
    assert!(report.number("handled") > 0, "no fork came inside a fork: {report}");
    assert_eq!(report.number("stored"), report.number("forks"), "{report}");
}

fn run(program: &str, more: &[&str]) -> Report {
    let compiled = support::compile(program, &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    // Of forks inside forks one in some dozens meets the moment that counts.
    let forks = if program == "fork/handler_in_fork.c" { 10 * FORKS } else { FORKS };
    let forks = (forks * support::scale()).to_string();
    let mut words = vec![store.to_str().unwrap()];
    if program != "fork/crash_in_fork.c" {
        words.push(&forks);
    }
    words.extend(more);
    let report =
        support::run_well(&compiled, &support::library_dir(), 20 * support::scale(), &words);
    println!("{program}: {report}");
    report
}
