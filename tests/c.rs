//! The library as C programs meet it. Each program of tests/c checks one subject and says nothing
//! when all is well.

mod support;

#[path = "c/abi.rs"]
mod abi;
#[path = "c/exactness.rs"]
mod exactness;
#[path = "c/examples.rs"]
mod examples;
#[path = "c/hygiene.rs"]
mod hygiene;
#[path = "c/tables.rs"]
mod tables;
#[path = "c/watched.rs"]
mod watched;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Compiles `tests/c/<name>.c`.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let tables = format!("-DTABLES=\"{}\"", written_tables().display());
    support::compile(format!("c/{name}.c"), &[&["-Wpedantic", &tables], flags].concat())
}

/// The case tables. Their name tells their content, since programs are compiled again only when
/// a flag or a file in the source tree changes.
fn written_tables() -> PathBuf {
    let text = tables::tables();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let name = format!("tables-{:016x}.h", hasher.finish());
    let folder = support::target().join("ctests");
    let finished = folder.join(&name);
    if !finished.exists() {
        fs::create_dir_all(&folder).unwrap();
        // Another test may be writing the same at the same time.
        let own = tempfile::NamedTempFile::new_in(&folder).unwrap();
        fs::write(own.path(), text).unwrap();
        own.persist(&finished).unwrap();
    }
    finished
}

/// Runs a program that must succeed without a word: what comes out would be the library's.
fn passes(program: &Path, seconds: u32, args: &[&str]) {
    let report = support::run_well(program, &support::library_dir(), seconds, args);
    assert_eq!(report.text, "", "something was printed");
}
