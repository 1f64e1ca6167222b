//! Eight workers at one key of a server get the answers that one alone would get, and exactly the limit.

use super::server::Server;
use super::support;

fn is_exact(mode: &str) {
    let server = Server::start();
    let program = support::compile("c/exactness.c", &["-Wpedantic"]);
    let arguments = [mode, &server.url(), "2000"];
    let report = support::run_well(&program, &support::library_dir(), 110, &arguments);
    assert_eq!(report.text, "", "something was printed");
}

#[test]
fn eight_processes_grant_exactly_the_limit() {
    is_exact("processes");
}

#[test]
fn eight_threads_on_one_handle_grant_exactly_the_limit() {
    is_exact("threads");
}

#[test]
fn processes_that_reopen_around_every_hit_grant_exactly_the_limit() {
    is_exact("reopening");
}

/// A connection for each hit.
#[test]
fn processes_that_close_the_store_after_every_hit_grant_exactly_the_limit() {
    is_exact("reopening-closed");
}

#[test]
fn eight_processes_spend_two_limits_together_or_not_at_all() {
    is_exact("two-limits");
}

#[test]
fn hits_of_different_costs_spend_exactly_the_limit() {
    is_exact("costs");
}

/// Processes in C, Python and PHP at once.
#[test]
fn the_languages_share_one_server_exactly() {
    let server = Server::start();
    let script = support::root().join("tests/three_languages/run");
    let mut command = support::command(script, &support::library_dir(), 110);
    let output = command.arg(server.url()).output().unwrap();
    let report = support::Report::of(&output);
    assert!(report.succeeded, "{report}");
}
