//! Children that no fork handler saw.

use std::path::Path;

use crate::support;

#[test]
fn children_of_bare_fork_and_clone_are_refused_and_change_no_count() {
    are_refused(&support::library_dir());
}

#[test]
fn they_are_refused_too_where_the_kernel_wipes_no_page() {
    are_refused(&support::library_without("no-wipe"));
}

fn are_refused(library: &Path) {
    let program = support::compile("fork/unseen.c", &["-lsqlite3"]);
    for how in ["_Fork", "clone"] {
        for busy in ["0", "3"] {
            let directory = support::fresh_directory();
            let store = directory.path().join("store.db");
            let children = (20 * support::scale()).to_string();
            let words = [store.to_str().unwrap(), how, &children, busy];
            let report = support::run_well(&program, library, 100, &words);
            assert_eq!(report.number("failed"), 0, "{how}, {busy} busy: {report}");
            assert_eq!(report.number("hung"), 0, "{how}, {busy} busy: {report}");
            let answered = report.number("acknowledged");
            assert_eq!(report.number("stored"), answered, "{how}, {busy} busy: {report}");
        }
    }
}
