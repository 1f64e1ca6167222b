//! The committed header and declarations, and the shared library behind them.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const HEADER: &str = "include/ratelite.h";
const DECLARATIONS: &str = "bindings/php/ratelite.cdef.h";

fn read(file: &str) -> String {
    fs::read_to_string(support::root().join(file)).unwrap()
}

/// The standard output of a command that must succeed without a word on the other.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{command:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn compiles(compiler: &str, standard: &str, source: &Path) {
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror", "-fsyntax-only"];
    let include = support::root().join("include");
    let standard = format!("-std={standard}");
    let command = &mut Command::new(compiler);
    output(command.arg(standard).args(strict).arg("-I").arg(include).arg(source));
}

#[test]
fn the_header_compiles_without_a_warning_in_every_standard() {
    let directory = support::fresh_directory();
    for (ending, standards, compilers) in [
        ("c", &["c99", "c11", "c17", "c2x"][..], ["gcc", "clang"]),
        ("cc", &["c++17", "c++20"], ["g++", "clang++"]),
    ] {
        let source = directory.path().join("program").with_extension(ending);
        // It stands alone, and twice is once.
        let twice = "#include <ratelite.h>\n#include <ratelite.h>\n";
        fs::write(&source, [twice, "int main(void) { return rl_abi_version(); }\n"].concat())
            .unwrap();
        for standard in standards {
            for compiler in compilers {
                compiles(compiler, standard, &source);
            }
        }
    }
}

#[test]
fn the_examples_compile_without_a_warning_in_every_standard() {
    for example in ["quickstart", "gateway"] {
        let source = support::root().join(format!("bindings/c/{example}.c"));
        for standard in ["c99", "c11", "c17", "c2x"] {
            for compiler in ["gcc", "clang"] {
                compiles(compiler, standard, &source);
            }
        }
    }
}

#[test]
fn header_and_declarations_are_as_generated_from_the_source() {
    for committed in [HEADER, DECLARATIONS] {
        let name = Path::new(committed).file_name().unwrap();
        let generated = Path::new(env!("RATELITE_GENERATED")).join(name);
        assert!(
            read(committed) == fs::read_to_string(generated).unwrap(),
            "{committed} is not what src/capi says: run `make header`"
        );
    }
}

#[test]
fn the_declarations_need_no_preprocessor() {
    let declarations = read(DECLARATIONS);
    assert!(!declarations.contains('#'), "a preprocessor line");
    assert!(!declarations.contains("/*") && !declarations.contains("//"), "a comment");
    assert_eq!(declared(&declarations), declared(&read(HEADER)));
}

#[test]
fn the_version_of_the_header_is_that_of_the_package() {
    let header = read(HEADER);
    let value = |name: &str| {
        let define = format!("#define RL_VERSION{name} ");
        let line = header.lines().find_map(|line| line.strip_prefix(&define));
        line.unwrap_or_else(|| panic!("no {define}")).to_owned()
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(value(""), format!("\"{version}\""));
    assert_eq!([value("_MAJOR"), value("_MINOR"), value("_PATCH")].join("."), version);
}

#[test]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    let library = support::library_dir().join("libratelite.so");
    let listing = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let exported = listing.lines().map(|line| line.split_whitespace().last().unwrap().to_owned());
    assert_eq!(exported.collect::<BTreeSet<_>>(), declared(&read(HEADER)));
}

#[test]
fn the_soname_carries_the_number_of_the_abi() {
    assert_eq!(dynamic("SONAME"), [format!("libratelite.so.{}", ratelite::ABI_VERSION)]);
    let define = format!("#define RL_ABI_VERSION {}\n", ratelite::ABI_VERSION);
    assert!(read(HEADER).contains(&define), "no {define}");
}

#[test]
fn the_library_needs_only_the_c_runtime() {
    for needed in dynamic("NEEDED") {
        let known = ["libc.so.", "libgcc_s.so.", "libm.so.", "ld-linux"];
        assert!(known.iter().any(|start| needed.starts_with(start)), "{needed}");
    }
}

/// The entries of one tag in the library's dynamic section: `(SONAME) Library soname: [name]`.
fn dynamic(tag: &str) -> Vec<String> {
    let library = support::library_dir().join("libratelite.so");
    let section = output(Command::new("readelf").args(["--wide", "--dynamic"]).arg(library));
    let lines = section.lines().filter(|line| line.contains(&format!("({tag})")));
    lines.map(|line| line.split(['[', ']']).nth(1).unwrap().to_owned()).collect()
}

/// The functions that a text declares.
fn declared(text: &str) -> BTreeSet<String> {
    let code = without_comments(text);
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '('));
    let calls = words.filter_map(|word| word.split_once('(')).map(|(name, _)| name);
    calls.filter(|name| name.starts_with("rl_")).map(str::to_owned).collect()
}

fn without_comments(text: &str) -> String {
    let pieces = text.split("/*").enumerate().map(|(number, piece)| match number {
        0 => piece,
        _ => piece.split_once("*/").expect("the comment's end").1,
    });
    pieces.collect()
}
