//! Refusing the host's own database leaves the host its locks on it.

use crate::support;

const SQLITE_OK: i64 = 0;
const SQLITE_BUSY: i64 = 5;

#[test]
fn a_thousand_refusals_leave_the_host_its_write_transaction() {
    for mode in ["DELETE", "WAL"] {
        let report = refuse(mode, "ratelite");
        assert_eq!(report.number("during"), SQLITE_BUSY, "{mode}: {report}");
        assert_eq!(report.number("commit"), SQLITE_OK, "{mode}: {report}");
        assert!(report.number("descriptors") <= 1, "{mode}: {report}");
    }
}

#[test]
fn a_plain_close_would_have_dropped_the_hosts_locks() {
    let report = refuse("DELETE", "close");
    assert_eq!(report.number("during"), SQLITE_OK, "this test cannot fail: {report}");
}

fn refuse(mode: &str, by: &str) -> support::Report {
    let program = support::compile("locks/refusals.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let database = directory.path().join("host.db");
    support::connect(&database)
        .and_then(|host| {
            host.execute_batch(&format!("PRAGMA journal_mode = {mode}; CREATE TABLE notes (n)"))
        })
        .unwrap();
    let words = [database.to_str().unwrap(), "1000", by];
    let report = support::run_well(&program, &support::library_dir(), 60, &words);
    assert_eq!(report.number("before"), SQLITE_BUSY, "{report}");
    report
}
