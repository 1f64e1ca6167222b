//! A disk of 512 KiB that is full: each allowance is in the file, the rest is told, and room is
//! all that it takes.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};

use crate::support::{self, Report};

const RECIPE: &str = "these tests mount a disk of 512 KiB: run them as root, or allow namespaces \
                      with: sudo sysctl kernel.unprivileged_userns_clone=1 \
                      kernel.apparmor_restrict_unprivileged_userns=0";

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

/// In a namespace of its own, so that the disk goes with the process.
fn on_small_disk(how: &str) -> Output {
    let program = support::compile("faults/disk_full.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let namespace = if is_root { "-m" } else { "-Urm" };
    let may_mount = Command::new("unshare").args([namespace, "true"]).status();
    assert!(may_mount.is_ok_and(|status| status.success()), "{RECIPE}");
    support::command("unshare", &support::library_dir(), 60)
        .arg(namespace)
        .args([
            "sh",
            "-ec",
            "mount -t tmpfs -o size=512k none \"$1\"; exec \"$2\" \"$1\" \"$3\"",
            "sh",
        ])
        .args([directory.path(), &program, how.as_ref()])
        .output()
        .unwrap()
}
