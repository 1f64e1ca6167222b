//! A small disk that is full: each allowance is in the file, or goes there when there is room again;
//! the rest is told, and room is all that it takes.

use std::process::Output;

use crate::support::{self, Mode, Report};

#[test]
fn a_disk_that_fills_up_under_a_limiter_never_allows_what_it_cannot_store() {
    is_exact_on_a_full_disk("opened", "hit");
}

#[test]
fn a_store_on_a_full_disk_is_created_when_there_is_room_again() {
    is_exact_on_a_full_disk("new", "hit");
}

#[test]
fn a_store_on_a_full_disk_is_opened_when_there_is_room_again() {
    is_exact_on_a_full_disk("closed", "hit");
}

#[test]
fn the_hits_of_live_keys_go_on_while_a_disk_is_full_and_the_lag_tells_why() {
    // In rows there is nothing that could go on.
    if support::mode() != Mode::Rows {
        is_exact_on_a_full_disk("opened", "interval");
    }
}

fn is_exact_on_a_full_disk(how: &str, durability: &str) {
    let report = Report::of(&on_small_disk(how, durability));
    println!("{how}, {durability}: {report}");
    assert!(report.succeeded, "{how}: {report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{how}: {report}");
}

fn on_small_disk(how: &str, durability: &str) -> Output {
    let program = support::compile("faults/disk_full.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let script = "mount -t tmpfs -o size=768k none \"$1\"; exec \"$2\" \"$1\" \"$3\" \"$4\"";
    support::mounting("a disk of 768 KiB", script, 60)
        .args([directory.path(), &program, how.as_ref(), durability.as_ref()])
        .output()
        .unwrap()
}
