//! Every way to fork, open, close and end.

use std::fs;
use std::path::Path;

use crate::support::{self, Report};

const RL_EFORK: i64 = -10;
const RUNS: u32 = 3;

type Cell = [&'static str; 5];

#[test]
fn every_way_to_fork_keeps_exact_counts() {
    let library = support::library_dir();
    assert_eq!(cells().len(), 56);
    for _ in 0..RUNS * support::scale() {
        for cell in cells() {
            let report = run(&library, cell);
            assert!(is_exact(&report, cell), "{cell:?}: {report}");
        }
    }
}

#[test]
fn posix_locks_are_exact_over_forks_too() {
    let library = support::library_without("posix-locks");
    for cell in cells() {
        let report = run(&library, cell);
        assert!(is_exact(&report, cell), "{cell:?}: {report}");
    }
}

#[test]
fn without_fork_handlers_a_forked_child_is_refused() {
    let library = support::library_without("no-fork-handlers");
    // A daemon is the only one that would make the second store.
    let idle = |cell: &Cell| cell[2] == "0" && (cell[0] == "before" || cell[4] != "daemon");
    for cell in cells().into_iter().filter(idle) {
        let report = run(&library, cell);
        assert!(!is_exact(&report, cell), "the matrix cannot fail: {cell:?}: {report}");
        let told = report.number("last_code") == RL_EFORK || report.text.contains("= -10 in");
        assert!(told, "{cell:?}: {report}");
        assert_eq!(report.number("hung"), 0, "{cell:?}: {report}");
    }
}

#[test]
fn a_child_that_opens_the_store_by_a_second_name_keeps_its_locks() {
    let program = support::compile("fork/two_names.c", &["-lsqlite3", "-ldl"]);
    let directory = support::fresh_directory();
    for name in ["one", "two"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let script = "cd \"$1\"; mount --bind one two; exec \"$2\" one/store.db two/store.db";
    let output = support::mounting("a directory that is mounted twice", script, 60)
        .args([directory.path(), &program])
        .output()
        .unwrap();
    let report = Report::of(&output);
    println!("two names: {report}");
    assert!(report.succeeded, "{report}");
    assert_eq!(report.number("unguarded"), 0, "{report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for opened in ["before", "after"] {
        for busy in ["0", "3"] {
            for handle in ["inherited", "own"] {
                for generation in ["child", "grandchild"] {
                    for parent in ["closes", "exits", "goes_on"] {
                        cells.push([opened, parent, busy, handle, generation]);
                    }
                }
                cells.push([opened, "ends", busy, handle, "daemon"]);
            }
        }
    }
    cells
}

fn run(library: &Path, cell: Cell) -> Report {
    let program = support::compile("fork/matrix.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let mut words = vec![directory.path().to_str().unwrap()];
    words.extend(cell);
    support::run_well(&program, library, 100, &words)
}

/// Where a process ends amid the hits of its threads, those were perhaps stored and not answered.
fn is_exact(report: &Report, cell: Cell) -> bool {
    let in_flight = if ["exits", "ends"].contains(&cell[1]) { cell[2].parse().unwrap() } else { 0 };
    let within = |prefix: &str, in_flight: i64| {
        let number = |name: &str| report.number(&format!("{prefix}{name}"));
        let (answered, stored) = (number("acknowledged"), number("stored"));
        answered <= stored
            && stored <= number("started")
            && number("started") - answered <= in_flight
    };
    report.number("failed") == 0
        && report.number("hung") == 0
        && within("", in_flight)
        && within("neighbour_", in_flight)
}
