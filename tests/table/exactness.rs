//! Every answer of every process is replayed.

use crate::check::{
    Answer, Call, DAY_MS, Deaths, ENDLESS, Limit, Replayed, compare, lives, replay, replay_rule,
    rows,
};
use crate::host::{Host, Played};
use crate::support;

const LONG_MS: i64 = 366 * DAY_MS;
/// Hits of all processes below which a run would prove little.
const FEW: usize = 500;

#[test]
fn a_hot_key_in_windows_of_5_ms_is_exact() {
    for crew in [["processes=8", "threads=1"], ["processes=4", "threads=3"]] {
        rounds(|seed| {
            let replayed = one_limit(
                &Host::plain(),
                "hot: 50/5ms",
                Limit { units: 50, window_ms: 5 },
                &[crew[0], crew[1], "most=150000", seed],
            );
            assert!(replayed.ends.len() > 5, "{} windows", replayed.ends.len());
        });
    }
}

#[test]
fn ten_thousand_keys_in_windows_of_5_ms_are_exact() {
    rounds(|seed| {
        one_limit(
            &Host::plain(),
            "many: 3/5ms",
            Limit { units: 3, window_ms: 5 },
            &["keys=10000", "favourites=16", seed],
        );
    });
}

#[test]
fn two_thousand_keys_in_256_slots_are_exact() {
    rounds(|seed| {
        let words = ["keys=2000", "favourites=300", "slots=256", "processes=4", "threads=2", seed];
        let limit = Limit { units: 20, window_ms: LONG_MS };
        one_limit(&Host::plain(), "thrash: 20/366d", limit, &words);
    });
}

#[test]
fn costs_of_1_to_5_are_exact() {
    rounds(|seed| {
        for (policy, limit) in [
            ("costs: 40/5ms", Limit { units: 40, window_ms: 5 }),
            ("costs: 997/366d", Limit { units: 997, window_ms: LONG_MS }),
        ] {
            let words = ["keys=20", "costs=5", "slots=16", "ms=600", seed];
            let replayed = one_limit(&Host::plain(), policy, limit, &words);
            assert!(replayed.allowed < replayed.hits, "none of {} denied", replayed.hits);
        }
    });
}

#[test]
fn two_limits_are_never_over_and_all_or_nothing() {
    rounds(|seed| two_limits(&Host::plain(), seed));
}

#[test]
fn processes_of_both_durabilities_share_one_truth() {
    rounds(|seed| {
        let words = [
            "keys=200",
            "slots=64",
            "durability=mixed",
            "looks=30",
            "prunes=2",
            "window=31622400 s",
            seed,
        ];
        let limit = Limit { units: 100, window_ms: LONG_MS };
        one_limit(&Host::plain(), "both: 100/366d", limit, &words);
    });
}

#[test]
fn readers_refunds_and_pruning_amidst_hits_are_exact() {
    rounds(|seed| readers(&Host::plain(), seed));
}

#[test]
fn keys_that_are_reset_amidst_hits_begin_again_at_one() {
    rounds(|seed| resets(&Host::plain(), seed));
}

#[test]
fn a_log_of_a_real_run_that_is_falsified_is_found_out() {
    let limit = Limit { units: 50, window_ms: 5 };
    let played = Host::plain().run("replay", &["hot: 50/5ms", "ms=200"]);
    let log = played.answers();
    let is_sound = |log: &[Answer]| replay(&mut log.to_vec(), limit, Deaths::None).is_ok();
    assert!(is_sound(&log));
    // A hit in the midst of a window: others were told the counts around it.
    let is_amidst = |hit: &Answer| {
        let is_told = |count| {
            let same = |other: &&Answer| other.call == Call::Hit && other.start_ms == hit.start_ms;
            log.iter().filter(same).any(|other| other.count == count)
        };
        hit.call == Call::Hit && hit.allowed && is_told(hit.count + 1)
    };
    let amidst = log.iter().position(is_amidst).expect("two hits in one window");
    let changed = |change: &dyn Fn(&mut Vec<Answer>)| {
        let mut log = log.clone();
        change(&mut log);
        log
    };
    assert!(
        !is_sound(&changed(&|log| {
            log.remove(amidst);
        })),
        "a gap"
    );
    assert!(!is_sound(&changed(&|log| log.push(log[amidst]))), "a duplicate");
    assert!(!is_sound(&changed(&|log| log[amidst].count += 1)), "another count");
    assert!(!is_sound(&changed(&|log| log[amidst].allowed = false)), "a denial");
    assert!(!is_sound(&changed(&|log| log[amidst].remaining -= 1)), "another rest");
    assert!(!is_sound(&changed(&|log| log[amidst].start_ms += 5)), "another window");
}

pub fn two_limits(host: &Host, seed: &str) {
    let long = |units| Limit { units, window_ms: LONG_MS };
    let a_year = |units| Limit { units, window_ms: 365 * DAY_MS };
    let unlimited = "two: 9007199254740991/366d, 200/365d";
    for (policy, limits, words) in [
        // The one is never reached, so the other decides alone and its chain is whole.
        (unlimited, [long(ENDLESS), a_year(200)], ["keys=100", "slots=64", "costs=1"]),
        ("two: 200/366d, 900/365d", [long(200), a_year(900)], ["keys=100", "slots=64", "costs=5"]),
        (
            "two: 7/5ms, 40/50ms",
            [Limit { units: 7, window_ms: 5 }, Limit { units: 40, window_ms: 50 }],
            ["keys=3", "slots=16", "costs=2"],
        ),
    ] {
        let words = [&[policy, "ms=500", "most=60000", seed], &words[..]].concat();
        let played = host.run("replay", &words);
        let replayed = replay_rule(&played.answers(), &limits);
        is_exact(&words, &played, replayed, "two", &limits);
    }
}

pub fn readers(host: &Host, seed: &str) {
    for (policy, units, window_ms) in [("read: 30/5ms", 30, 5), ("read: 500/366d", 500, LONG_MS)] {
        let words = [
            "keys=24",
            "favourites=2",
            "costs=3",
            "slots=16",
            "statuses=250",
            "refunds=150",
            "prunes=5",
            "ms=600",
            "durability=mixed",
            seed,
        ];
        one_limit(host, policy, Limit { units, window_ms }, &words);
    }
}

pub fn resets(host: &Host, seed: &str) {
    let limit = Limit { units: 30, window_ms: LONG_MS };
    let words = [
        "reset: 30/366d",
        "keys=40",
        "slots=16",
        "statuses=100",
        "resets=20",
        "prunes=5",
        "most=100000",
        "durability=mixed",
        seed,
    ];
    let played = host.run("replay", &words);
    let answers = played.answers();
    let lives = lives(&answers, limit).unwrap_or_else(|wrong| panic!("{words:?}: {wrong}"));
    println!("{}: {} answers, {lives} lives", words.join(" "), answers.len());
    assert!(lives > 50, "{lives} lives");
}

/// Runs a policy of one limit, and returns what the replay found.
pub fn one_limit(host: &Host, policy: &str, limit: Limit, settings: &[&str]) -> Replayed {
    let words = [&[policy], settings].concat();
    let played = host.run("replay", &words);
    let replayed = replay(&mut played.answers(), limit, Deaths::None);
    let (rule, _) = policy.split_once(':').unwrap();
    is_exact(&words, &played, replayed, rule, &[limit])
}

fn is_exact(
    words: &[&str],
    played: &Played,
    replayed: Result<Replayed, String>,
    rule: &str,
    limits: &[Limit],
) -> Replayed {
    let words = words.join(" ");
    let replayed = replayed.unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
    let Replayed { ends, hits, allowed, repeats, .. } = &replayed;
    let windows = ends.len();
    println!("{words}: {hits} hits, {allowed} allowed, {windows} windows, {repeats} repeats");
    compare(&rows(&played.store(), rule), ends, limits)
        .unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
    assert!(*hits > FEW, "{hits} hits prove little");
    replayed
}

/// Runs with each of some seeds.
fn rounds(run: impl Fn(&str)) {
    for seed in 1..=support::scale() {
        run(&format!("seed={seed}"));
    }
}
