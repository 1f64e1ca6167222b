//! Two copies of the library in one process, which know nothing of each other.

use crate::support;

#[test]
fn two_copies_of_the_library_in_one_process_lose_no_hit() {
    let program = support::compile("locks/two_copies.c", &["-lsqlite3", "-ldl"]);
    for (manner, durability) in [
        ("stays", "hit"),
        ("closes", "hit"),
        ("forks", "hit"),
        ("stays", "interval"),
        ("closes", "interval"),
        ("forks", "interval"),
    ] {
        let what = format!("{manner}, {durability}");
        let directory = support::fresh_directory();
        let library = support::library_dir().join("libratelite.so");
        // The loader takes two names of one file for one library.
        let copy = directory.path().join("copy.so");
        std::fs::copy(&library, &copy).unwrap();
        let store = directory.path().join("store.db");
        let milliseconds = (400 * support::scale()).to_string();
        let words =
            [&store, &library, &copy, &manner.into(), &durability.into(), &milliseconds.into()];
        let report = support::run_well(&program, &support::library_dir(), 60, &words);
        println!("two copies, {what}: {report}");
        assert_eq!(report.number("failed"), 0, "{what}: {report}");
        assert_eq!(report.number("hung"), 0, "{what}: {report}");
        assert_eq!(report.number("stored"), report.number("acknowledged"), "{what}: {report}");
    }
}
