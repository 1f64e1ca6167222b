//! Hosts in C: forks, SIGPIPE, descriptors.

use std::path::PathBuf;

use super::server::Server;
use super::support::{self, Report};

fn program(source: &str, flags: &[&str]) -> PathBuf {
    let beside = format!("-I{}", support::root().join("tests/c").display());
    support::compile(source, &[&[beside.as_str()], flags].concat())
}

fn run(flags: &[&str], mode: &str, store: &str) -> Report {
    support::run(&program("redis/host.c", flags), &support::library_dir(), 60, &[mode, store])
}

pub fn runs_well(mode: &str, store: &str) -> Report {
    let report = run(&[], mode, store);
    assert!(report.succeeded, "{mode}: {report}");
    report
}

#[test]
fn a_write_to_a_closed_connection_raises_no_sigpipe() {
    let report = runs_well("pipes", "");
    println!("{report}");
    assert!(report.number("broken") > 0, "no write failed by EPIPE: {report}");
}

/// The test above notices a library that writes without MSG_NOSIGNAL.
#[test]
fn a_library_that_writes_without_protection_is_ended_by_sigpipe() {
    let report = run(&["-DWITHOUT_NOSIGNAL", "-rdynamic"], "pipes", "");
    assert!(!report.succeeded, "{report}");
}

/// A child takes its parent's limiter, but never its connections, and leaves those as they are.
#[test]
fn parent_threads_and_children_share_a_limiter_and_no_connection() {
    let server = Server::start();
    forks_well(&server, &server.url());
}

pub fn forks_well(server: &Server, store: &str) {
    let before: String = server.ask(&["INFO", "stats"]);
    let report = runs_well("fork", store);
    println!("{report}");
    let after: String = server.ask(&["INFO", "stats"]);
    // One for each thread of the parent, one for each child, and those of `ask`.
    let made = connections(&after) - connections(&before);
    let most = report.number("threads") + 1 + report.number("forks") + 1;
    assert!(made <= most, "{made} connections instead of {most}: {report}");
}

fn connections(stats: &str) -> i64 {
    let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn descriptors_that_a_daemon_closed_are_left_to_it() {
    runs_well("daemon", &Server::start().url());
}

#[test]
fn a_stack_of_64_kib_is_enough() {
    runs_well("stack", &Server::start().url());
}

#[test]
fn without_a_descriptor_it_is_told_and_recovers() {
    runs_well("few", &Server::start().url());
}

#[test]
fn handlers_that_fork_in_the_midst_of_a_remembered_denial_harm_nobody() {
    floods_well("redis/remembered.c");
}

#[test]
fn handlers_that_stop_a_thread_in_the_midst_of_a_remembered_denial_hold_nobody_up() {
    floods_well("redis/stopped.c");
}

fn floods_well(source: &str) {
    let (program, server) = (program(source, &[]), Server::start());
    let report = support::run(&program, &support::library_dir(), 60, &[&server.url()]);
    println!("{report}");
    assert!(report.succeeded, "{report}");
}
