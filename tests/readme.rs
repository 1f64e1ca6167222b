//! The README's programs do what it says. A block that is no whole program is not compiled, so
//! what a reader copies first should be one.

mod support;

use std::fs;
use std::process::Command;

/// The blocks of one language that are whole programs, at least one.
fn programs(language: &str) -> Vec<String> {
    let readme = fs::read_to_string(support::root().join("README.md")).expect("README.md");
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1).map(|rest| {
        rest.split_once("\n```").unwrap_or_else(|| panic!("a block without end: {rest}")).0
    });
    let whole = blocks.filter(|block| block.contains(" main(")).map(|block| format!("{block}\n"));
    let programs: Vec<_> = whole.collect();
    assert!(!programs.is_empty(), "README.md has no whole program in {language}");
    programs
}

fn runs(mut command: Command) {
    // Relative paths, as readers use them, end up here.
    let directory = support::fresh_directory();
    let output = command.current_dir(directory.path()).output().unwrap();
    let report = support::Report::of(&output);
    assert!(report.succeeded, "{command:?}: {report}");
}

#[test]
fn the_c_programs_of_the_readme_run() {
    for program in programs("c") {
        let directory = support::fresh_directory();
        let source = directory.path().join("readme.c");
        fs::write(&source, program).unwrap();
        let program = support::compile(&source, &["-Wpedantic"]);
        runs(support::command(program, &support::library_dir(), 10));
    }
}

/// Against the library's crate: the modes of the tests are of those who load the shared library.
#[test]
fn the_rust_programs_of_the_readme_run() {
    for (number, program) in programs("rust").into_iter().enumerate() {
        let (directory, built) = (support::fresh_directory(), support::release_dir());
        let source = directory.path().join(format!("readme{number}.rs"));
        fs::write(&source, program).unwrap();
        let executable = directory.path().join("readme");
        let mut compiler = Command::new("rustc");
        compiler.args(["--edition=2024", "-L"]).arg(built.join("deps")).arg(&source);
        let file = built.join("libratelite.rlib");
        compiler.arg("--extern").arg(format!("ratelite={}", file.display()));
        let output = compiler.arg("-o").arg(&executable).output().unwrap();
        let report = support::Report::of(&output);
        assert!(report.succeeded, "{report}");
        runs(support::command(executable, &support::library_dir(), 10));
    }
}
