//! Processes that die or stop at any moment: what was answered is counted, what never began is not,
//! nobody gets more than the limit, and nobody who comes after them finds a lock taken.

use crate::check::{Answer, DAY_MS, Deaths, Limit, replay};
use crate::host::Host;
use crate::support::{self, Report};

/// The largest cost of a hit, so of what a death can leave unanswered.
const MOST_COST: i64 = 3;

#[test]
fn processes_killed_at_random_lose_nothing_that_was_answered() {
    for seed in 1..=support::scale() {
        let report = survive(&Host::plain(), "kills", &[&seeded(seed), "durability=interval"]);
        assert!(report.number("deaths") > 30, "{report}");
    }
}

#[test]
fn processes_stopped_at_random_lose_nothing_and_hold_nobody_up_for_long() {
    for seed in 1..=support::scale() {
        let report = survive(&Host::plain(), "stops", &[&seeded(seed), "durability=mixed"]);
        assert!(report.number("stops") > 20, "{report}");
        assert_eq!(report.number("begun"), report.number("answered"), "{report}");
    }
}

#[test]
fn processes_killed_and_stopped_at_random_lose_nothing_that_was_answered() {
    for seed in 1..=support::scale() {
        let report = survive(&Host::plain(), "both", &[&seeded(seed), "durability=mixed"]);
        assert!(report.number("deaths") > 10 && report.number("stops") > 10, "{report}");
    }
}

#[test]
fn eight_processes_killed_at_once_eight_times_lose_nothing_that_was_answered() {
    for seed in 1..=support::scale() {
        let words = [&seeded(seed), "ms=100", "rounds=8", "durability=interval"];
        let report = survive(&Host::plain(), "crowd", &words);
        assert_eq!(report.number("deaths"), 64, "{report}");
    }
}

#[test]
fn hits_that_are_in_the_file_before_they_are_answered_survive_the_loss_of_the_table() {
    for seed in 1..=support::scale() {
        let words = [&seeded(seed), "ms=100", "rounds=8", "durability=hit", "lost=1"];
        let report = survive(&Host::plain(), "crowd", &words);
        assert_eq!(report.number("deaths"), 64, "{report}");
    }
}

/// Runs an attack, on three hundred keys in 128 slots unless `words` say otherwise, and checks what
/// is left of them.
pub fn survive(host: &Host, manner: &str, words: &[&str]) -> Report {
    // Of a setting that comes twice the first counts.
    let words = [&[manner], words, &["keys=300", "slots=128"]].concat();
    let played = host.run("deaths", &words);
    let report = &played.report;
    let (deaths, unanswered) = (report.number("deaths"), report.number("unanswered"));
    assert!(report.number("slowest_us") < 3_000_000, "{report}");
    let in_flight = report.number("begun") - report.number("answered");
    assert!(in_flight <= deaths * MOST_COST, "{report}");
    // A hit counts once in each of its limits. What one refuses does not stay in another, but where a
    // process died between reserving and giving back; or where it paused there for so long that its slot
    // was needed and a counter of the same stripe was reset. There are few stripes in tables so small.
    assert_eq!(report.number("twice"), 0, "{report}");
    let overtaken = match manner {
        _ if words.contains(&"resets=0") => 0,
        "points" => report.number("begun") / 200,
        _ => report.number("stops") / 30,
    };
    assert!(report.number("kept") <= deaths * MOST_COST + overtaken, "{report}");

    let answers = played.answers();
    let mut missing = 0;
    for (rule, limit) in
        [(0, Limit { units: 200, window_ms: 366 * DAY_MS }), (4, Limit { units: 3, window_ms: 20 })]
    {
        let mut answers: Vec<Answer> =
            answers.iter().copied().filter(|answer| answer.rule == rule).collect();
        let replayed = replay(&mut answers, limit, Deaths::Some)
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", words.join(" ")));
        missing += replayed.missing;
    }
    println!("{}: {report} missing={missing}", words.join(" "));
    assert!(missing <= unanswered, "{missing} counted of {unanswered}: {report}");
    played.report
}

pub fn seeded(seed: u32) -> String {
    format!("seed={seed}")
}

/// What cannot be given back, since that takes longer than a call has patience, is little.
#[test]
fn what_a_failed_hit_has_spent_is_given_back() {
    let report = Host::plain().run("given_back", &[]).report;
    println!("{report}");
    let (failed, in_vain) = (report.number("failed"), report.number("in_vain"));
    assert_eq!(report.number("lost"), 0, "{report}");
    assert!(failed > 0 && in_vain * 5 <= failed, "{report}");
}

#[test]
fn what_is_given_back_is_not_taken_from_a_counter_that_began_anew() {
    for manner in ["reset", "drop"] {
        let report = Host::with_points("").run("overtaken", &[manner]).report;
        assert_eq!(report.number("allowed"), 5, "{manner}: {report}");
    }
}
