//! Processes that are stopped and continued while they take turns.

use crate::support;

#[test]
fn processes_stopped_at_any_moment_and_continued_are_each_told_another_count() {
    let program = support::compile("turns/stopped.c", &["-lsqlite3"]);
    for seed in 1..=2 * support::scale() {
        let directory = support::fresh_directory();
        let store = directory.path().join("store.db");
        let words = [store.to_str().unwrap(), &seed.to_string(), "60"];
        let report = support::run_well(&program, &support::library_dir(), 60, &words);
        println!("seed {seed}: {report}");
        assert_eq!(report.number("granted"), 1_000, "{report}");
        assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
        assert_eq!(report.number("hung"), 0, "{report}");
    }
}
