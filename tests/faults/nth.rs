//! The 1st, the 2nd, the 3rd … system call of a kind fails, once or from then on, until nothing
//! fails any more. At each: no allowance that is not in the file, nothing in the file that was not
//! allowed, a code that fits, nobody dies, and when the fault is gone the next hit is answered. The
//! file is looked at before that, or, where hits are written at an interval, after it.

use std::process::Command;
use std::sync::OnceLock;

use crate::support::{self, Mode, Report};

/// Codes of `ratelite.h`; "" where the library must get over the fault by itself.
const FULL: &str = "-5";
const IO: &str = "-6";
const NO_MEMORY: &str = "-12";
const NONE: &str = "";

/// Kind of call, what becomes of it, whether once or from then on, and the codes that fit.
const FAULTS: [(&str, &str, &[&str], &str); 37] = [
    ("read", "EIO", BOTH, IO),
    ("read", "EINTR", ONCE, NONE),
    ("read", "short", ONCE, NONE),
    ("write", "EIO", BOTH, IO),
    ("write", "ENOSPC", BOTH, FULL),
    ("write", "EDQUOT", BOTH, FULL),
    ("write", "EINTR", ONCE, NONE),
    ("write", "short", ONCE, "-5,-6"),
    ("sync", "EIO", BOTH, IO),
    ("truncate", "EIO", BOTH, IO),
    ("truncate", "EINTR", ONCE, NONE),
    ("open", "EIO", AND_ON, IO),
    ("open", "EINTR", ONCE, NONE),
    ("open", "EMFILE", AND_ON, "-11"),
    ("open", "EACCES", AND_ON, "-7"),
    ("open", "ENOSPC", AND_ON, FULL),
    ("open", "ENOMEM", AND_ON, NO_MEMORY),
    // SQLite tries again to open it for reading only, so the reason is lost.
    ("open", "EIO", ONCE, "-6,-7"),
    ("open", "EMFILE", ONCE, "-11,-6,-7"),
    ("map", "ENOMEM", BOTH, NO_MEMORY),
    ("map", "EACCES", BOTH, "-7"),
    ("allocate", "EIO", BOTH, IO),
    ("allocate", "ENOSPC", BOTH, FULL),
    ("allocate", "EINTR", ONCE, NONE),
    ("random", "ENOSYS", BOTH, IO),
    ("random", "EINTR", ONCE, NONE),
    ("lock", "EIO", BOTH, "-6,-4"),
    ("lock", "EAGAIN", BOTH, "-4,-6"),
    ("lock", "ENOLCK", BOTH, "-4,-6"),
    ("lock", "EINTR", ONCE, "-4,-6"),
    ("stat", "EIO", BOTH, IO),
    ("link", "EIO", BOTH, IO),
    ("link", "ENOSPC", BOTH, FULL),
    ("unlink", "EIO", BOTH, IO),
    ("rename", "EIO", BOTH, IO),
    ("flock", "EIO", BOTH, IO),
    ("memory", "ENOMEM", BOTH, NO_MEMORY),
];

const ONCE: &[&str] = &["once"];
const AND_ON: &[&str] = &["persistent"];
const BOTH: &[&str] = &["once", "persistent"];

/// Each of these kinds stands at a step that can be cut off.
const DEADLY: [&str; 12] = [
    "write", "sync", "truncate", "open", "map", "allocate", "lock", "unlock", "link", "unlink",
    "rename", "flock",
];

/// When a hit is in the file. A store without a table knows the first only.
const EACH: &str = "hit";
const AT_INTERVAL: &str = "interval";

#[test]
fn a_store_is_created_in_spite_of_any_fault() {
    let mut must_meet =
        vec!["read", "write", "sync", "open", "map", "lock", "stat", "link", "random", "memory"];
    if support::mode() != Mode::Rows {
        must_meet.push("allocate");
    }
    survives("creates", &must_meet);
}

#[test]
fn a_store_is_opened_in_spite_of_any_fault() {
    survives("opens", &["read", "write", "open", "map", "lock", "stat", "memory"]);
}

#[test]
fn a_store_that_a_dead_process_left_is_opened_in_spite_of_any_fault() {
    survives("recovers", &["read", "write", "open", "map", "lock", "stat", "memory"]);
}

#[test]
fn hits_survive_any_fault() {
    survives("hits", &["write", "lock"]);
}

#[test]
fn hits_that_are_written_at_an_interval_do_not_notice_any_fault() {
    let failed = survives_at("hits", AT_INTERVAL, &["write", "lock"]);
    assert!(failed == 0 || support::mode() == Mode::Rows, "{failed} hits failed");
}

#[test]
fn hits_that_move_the_log_survive_any_fault() {
    survives("checkpoints", &["read", "write", "sync", "lock"]);
}

#[test]
fn the_last_close_survives_any_fault() {
    survives("closes", &["read", "write", "sync", "lock", "unlink"]);
}

#[test]
fn the_last_close_that_has_something_to_write_survives_any_fault() {
    survives_at("closes", AT_INTERVAL, &["read", "write", "sync", "lock", "unlink"]);
}

#[test]
fn every_other_call_survives_any_fault() {
    survives("asks", &["write", "lock", "memory"]);
}

#[test]
fn every_other_call_at_an_interval_survives_any_fault() {
    survives_at("asks", AT_INTERVAL, &["write", "lock", "memory"]);
}

#[test]
fn hits_in_parent_and_child_after_a_fork_survive_any_fault() {
    survives("forks", &["read", "write", "open", "map", "lock", "stat", "memory"]);
}

#[test]
fn hits_at_an_interval_in_parent_and_child_after_a_fork_survive_any_fault() {
    survives_at("forks", AT_INTERVAL, &["read", "write", "open", "map", "lock", "memory"]);
}

#[test]
fn a_damaged_store_is_set_aside_in_spite_of_any_fault() {
    survives("sets-aside", &["read", "write", "open", "lock", "stat", "rename", "link"]);
}

#[test]
fn no_fault_makes_a_good_store_look_damaged() {
    survives("trusts", &["read", "write", "open", "map", "lock", "stat"]);
}

#[test]
fn a_process_killed_at_any_call_holds_nobody_up_and_loses_nothing() {
    let mut points = 0;
    for action in ["creates", "opens", "recovers", "hits", "checkpoints", "closes", "forks"] {
        points += dies_in(action, EACH);
    }
    println!("killed at {points} calls");
    assert!(points > 300, "only {points} calls were met");
}

#[test]
fn a_process_killed_at_any_call_leaves_what_was_not_written_yet() {
    let mut points = 0;
    for action in ["creates", "recovers", "hits", "closes", "forks"] {
        points += dies_in(action, AT_INTERVAL);
    }
    println!("killed at {points} calls");
    assert!(points > 200, "only {points} calls were met");
}

#[test]
fn writes_that_are_interrupted_or_cut_short_leave_each_hit_in_the_log() {
    let report = is_all_in_the_log("faults/cut_short.c", 50);
    assert!(report.number("interrupted") > 10 && report.number("cut") > 10, "{report}");
}

#[test]
fn hits_after_a_transaction_that_rewrites_frames_of_the_log_are_read_back() {
    let report = is_all_in_the_log("faults/rewritten.c", 40);
    // A header that waited for its page here would go with the next one, so an odd last one is lost.
    assert_eq!(report.number("rewritten") % 2, 1, "choose another number of rows: {report}");
}

/// What is left in the log by processes that were killed after so many hits.
fn is_all_in_the_log(program: &str, hits: i64) -> Report {
    let compiled = support::compile(program, &["-lsqlite3", "-ldl"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let words = [store.to_str().unwrap(), &hits.to_string()];
    let report = support::run_well(&compiled, &support::library_dir(), 60, &words);
    println!("{program}: {report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("acknowledged"), hits, "{report}");
    assert_eq!(report.number("stored"), hits, "{report}");
    report
}

fn survives(action: &str, must_meet: &[&str]) {
    survives_at(action, EACH, must_meet);
}

/// Returns how many calls failed. `must_meet`: the kinds of call that this action cannot do without.
fn survives_at(action: &str, durability: &str, must_meet: &[&str]) -> i64 {
    let mut complaints = Vec::new();
    let (mut all, mut failed) = (0, 0);
    for (kind, effect, manners, codes) in FAULTS {
        for manner in manners {
            let report = try_to_meet(action, durability, kind, effect, manner, codes);
            if !report.succeeded {
                complaints.push(format!("{action}, {kind} {effect} {manner}: {report}"));
                continue;
            }
            let points = report.number("points");
            if points == 0 && must_meet.contains(&kind) {
                complaints.push(format!("{action}, {kind} {effect} {manner}: was never met"));
            }
            all += points;
            failed += report.number("failed");
        }
    }
    println!("{action}, {durability}: {all} faults, {failed} failed calls");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    failed
}

/// At how many calls of an action a process was killed.
fn dies_in(action: &str, durability: &str) -> i64 {
    let mut points = 0;
    for kind in DEADLY {
        for effect in ["dies-before", "dies-after"] {
            let report = try_to_meet(action, durability, kind, effect, "once", NONE);
            assert!(report.succeeded, "{action}, {durability}, {kind} {effect}: {report}");
            points += report.number("points");
        }
    }
    points
}

fn try_to_meet(
    action: &str,
    durability: &str,
    kind: &str,
    effect: &str,
    manner: &str,
    codes: &str,
) -> Report {
    let program = support::compile("faults/nth.c", &["-lsqlite3", "-ldl"]);
    let directory = support::fresh_directory();
    // By how many hundredths the number of the call grows from one fault to the next, besides one.
    let stride = match (kind, action) {
        _ if support::scale() > 1 => "0",
        // SQLite asks for memory thousands of times in one opening.
        ("memory", _) => "12",
        // And these write for long, the same again and again.
        (_, "hits") => "5",
        (_, "checkpoints") => "10",
        _ => "0",
    };
    static ALLOCATORS: OnceLock<(String, String)> = OnceLock::new();
    let (malloc, realloc) = ALLOCATORS.get_or_init(allocators);
    let words = [
        directory.path().to_str().unwrap(),
        action,
        durability,
        kind,
        effect,
        manner,
        codes,
        stride,
        malloc,
        realloc,
    ];
    support::run(&program, &support::library_dir(), 120 * support::scale(), &words)
}

/// Where SQLite's allocation functions are in the library, as `nm` tells.
fn allocators() -> (String, String) {
    let library = support::library_dir().join("libratelite.so");
    let output = Command::new("nm").arg(library).output().expect("nm: apt-get install binutils");
    let symbols = String::from_utf8(output.stdout).unwrap();
    let address = |name: &str| {
        let line = symbols.lines().find(|line| line.ends_with(&format!(" t {name}")));
        line.unwrap_or_else(|| panic!("the library has no {name}"))[..16].to_owned()
    };
    (address("sqlite3MemMalloc"), address("sqlite3MemRealloc"))
}
