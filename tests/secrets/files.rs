//! The modes of new files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{self, Mode, mode};

/// Opens a store and hits once, in a shell with this umask, and leaves as a crash would: with -wal
/// and -shm.
fn modes_under(umask: &str, library: &Path) -> Vec<(String, u32)> {
    let program = support::compile("locks/open.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let script = format!("umask {umask}; '{}' '{}'; exec true", program.display(), store.display());
    let report = support::run_well(Path::new("sh"), library, 30, &["-c", &script]);
    assert_eq!(report.number("code"), 0, "umask {umask}: {report}");
    let entries = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
    let mut modes: Vec<_> = entries
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
            (entry.file_name().to_string_lossy().into_owned(), mode)
        })
        .collect();
    modes.sort();
    modes
}

#[test]
fn every_new_file_is_for_its_owner_alone_whatever_the_umask() {
    let names = ["store.db", "store.db-shm", "store.db-table", "store.db-wal"];
    let there_are = |name: &&str| mode() != Mode::Rows || !name.ends_with("-table");
    let private: Vec<_> =
        names.into_iter().filter(there_are).map(|name| (name.to_owned(), 0o600)).collect();
    let without_tmpfile = support::library_without("no-tmpfile");
    for library in [&support::library_dir(), &without_tmpfile] {
        for umask in ["0", "002", "022", "077", "0177", "0777"] {
            assert_eq!(modes_under(umask, library), private, "umask {umask}");
        }
    }
}
