//! Python's ways to make processes, and gunicorn's, from a parent whose thread is hitting.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Mode, Report};

#[test]
fn multiprocessing_is_exact_by_fork_spawn_and_forkserver() {
    for method in ["fork", "spawn", "forkserver"] {
        python_is_exact(method);
    }
}

#[test]
fn a_process_pool_is_exact() {
    python_is_exact("pool");
}

#[test]
fn subprocess_and_posix_spawn_are_exact() {
    for way in ["subprocess", "posix_spawn", "preexec_fn"] {
        python_is_exact(way);
    }
}

#[test]
fn gunicorn_with_preload_and_a_busy_master_is_exact() {
    let requests = 300 * support::scale();
    let directory = support::fresh_directory();
    let words =
        [in_tests("fork/gunicorn_host.py"), directory.path().into(), requests.to_string().into()];
    let report = support::run_well(&gunicorns_python(), &support::library_dir(), 300, &words);
    println!("gunicorn: {report}");
    assert_eq!(report.number("served"), i64::from(requests), "{report}");
    assert_eq!(report.number("timeouts"), 0, "{report}");
    assert_eq!(report.number("errors"), 0, "{report}");
    assert!(report.number("workers") > 10, "none was replaced: {report}");
    let (answered, stored) =
        (report.number("answered"), stored(&directory.path().join("store.db")));
    // The master ends amid its thread's hit.
    assert!((answered..=answered + 1).contains(&stored), "stored {stored}: {report}");
}

fn python_is_exact(way: &str) {
    for _ in 0..support::scale() {
        let directory = support::fresh_directory();
        let store = directory.path().join("store.db");
        let words = [in_tests("fork/hosts.py"), store.clone(), way.into()];
        let python = Path::new("python3");
        let report = support::run_well(python, &support::library_dir(), 120, &words);
        println!("{way}: {report}");
        assert_eq!(report.number("acknowledged"), stored(&store), "{way}: {report}");
    }
}

fn in_tests(file: &str) -> PathBuf {
    support::root().join("tests").join(file)
}

fn stored(store: &Path) -> i64 {
    if support::mode() == Mode::Interval {
        support::write_out(store);
    }
    support::connect(store)
        .and_then(|user| {
            user.query_one("SELECT sum(attempts) FROM rate_limit_windows", [], |row| row.get(0))
        })
        .unwrap()
}

/// Python in an environment of its own that has gunicorn.
fn gunicorns_python() -> PathBuf {
    let home = support::target().join("gunicorn");
    let python = home.join("bin/python");
    if !home.join("bin/gunicorn").exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&home));
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "gunicorn"]));
    }
    python
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("python3: apt-get install python3-venv");
    assert!(output.status.success(), "{command:?}: {}", Report::of(&output));
}
