//! What the defences of locks and forks cost a hit and a fork, against builds without them, in one
//! run: `make bench-defences`.

#[path = "../tests/support/mod.rs"]
mod support;

const ROUNDS: &str = "9";

fn main() {
    let program = support::compile("locks/cost.c", &["-ldl"]);
    let libraries = [
        support::library_dir(),
        support::library_without("undefended"),
        support::library_without("no-fork-handlers"),
    ]
    .map(|directory| directory.join("libratelite.so"));
    let places = [
        ("in memory", support::fresh_directory()),
        ("on disk", support::fresh_directory_on_disk()),
    ];
    for (place, directory) in &places {
        let mut arguments = vec![directory.path().as_os_str().to_owned(), ROUNDS.into()];
        arguments.extend(libraries.iter().map(|library| library.as_os_str().to_owned()));
        let report = support::run_well(&program, &support::library_dir(), 300, &arguments);
        println!("{place}, {ROUNDS} rounds, medians in µs:\n{}\n", report.text.trim_end());
    }
}
