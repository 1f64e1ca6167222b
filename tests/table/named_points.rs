//! Deaths, stops and pauses at the steps of the protocol that have a name.

use crate::check::{DAY_MS, Limit};
use crate::deaths::survive;
use crate::exactness::{one_limit, readers, resets, two_limits};
use crate::host::Host;
use crate::own_keys::own_keys;
use crate::support;

/// In a table too small for its keys slots change hands all the time; in an ample one they keep what
/// is over until it is pruned.
const SMALL: &str = "slots=32";
const AMPLE: &str = "slots=4096";

/// The steps, how rare a death there has to be for the others to get on, and the table to come there.
const POINTS: [(&str, u32, &str); 24] = [
    ("hit-read", 500, SMALL),
    ("hit-counted", 500, SMALL),
    ("hit-announced", 500, SMALL),
    ("claim-locked", 100, SMALL),
    ("claim-chosen", 100, SMALL),
    ("claim-spill-raised", 50, SMALL),
    ("claim-freed", 50, SMALL),
    ("claim-row-read", 50, SMALL),
    ("claim-identity-written", 100, SMALL),
    ("claim-marked", 100, SMALL),
    ("claim-published", 100, SMALL),
    ("flush-elected", 3, SMALL),
    ("flush-locked", 3, SMALL),
    ("flush-bits-cleared", 3, SMALL),
    ("flush-states-read", 3, SMALL),
    ("flush-seq-noted", 3, SMALL),
    ("flush-committed", 3, SMALL),
    ("flush-half-marked", 3, SMALL),
    ("reserve-first", 100, SMALL),
    ("reserve-refused", 1, SMALL),
    ("reset-zeroed", 2, AMPLE),
    ("prune-freed", 2, AMPLE),
    ("attach-created", 1, SMALL),
    ("attach-renamed", 1, SMALL),
];

/// Deaths at a step which are enough for `make test`.
const ENOUGH: u32 = 10;
/// Runs after which a step that nobody came to is taken for one that is not there.
const MOST_RUNS: u32 = 5;

#[test]
fn a_process_may_die_at_every_named_step() {
    every_step("kill", "deaths");
}

#[test]
fn a_process_may_stop_at_every_named_step() {
    every_step("stop", "stops");
}

#[test]
fn what_is_reserved_is_given_back_amidst_pruning_however_long_that_takes() {
    for seed in 1..=support::scale() {
        let host = Host::with_points("reserve-first=pause/20,reserve-refused=pause/2");
        let seed = format!("seed={seed}");
        let words = ["resets=0", &seed, "keys=60", SMALL, "interval=2", "durability=mixed"];
        let report = survive(&host, "points", &words);
        assert!(report.number("begun") > 1_000, "{report}");
    }
}

#[test]
fn processes_that_die_stop_and_pause_at_all_steps_lose_nothing_that_was_answered() {
    for seed in 1..=support::scale() {
        let host = Host::with_points("*=kill/1500,*=stop/3000,*=pause/1000");
        let words = [&format!("seed={seed}"), "ms=2000", "durability=mixed"];
        let report = survive(&host, "points", &words);
        assert!(report.number("deaths") > 30 && report.number("stops") > 10, "{report}");
    }
}

#[test]
fn pauses_at_all_steps_leave_every_answer_exact() {
    for seed in 1..=support::scale() {
        let host = Host::with_points("*=pause/1000");
        let seed = format!("seed={seed}");
        let hot = Limit { units: 50, window_ms: 5 };
        one_limit(&host, "hot: 50/5ms", hot, &["ms=600", &seed]);
        let thrash = Limit { units: 20, window_ms: 366 * DAY_MS };
        let words = ["keys=600", "favourites=100", "slots=128", "durability=mixed", &seed];
        one_limit(&host, "thrash: 20/366d", thrash, &words);
        readers(&host, &seed);
        resets(&host, &seed);
        two_limits(&host, &seed);
        own_keys(&host, &["threads=2", "processes=4", &seed]);
    }
}

/// Somebody has to come to each, and to do what `action` says there.
fn every_step(action: &str, of: &str) {
    let mut missed = Vec::new();
    for (point, one_in, table) in POINTS {
        if visits(&format!("{point}={action}/{one_in}"), table, of) == 0 {
            missed.push(point);
        }
    }
    assert!(missed.is_empty(), "nobody came to {missed:?}");
}

/// How many deaths or stops there were at the step that `rule` names.
fn visits(rule: &str, table: &str, of: &str) -> i64 {
    // Who has reserved a unit gives the others time to be refused the last one.
    let host = Host::with_points(&format!("{rule},reserve-first=pause/20"));
    let enough = format!("enough={}", ENOUGH * support::scale());
    for run in 1..=MOST_RUNS {
        let seed = format!("seed={run}");
        let words = [&seed, "ms=600", "keys=60", table, "interval=2", "durability=mixed", &enough];
        let visits = survive(&host, "points", &words).number(of);
        if visits > 0 {
            println!("{rule}: {visits}");
            return visits;
        }
    }
    0
}
