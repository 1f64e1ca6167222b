//! The write-ahead log under writers that never pause.

use tempfile::TempDir;

use crate::support::{self, Report};

const MOST_KIB: i64 = 32 << 10;

fn write_for(seconds: u32, reader_seconds: u32, directory: TempDir) -> Report {
    let program = support::compile("growth/log.c", &["-lsqlite3"]);
    let store = directory.path().join("store.db");
    let milliseconds = |seconds: u32| (seconds * 1_000).to_string();
    let words =
        [store.to_str().unwrap(), "8", &milliseconds(seconds), &milliseconds(reader_seconds)];
    let report = support::run_well(&program, &support::library_dir(), 120, &words);
    println!("8 writers, {seconds} s, a reader for {reader_seconds} s: {report}");
    assert_eq!(report.number("failed"), 0, "{report}");
    report
}

fn stays_short(directory: TempDir) {
    let report = write_for(3 * support::scale(), 0, directory);
    // Else this many hits would not fill such a log, and nothing would be shown.
    assert!(report.number("acknowledged") > MOST_KIB, "too few hits: {report}");
    assert!(report.number("most_kib") < MOST_KIB, "{report}");
}

#[test]
fn eight_writers_without_a_pause_keep_the_log_under_32_mib() {
    stays_short(support::fresh_directory());
}

#[test]
fn eight_writers_on_a_disk_keep_the_log_under_32_mib() {
    stays_short(support::fresh_directory_on_disk());
}

#[test]
fn a_log_that_grew_under_a_long_reader_is_short_again_when_it_has_gone() {
    // Three seconds can be over half a gigabyte of log.
    let report =
        write_for(1, if support::scale() == 1 { 1 } else { 3 }, support::fresh_directory());
    assert!(report.number("with_reader_kib") > MOST_KIB, "it never grew: {report}");
    assert!(report.number("most_kib") < MOST_KIB, "{report}");
    assert!(report.number("wait_ms") < 5_000, "{report}");
}
