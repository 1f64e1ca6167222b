//! Signals that our own writes raise, and the thread's signal mask.

use crate::support::{self, Mode};

#[test]
fn a_write_past_the_file_size_limit_is_an_error_and_kills_nobody() {
    file_size("default");
}

#[test]
fn a_hosts_handler_does_not_hear_of_the_librarys_writes() {
    file_size("handled");
}

#[test]
fn a_signal_that_was_pending_before_stays_pending() {
    file_size("pending");
}

#[test]
fn a_limit_at_any_byte_of_a_frame_loses_no_hit_that_was_acknowledged() {
    let stride = if support::scale() == 1 { "32" } else { "1" };
    file_size_of("frame", stride);
}

#[test]
fn every_call_gives_the_signal_mask_back() {
    let program = support::compile("locks/signal_mask.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let report = support::run_well(&program, &support::library_dir(), 60, &[directory.path()]);
    assert_eq!(report.word("mask"), "kept");
}

fn file_size(disposition: &str) {
    for call in ["hit", "open", "open-again"] {
        file_size_of(call, disposition);
    }
    if support::mode() != Mode::Rows {
        for call in ["live", "open-table"] {
            file_size_of(call, disposition);
        }
    }
}

fn file_size_of(call: &str, how: &str) {
    let program = support::compile("locks/file_size.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), call, how];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("failed"), 0, "{call}: {report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{call}: {report}");
}
