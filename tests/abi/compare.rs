//! Two descriptions of an ABI: is the newer one safe for programs that were built with the older?

use std::collections::BTreeSet;

#[derive(Debug, PartialEq)]
pub enum Verdict {
    Same,
    /// What was added, or everything when the ABI has a new number.
    Compatible(String),
    Incompatible(String),
}

pub fn compare(committed: &str, now: &str) -> Verdict {
    let (before, after) = (lines(committed), lines(now));
    if before == after {
        return Verdict::Same;
    }
    let gone: Vec<_> = before.difference(&after).collect();
    let new: Vec<_> = after.difference(&before).collect();
    let changes = gone.iter().map(|line| format!("- {line}"));
    let changes = changes.chain(new.iter().map(|line| format!("+ {line}")));
    let changes = changes.collect::<Vec<_>>().join("\n");
    let has_new_number = number(committed) != number(now);
    let breaks = gone.iter().any(|line| !may_go(line)) || new.iter().any(|line| !may_come(line));
    if breaks && !has_new_number {
        Verdict::Incompatible(changes)
    } else {
        Verdict::Compatible(changes)
    }
}

fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

fn number(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("abi "))
}

/// Options may get longer, since they tell their size; reserved words may come into use.
fn may_go(line: &str) -> bool {
    line.starts_with("size rl_options ") || line.contains(".reserved ")
}

/// Results may not get longer: programs have reserved the room for them.
fn may_come(line: &str) -> bool {
    !line.starts_with("size rl_result ")
}

mod tests {
    use super::*;

    const OLD: &str = "abi 1\nconstant RL_OK 0\nfunction int rl_hit(int)\nsize rl_result 128\n\
                       size rl_options 104\nfield rl_result.reserved 88 40 int64_t\nsymbol rl_hit";

    fn changed(from: &str, to: &str) -> Verdict {
        assert!(OLD.contains(from));
        compare(OLD, &OLD.replace(from, to))
    }

    #[test]
    fn nothing_changed_is_the_same_in_any_order() {
        assert_eq!(compare(OLD, OLD), Verdict::Same);
        let turned: Vec<_> = OLD.lines().rev().collect();
        assert_eq!(compare(OLD, &turned.join("\n")), Verdict::Same);
    }

    #[test]
    fn what_programs_rely_on_may_neither_go_nor_change() {
        for (from, to) in [
            ("constant RL_OK 0", "constant RL_OK 1"),
            ("constant RL_OK 0\n", ""),
            ("rl_hit(int)", "rl_hit(long)"),
            ("size rl_result 128", "size rl_result 136"),
            ("symbol rl_hit", "symbol rl_hit2"),
        ] {
            assert!(matches!(changed(from, to), Verdict::Incompatible(_)), "{from} -> {to}");
        }
    }

    #[test]
    fn additions_longer_options_and_reserved_words_in_use_are_compatible() {
        for (from, to) in [
            ("abi 1\n", "abi 1\nconstant RL_NEW 3\n"),
            ("symbol rl_hit", "symbol rl_hit\nsymbol rl_new"),
            ("size rl_options 104", "size rl_options 112"),
            ("reserved 88 40", "used 88 8 int64_t\nfield rl_result.reserved 96 32"),
        ] {
            assert!(matches!(changed(from, to), Verdict::Compatible(_)), "{from} -> {to}");
        }
    }

    #[test]
    fn a_new_number_permits_everything() {
        let renewed = OLD.replace("abi 1", "abi 2").replace("rl_hit", "rl_strike");
        assert!(matches!(compare(OLD, &renewed), Verdict::Compatible(_)));
    }
}
