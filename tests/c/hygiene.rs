//! A library is a guest in its process.

use super::{passes, program};

/// On a file system in memory: descriptors and memory are looked at, not durability.
#[test]
fn a_thousand_rounds_leave_the_host_as_it_was_without_a_word() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    // Without it, the C library's own per-thread lists of free memory look like growth. Under a
    // minute's limit: a checkpoint a round is the most work here.
    let program = program("hygiene", &[]);
    passes(
        &"env".into(),
        60,
        &[
            "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
            program.to_str().unwrap(),
            directory.path().to_str().unwrap(),
        ],
    );
}
