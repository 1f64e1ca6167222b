//! Eight workers at one key get the answers that one alone would get, and exactly the limit.

use super::{passes, program, support};
use support::Mode;

fn is_exact(mode: &str) {
    let directory = support::fresh_directory();
    is_exact_on(mode, directory.path().join("limits.db").to_str().unwrap());
}

/// A worker's hits take longer than its turn on the processor, so that they come in each other's way.
fn is_exact_on(mode: &str, store: &str) {
    let is_in_table = support::mode() == Mode::Interval && store != ":memory:";
    let hits = if is_in_table && !mode.starts_with("reopening") { "50000" } else { "2000" };
    passes(&program("exactness", &[]), 110, &[mode, store, hits]);
}

#[test]
fn eight_processes_grant_exactly_the_limit() {
    is_exact("processes");
}

#[test]
fn eight_processes_on_a_disk_grant_exactly_the_limit() {
    let directory = support::fresh_directory_on_disk();
    is_exact_on("processes", directory.path().join("limits.db").to_str().unwrap());
}

#[test]
fn eight_threads_on_one_handle_grant_exactly_the_limit() {
    is_exact("threads");
}

#[test]
fn eight_threads_on_one_handle_in_memory_grant_exactly_the_limit() {
    is_exact_on("threads", ":memory:");
}

#[test]
fn eight_handles_of_one_process_grant_exactly_the_limit() {
    is_exact("handles");
}

#[test]
fn processes_that_reopen_around_every_hit_grant_exactly_the_limit() {
    is_exact("reopening");
}

#[test]
fn threads_that_reopen_around_every_hit_grant_exactly_the_limit() {
    is_exact("reopening-threads");
}

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
