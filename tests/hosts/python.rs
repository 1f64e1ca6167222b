//! The end of a Python interpreter.

use std::path::Path;

use crate::support;

#[test]
fn a_python_that_ends_with_a_live_limiter_says_nothing() {
    let script = support::root().join("tests/hosts/teardown.py");
    for manner in ["leaves", "closes", "at_exit", "cycle", "threads", "raises"] {
        let rounds = if manner == "threads" { 5 * support::scale() } else { 1 };
        for _ in 0..rounds {
            let directory = support::fresh_directory();
            let store = directory.path().join("store.db");
            let mut command = support::command(Path::new("python3"), &support::library_dir(), 30);
            command.env("PYTHONPATH", support::root().join("tests/fork"));
            // Else a crash in a native thread would be just an exit code.
            command.arg("-X").arg("faulthandler").arg("-W").arg("error");
            let output = command.arg(&script).arg(&store).arg(manner).output().unwrap();
            let report = support::Report::of(&output);
            assert!(report.succeeded, "{manner}: {report}");
            assert_eq!(report.text, "", "{manner}");
            assert!(store.exists(), "{manner} did nothing");
        }
    }
}
