//! A disk of 512 KiB that is full: each allowance is in the file, the rest is told, and room is
//! all that it takes.

use std::process::Output;

use crate::support::{self, Report};

#[test]
fn a_disk_that_fills_up_under_a_limiter_never_allows_what_it_cannot_store() {
    is_exact_on_a_full_disk("opened");
}

#[test]
fn a_store_on_a_full_disk_is_created_when_there_is_room_again() {
    is_exact_on_a_full_disk("new");
}

#[test]
fn a_store_on_a_full_disk_is_opened_when_there_is_room_again() {
    is_exact_on_a_full_disk("closed");
}

fn is_exact_on_a_full_disk(how: &str) {
    let report = Report::of(&on_small_disk(how));
    println!("{how}: {report}");
    assert!(report.succeeded, "{how}: {report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{how}: {report}");
}

fn on_small_disk(how: &str) -> Output {
    let program = support::compile("faults/disk_full.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let script = "mount -t tmpfs -o size=512k none \"$1\"; exec \"$2\" \"$1\" \"$3\"";
    support::mounting("a disk of 512 KiB", script, 60)
        .args([directory.path(), &program, how.as_ref()])
        .output()
        .unwrap()
}
