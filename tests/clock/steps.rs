//! Steps of a second, an hour, ten years between hits.

use crate::support::{self, Report};

fn step(prunes: &str, seed: u32) -> Report {
    let program = support::compile("clock/steps.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let steps = (300 * support::scale()).to_string();
    let words = [store.to_str().unwrap(), &seed.to_string(), &steps, prunes];
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    println!("{prunes}, seed {seed}: {report}");
    assert!(report.number("windows") > 100, "{report}");
    assert!(report.number("readings") >= report.number("hits"), "another clock: {report}");
    report
}

#[test]
fn no_step_of_the_clock_denies_longer_than_a_window_or_grants_one_twice() {
    for seed in 1..=3 {
        assert_eq!(step("keeps", seed).number("second_budgets"), 0);
    }
}

#[test]
fn with_pruning_only_windows_that_were_past_by_the_clock_are_granted_again() {
    let again: i64 = (1..=3).map(|seed| step("prunes", seed).number("second_budgets")).sum();
    // Else the clock never came back to a pruned window, and this test would not see one.
    assert!(again > 0);
}
