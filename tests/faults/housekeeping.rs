//! What a hit removes after its commit is not the hit's own affair.

use crate::support;

#[test]
fn a_failure_to_remove_expired_rows_is_not_the_failure_of_a_committed_hit() {
    // Of the shim this uses a part.
    let flags = ["-lsqlite3", "-ldl", "-Wno-unused-function"];
    let program = support::compile("faults/housekeeping.c", &flags);
    for (kind, error) in [("write", "EIO"), ("write", "ENOSPC"), ("lock", "EIO")] {
        let directory = support::fresh_directory();
        let words = [directory.path().to_str().unwrap(), kind, error];
        let report = support::run_well(&program, &support::library_dir(), 60, &words);
        println!("{kind} {error}: {report}");
        // The fault was met before the commit and after it.
        assert!(report.number("refused") > 0, "{kind} {error}: {report}");
        assert!(report.number("unremoved") > 0, "{kind} {error}: {report}");
    }
}
