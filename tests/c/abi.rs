//! The ABI's promises, case files first.

use super::{passes, program, support};

fn passes_in_a_fresh_directory(name: &str) {
    let directory = support::fresh_directory();
    passes(&program(name, &[]), 60, &[directory.path().to_str().unwrap()]);
}

#[test]
fn every_case_is_answered_as_expected_on_a_file_and_in_memory() {
    passes_in_a_fresh_directory("cases");
}

#[test]
fn the_layout_is_that_of_the_programs_already_built() {
    passes(&program("layout", &[]), 10, &[]);
}

#[test]
fn a_bad_argument_gets_a_code_and_a_line_and_changes_nothing() {
    passes_in_a_fresh_directory("arguments");
}

#[test]
fn options_of_older_and_newer_headers_are_understood() {
    passes_in_a_fresh_directory("options");
}

#[test]
fn a_text_fits_its_buffer_or_says_how_long_it_is() {
    passes_in_a_fresh_directory("texts");
}
