//! A library is a guest in its process.

use std::path::Path;

use super::{passes, program, support};

#[test]
fn a_thousand_rounds_leave_the_host_as_it_was_without_a_word() {
    let directory = support::fresh_directory();
    // Else the C library's own lists of free memory would look like growth.
    let exact = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0";
    let program = program("hygiene", &[]);
    let arguments = [exact, program.to_str().unwrap(), directory.path().to_str().unwrap()];
    passes(Path::new("env"), 100, &arguments);
}
