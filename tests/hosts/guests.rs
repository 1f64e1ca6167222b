//! Hosts that are small, crowded, interrupted, or elsewhere.

use std::path::Path;

use crate::support::{self, Mode, Report};

fn run(name: &str, flags: &[&str], words: &[&str]) -> Report {
    let program = support::compile(format!("hosts/{name}.c"), &[&["-lsqlite3"], flags].concat());
    let directory = support::fresh_directory();
    let place = directory.path().to_str().unwrap();
    let words: Vec<_> = words.iter().map(|word| word.replace('@', place)).collect();
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    println!("{name}: {report}");
    report
}

fn is_exact(report: &Report) {
    assert_eq!(report.number("failed"), 0, "{report}");
    assert_eq!(report.number("stored"), report.number("acknowledged"), "{report}");
    assert!(report.number("stored") > 0, "{report}");
}

#[test]
fn a_thread_with_a_stack_of_64_kib_is_enough_for_every_call() {
    assert_eq!(run("small_stack", &[], &["@"]).number("stack"), 64 << 10);
}

#[test]
fn a_thread_that_is_cancelled_in_a_hit_ends_it_first() {
    let report = run("cancel", &[], &["@/store.db", "200"]);
    assert_eq!(report.number("stored"), report.number("answered"), "{report}");
}

#[test]
fn a_host_that_goes_to_another_directory_keeps_its_store() {
    let report = run("chdir", &[], &["@"]);
    is_exact(&report);
    assert_eq!(report.number("elsewhere"), report.number("wanted_elsewhere"), "{report}");
}

#[test]
fn a_thousand_signals_a_second_that_interrupt_every_system_call_fail_and_lose_nothing() {
    let milliseconds = (1_500 * support::scale()).to_string();
    let report = run("signal_storm", &[], &["@/store.db", "3", &milliseconds]);
    is_exact(&report);
    assert_eq!(report.number("hung"), 0, "{report}");
    assert!(report.number("signals") > 300, "no storm: {report}");
}

#[test]
fn an_open_without_descriptors_says_so_and_succeeds_when_there_are_some() {
    let report = run("few_descriptors", &[], &["@", "opens"]);
    assert!(report.number("refused") >= 3, "{report}");
}

#[test]
fn a_hit_after_a_fork_without_descriptors_says_so_and_succeeds_when_there_are_some() {
    let report = run("few_descriptors", &[], &["@", "hits_after_fork"]);
    is_exact(&report);
    assert!(report.number("refused") >= 3, "{report}");
}

#[test]
fn a_hit_of_a_live_key_after_a_fork_needs_no_descriptors() {
    let report = run("few_descriptors", &[], &["@", "live_after_fork"]);
    is_exact(&report);
    assert!(report.number("refused") == 0 || support::mode() == Mode::Rows, "{report}");
}

#[test]
fn a_first_hit_without_descriptors_says_so_and_succeeds_when_there_are_some() {
    let report = run("few_descriptors", &[], &["@", "first_hit"]);
    is_exact(&report);
}

#[test]
fn a_store_that_has_counted_a_hit_needs_no_more_descriptors() {
    let report = run("few_descriptors", &[], &["@", "hits"]);
    is_exact(&report);
    assert_eq!(report.number("refused"), 0, "{report}");
}

#[test]
fn a_library_that_is_unloaded_under_limiters_and_threads_goes_on() {
    let directory = support::fresh_directory();
    // Not the one that the program is linked to: that one stays loaded anyhow.
    let library = directory.path().join("copy.so");
    std::fs::copy(support::library_dir().join("libratelite.so"), &library).unwrap();
    let library = library.to_str().unwrap();
    let report = run("unload", &["-ldl"], &[library, "@/store.db", "20"]);
    assert_eq!(report.number("stored"), 3 * 20, "{report}");
    let documented = if support::mode() == Mode::Rows { 5 } else { 6 };
    assert!(report.number("descriptors") <= documented, "{report}");
}

/// The C library at hand keeps it for its thread-local values alone; others would not.
#[test]
fn the_library_is_marked_to_stay_loaded() {
    let library = support::library_dir().join("libratelite.so");
    let words = ["--wide", "--dynamic", library.to_str().unwrap()];
    let section = support::run_well(Path::new("readelf"), Path::new("/nonexistent"), 10, &words);
    let flags = section.text.lines().find(|line| line.contains("(FLAGS_1)"));
    assert!(flags.is_some_and(|flags| flags.contains("NODELETE")), "{flags:?}");
}

#[test]
fn another_allocator_under_the_host_is_none_of_our_business() {
    let program = support::compile("hosts/allocator.c", &["-lsqlite3", "-ldl"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let rounds = (30 * support::scale()).to_string();
    let mut command = support::command(&program, &support::library_dir(), 120);
    command.env("LD_PRELOAD", jemalloc()).arg(store).arg(rounds);
    let report = Report::of(&command.output().unwrap());
    assert!(report.succeeded, "{report}");
    println!("jemalloc: {report}");
    is_exact(&report);
    assert_eq!(report.number("hung"), 0, "{report}");
}

fn jemalloc() -> String {
    let listing = support::run_well(
        Path::new("/sbin/ldconfig"),
        Path::new("/nonexistent"),
        10,
        &["--print-cache"],
    );
    let lines = listing.text.lines().filter(|line| line.contains("libjemalloc.so.2 "));
    let path = lines.filter_map(|line| line.split(" => ").nth(1)).next();
    path.expect("another allocator: apt-get install libjemalloc2").to_owned()
}

#[test]
fn what_is_written_is_sent_to_the_disk_ten_times_a_second() {
    for durability in ["hit", "interval"] {
        let report = run("sent", &["-Wl,--export-dynamic"], &["@/store.db", durability]);
        let (sent, tenths) = (report.number("sent"), report.number("tenths"));
        // A processor that is late makes it less often, never more.
        assert!(sent >= 3 && sent <= tenths * 5 / 4 + 2, "{durability}: {report}");
    }
}
