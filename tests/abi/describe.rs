//! The ABI as it is: the header's words, the compiler's numbers, the library's symbols.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use crate::support;

/// One fact a line.
pub fn abi() -> String {
    // Without comments and macros, and by another test the same as the header.
    let declarations = read("bindings/php/ratelite.cdef.h");
    let mut facts: Vec<_> = numbers(&declarations).lines().map(str::to_owned).collect();
    facts.extend(functions(&declarations));
    facts.extend(symbols());
    facts.sort();
    facts.join("\n") + "\n"
}

fn read(file: &str) -> String {
    fs::read_to_string(support::root().join(file)).unwrap()
}

/// What only a compiler knows: sizes, offsets and values, printed by a program that it makes.
fn numbers(declarations: &str) -> String {
    let mut body = String::from("printf(\"abi %d\\n\", RL_ABI_VERSION);\n");
    for name in constants() {
        writeln!(body, "printf(\"constant {name} %lld\\n\", (long long)({name}));").unwrap();
    }
    for (name, fields) in structures(declarations) {
        writeln!(body, "printf(\"size {name} %zu\\n\", sizeof({name}));").unwrap();
        for (kind, field) in fields {
            writeln!(
                body,
                "printf(\"field {name}.{field} %zu %zu {kind}\\n\", offsetof({name}, {field}), \
                 sizeof((({name} *)0)->{field}));"
            )
            .unwrap();
        }
    }
    let program = format!(
        "#include <ratelite.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}return 0;\n}}\n"
    );
    let directory = support::fresh_directory();
    let source = directory.path().join("abi.c");
    fs::write(&source, program).unwrap();
    let program = support::compile(source, &[]);
    support::run_well::<&str>(&program, &support::library_dir(), 10, &[]).text
}

/// The header's numbers, but for the version, which every release changes.
fn constants() -> Vec<String> {
    let header = read("include/ratelite.h");
    let defined = header.lines().filter_map(|line| line.strip_prefix("#define RL_"));
    let with_value = defined.filter_map(|line| line.split_once(' '));
    let names = with_value.map(|(name, _)| format!("RL_{name}"));
    names.filter(|name| !name.starts_with("RL_VERSION") && name != "RL_ABI_VERSION").collect()
}

type Fields = Vec<(String, String)>;

/// The structures whose fields are known, each with type and name of its fields.
fn structures(declarations: &str) -> Vec<(String, Fields)> {
    let bodies = declarations.split("typedef struct ").skip(1);
    let with_fields = bodies.filter_map(|text| text.split_once(" {\n"));
    with_fields
        .map(|(name, rest)| {
            let body = rest.split_once('}').expect("the structure's end").0;
            (name.to_owned(), body.split(';').filter_map(field).collect())
        })
        .collect()
}

/// `const char *key_secret` and `int64_t reserved[5]`.
fn field(text: &str) -> Option<(String, String)> {
    let text = text.trim().split('[').next().unwrap();
    let start = text.rfind([' ', '*'])? + 1;
    Some((text[..start].trim().to_owned(), text[start..].to_owned()))
}

/// Each signature on a line of its own, its blanks made even. Names of arguments are no part of an
/// ABI, but a change of them is worth a look.
fn functions(declarations: &str) -> Vec<String> {
    let after_structures = declarations.rsplit_once("} ").map_or(declarations, |(_, rest)| rest);
    let statements = after_structures.split(';').filter(|statement| statement.contains('('));
    let signatures = statements.map(|s| s.split_whitespace().collect::<Vec<_>>().join(" "));
    signatures.map(|signature| format!("function {signature}")).collect()
}

/// Names and kinds: a function that became a variable is another ABI.
fn symbols() -> Vec<String> {
    let library = support::library_dir().join("libratelite.so");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    assert!(output.status.success(), "nm, of the binutils");
    let listing = String::from_utf8(output.stdout).unwrap();
    let words = listing.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    words.map(|words| format!("symbol {} {}", words[1], words[0])).collect()
}
