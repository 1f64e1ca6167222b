//! `make install`, as a packager uses it, and `make demo`, as a newcomer does.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let report = support::Report::of(&output);
    assert!(report.succeeded, "{command:?}: {report}");
    report.text
}

fn make(target: &str, variables: &[(&str, &Path)]) -> String {
    let variables = variables.iter().map(|(name, path)| format!("{name}={}", path.display()));
    support::library_dir();
    let mut make = support::without_package("make");
    // Else an outer make's own variables would count here.
    make.env_remove("MAKEFLAGS").current_dir(support::root());
    output(make.arg(target).args(variables))
}

fn install(variables: &[(&str, &Path)]) {
    make("install", variables);
}

fn pkg_config(directory: &Path, question: &[&str]) -> String {
    let directory = directory.join("pkgconfig");
    let mut command = Command::new("pkg-config");
    output(command.env("PKG_CONFIG_PATH", directory).args(question).arg("ratelite"))
}

#[test]
fn a_program_builds_through_pkg_config_and_runs() {
    let prefix = support::fresh_directory();
    install(&[("PREFIX", prefix.path())]);
    let lib = prefix.path().join("lib");
    assert_eq!(pkg_config(&lib, &["--modversion"]).trim(), ratelite::VERSION);

    let program = prefix.path().join("quickstart");
    let flags = pkg_config(&lib, &["--cflags", "--libs"]);
    let source = support::root().join("bindings/c/quickstart.c");
    let mut compiler = Command::new("cc");
    output(compiler.arg(source).args(flags.split_whitespace()).arg("-o").arg(&program));
    let store = prefix.path().join("limits.db");
    let answer = support::run_well(&program, &lib, 10, &[store]).text;
    assert!(answer.starts_with("request 1: allowed, 2 left\n"), "{answer}");
}

#[test]
fn the_library_has_its_version_in_its_name_and_two_links() {
    let prefix = support::fresh_directory();
    install(&[("PREFIX", prefix.path())]);
    let lib = prefix.path().join("lib");
    let file = format!("libratelite.so.{}", ratelite::VERSION);
    let soname = format!("libratelite.so.{}", ratelite::ABI_VERSION);
    assert!(lib.join(&file).symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_link(lib.join(&soname)).unwrap(), Path::new(&file));
    assert_eq!(fs::read_link(lib.join("libratelite.so")).unwrap(), Path::new(&soname));
    // A second time, over what is there, is an upgrade.
    install(&[("PREFIX", prefix.path())]);
    assert_eq!(fs::read_link(lib.join(soname)).unwrap(), Path::new(&file));
}

#[test]
fn a_package_is_staged_below_destdir_and_knows_nothing_of_it() {
    let staging = support::fresh_directory();
    let lib = Path::new("/opt/lib64");
    install(&[
        ("DESTDIR", staging.path()),
        ("PREFIX", Path::new("/opt/ratelite")),
        ("LIBDIR", lib),
    ]);
    let staged = |path: &Path| -> PathBuf { staging.path().join(path.strip_prefix("/").unwrap()) };
    assert!(staged(Path::new("/opt/ratelite/include/ratelite.h")).is_file());
    assert!(staged(&lib.join("libratelite.so")).is_file());
    let flags = pkg_config(&staged(lib), &["--cflags", "--libs"]);
    assert_eq!(flags.trim(), "-I/opt/ratelite/include -L/opt/lib64 -lratelite");
}

#[test]
fn the_demo_runs_the_examples_and_shows_their_counters() {
    let shown = make("demo", &[]);
    for part in ["request 1: allowed, 2 left", "HTTP/1.1 429", "│ login ", "│ quickstart │ alice"]
    {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
}
