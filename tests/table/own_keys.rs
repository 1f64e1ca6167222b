//! Whoever has a key to itself knows every answer beforehand, whatever the others do to the table.

use crate::host::Host;
use crate::support;

#[test]
fn every_answer_about_a_key_that_nobody_else_uses_is_known_beforehand() {
    for seed in 1..=support::scale() {
        own_keys(&Host::plain(), &["processes=8", "threads=1", &format!("seed={seed}")]);
        own_keys(&Host::plain(), &["processes=4", "threads=2", &format!("seed={seed}")]);
    }
}

pub fn own_keys(host: &Host, words: &[&str]) {
    let words = [&["slots=64", "durability=mixed"], words].concat();
    let report = host.run("own", &words).report;
    println!("{}: {report}", words.join(" "));
    assert_eq!(report.number("stored"), report.number("counted"), "{report}");
    assert!(report.number("looks") > 10, "{report}");
}
