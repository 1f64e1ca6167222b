//! The check finds what it is there for.

use crate::check::{
    Answer, Call, Counter, DAY_MS, Deaths, Ends, Limit, Row, compare, lives, replay, replay_rule,
};

const LIMIT: Limit = Limit { units: 4, window_ms: 5 };
const START_MS: i64 = 1_000_000;

/// Hits of cost 1 and 3, of which one is denied; refunds, of which one finds nothing to give back; and
/// who looked.
fn log() -> Vec<Answer> {
    vec![
        status(0, 0, 4),
        hit(1, 1, 1, 3),
        hit(2, 3, 4, 0),
        hit(3, 1, 5, 0),
        status(4, 5, 0),
        refund(5, 2, 5, 2),
        refund(6, 1, 5, 3),
        hit(7, 3, 8, 0),
        refund(8, 2, 8, 2),
        refund(9, 3, 8, 4),
        refund(10, 3, 8, 4),
        hit(11, 1, 9, 3),
        status(12, 9, 3),
    ]
}

fn hit(at: i64, cost: i64, count: i64, remaining: i64) -> Answer {
    // Only the fourth of the log is denied.
    answer(Call::Hit, at, cost, count, remaining, count != 5)
}

fn refund(at: i64, cost: i64, count: i64, remaining: i64) -> Answer {
    answer(Call::Refund, at, cost, count, remaining, remaining > 0)
}

fn status(at: i64, count: i64, remaining: i64) -> Answer {
    answer(Call::Status, at, 0, count, remaining, remaining > 0)
}

fn answer(call: Call, at: i64, cost: i64, count: i64, remaining: i64, allowed: bool) -> Answer {
    Answer {
        begun_ns: at * 100,
        // Each overlaps the one after it, but not the one after that.
        ended_ns: at * 100 + 150,
        start_ms: START_MS,
        now_ms: START_MS + 2,
        key: 7,
        cost,
        count,
        remaining,
        limit: LIMIT.units,
        removed: 0,
        call,
        rule: 0,
        allowed,
        limit_index: 0,
    }
}

/// What the check says of the log when it is changed so.
fn complaint(deaths: Deaths, change: impl FnOnce(&mut Vec<Answer>)) -> String {
    let mut log = log();
    change(&mut log);
    replay(&mut log, LIMIT, deaths).map(|_| ()).unwrap_err()
}

fn is_found(what: &str, change: impl FnOnce(&mut Vec<Answer>)) {
    let complaint = complaint(Deaths::None, change);
    assert!(complaint.contains(what), "{complaint}");
}

#[test]
fn a_sound_log_passes_in_any_order() {
    let mut log = log();
    log.reverse();
    let replayed = replay(&mut log, LIMIT, Deaths::None).unwrap();
    assert_eq!((replayed.hits, replayed.allowed, replayed.missing), (5, 4, 0));
    let end = Counter { attempts: 9, admitted: 1 };
    assert_eq!(replayed.ends, Ends::from([((0, 7, START_MS), end)]));
}

#[test]
fn a_gap_is_found() {
    for lost in [1, 2, 7] {
        is_found("a gap", |log| {
            log.remove(lost);
            log.retain(|answer| answer.call == Call::Hit);
        });
    }
    is_found("no hit was told the count of a refund", |log| {
        log.remove(3);
        log.retain(|answer| answer.call != Call::Status);
    });
    is_found("a gap", |log| log[2].cost = 2);
}

#[test]
fn a_count_that_two_hits_were_told_is_found() {
    for twice in [1, 2, 3, 7] {
        is_found("two hits were told one count", |log| log.push(log[twice]));
    }
    is_found("units are counted twice", |log| log[2].count = 2);
}

#[test]
fn a_wrong_decision_is_found() {
    for (wrong, complaint) in
        [(2, "were admitted before"), (3, "were admitted before"), (11, "the decision contradicts")]
    {
        is_found(complaint, |log| {
            log.retain(|answer| answer.call != Call::Status);
            let wrong = log.iter_mut().find(|answer| answer.begun_ns == wrong * 100).unwrap();
            wrong.allowed = !wrong.allowed;
        });
    }
    // Denied, and truthful of what remains; but it would have fitted.
    is_found("the decision contradicts", |log| {
        (log[1].allowed, log[1].remaining) = (false, 4);
    });
    // Allowed, and nothing spent.
    is_found("were admitted before", |log| log[1].remaining = 4);
    // Over the limit.
    is_found("a number that cannot be", |log| (log[3].allowed, log[3].remaining) = (true, -1));
    is_found("were admitted before", |log| log[11].remaining = 2);
}

#[test]
fn a_state_that_never_was_is_found() {
    is_found("no call made this state", |log| log[4] = status(4, 5, 1));
    is_found("no call made this state", |log| log[12].count = 10);
    is_found("the decision contradicts", |log| log[4].allowed = true);
    is_found("not the limit", |log| log[4].limit = 5);
    is_found("not the window", |log| log[4].now_ms += 3);
}

#[test]
fn a_wrong_refund_is_found() {
    is_found("no single refund", |log| log[5].cost = 1);
    is_found("no single refund", |log| log.push(log[5]));
    is_found("a refund gave nothing back", |log| log.push(refund(5, 1, 5, 0)));
    is_found("no single refund", |log| {
        log.remove(5);
    });
}

#[test]
fn an_order_that_contradicts_the_clock_is_found() {
    let later = |answer: &mut Answer, by| {
        answer.begun_ns += by;
        answer.ended_ns += by;
    };
    // A status that tells what had been before it was asked, or what came after it had ended.
    is_found("before one began", |log| later(&mut log[4], 300));
    is_found("before one began", |log| later(&mut log[4], -300));
    is_found("before one began", |log| later(&mut log[1], 300));
    is_found("before one began", |log| later(&mut log[6], 400));
    is_found("before one began", |log| later(&mut log[0], 300));
}

#[test]
fn after_deaths_a_gap_is_counted_and_a_double_is_found() {
    let hits = |log: &mut Vec<Answer>| {
        *log = vec![hit(0, 1, 1, 3), hit(1, 1, 3, 1), hit(2, 1, 5, 0), hit(3, 2, 8, 0)];
        // One was missing before each, and none, one and one of them admitted.
        (log[2].allowed, log[3].allowed) = (true, false);
        log[1].remaining = 2;
    };
    let mut log = log();
    hits(&mut log);
    let replayed = replay(&mut log, LIMIT, Deaths::Some).unwrap();
    assert_eq!(replayed.missing, 3);
    let found = |change: &dyn Fn(&mut Vec<Answer>)| {
        complaint(Deaths::Some, |log| {
            hits(log);
            change(log);
        })
    };
    assert!(found(&|log| log.push(log[1])).contains("two hits"));
    assert!(found(&|log| log[1].cost = 3).contains("counted twice"));
    // More admitted than can be missing; and less than before.
    assert!(found(&|log| log[1].remaining = 0).contains("were admitted before"));
    assert!(found(&|log| log[2].remaining = 2).contains("were admitted before"));
    assert!(found(&|log| log[2].allowed = false).contains("were admitted before"));
}

#[test]
fn two_limits_are_summed_and_the_deciding_one_is_replayed() {
    let limits = [Limit { units: 3, window_ms: 5 }, Limit { units: 4, window_ms: 10 }];
    let of = |index: usize, window: i64, count, remaining, allowed| Answer {
        limit_index: index,
        start_ms: START_MS + if index == 0 { 5 * window } else { 0 },
        now_ms: START_MS + 5 * window + 1,
        limit: limits[index].units,
        allowed,
        ..hit(0, 1, count, remaining)
    };
    let log = vec![
        of(0, 0, 1, 2, true),
        of(0, 0, 2, 1, true),
        of(1, 1, 3, 1, true),
        of(1, 1, 4, 0, true),
        of(1, 1, 5, 0, false),
    ];
    let replayed = replay_rule(&log, &limits).unwrap();
    assert_eq!((replayed.hits, replayed.allowed, replayed.repeats), (5, 4, 0));
    assert_eq!(replayed.ends[&(1, 7, START_MS)], Counter { attempts: 5, admitted: 4 });
    assert_eq!(replayed.ends[&(0, 7, START_MS + 5)], Counter { attempts: 3, admitted: 2 });
    let complaint = |change: &dyn Fn(&mut Vec<Answer>)| {
        let mut log = log.clone();
        change(&mut log);
        replay_rule(&log, &limits).map(|_| ()).unwrap_err()
    };
    let over = complaint(&|log| (log[4].allowed, log[4].count) = (true, 5));
    assert!(over.contains("5 units were allowed of 4"), "{over}");
    let twice = complaint(&|log| log[4].count = 4);
    assert!(twice.contains("counted twice"), "{twice}");
    let gap = complaint(&|log| log[1].count = 3);
    assert!(gap.contains("a hit was told 3, and there were 2"), "{gap}");
    let fits = complaint(&|log| log[4].remaining = 1);
    assert!(fits.contains("contradicts what remains"), "{fits}");
    let first = complaint(&|log| {
        log.truncate(2);
        log[1].remaining = 2;
    });
    assert!(first.contains("were admitted before"), "{first}");
}

#[test]
fn lives_that_do_not_add_up_are_found() {
    let reset = |removed| Answer { removed, ..answer(Call::Reset, 0, 0, 0, 0, false) };
    // Two lives, to 5 and to 2, of which the second is not over.
    let told = |count: i64| Answer { allowed: count <= 4, ..hit(0, 1, count, (4 - count).max(0)) };
    let mut log: Vec<Answer> = [1, 2, 3, 4, 5, 1, 2].map(told).into();
    log.extend([reset(0), reset(1), status(20, 2, 2)]);
    assert_eq!(lives(&log, LIMIT).unwrap(), 2);
    let complaint = |change: &dyn Fn(&mut Vec<Answer>)| {
        let mut log = log.clone();
        change(&mut log);
        lives(&log, LIMIT).unwrap_err()
    };
    let found = |what: &str, change: &dyn Fn(&mut Vec<Answer>)| {
        let complaint = complaint(change);
        assert!(complaint.contains(what), "{complaint}");
    };
    found("hits were told", &|log| log.push(log[4]));
    found("hits were told", &|log| {
        log.remove(3);
    });
    found("lives", &|log| log.push(log[0]));
    found("lives", &|log| log[8].removed = 2);
    found("lives", &|log| log[9] = status(20, 0, 4));
    found("must remain", &|log| log[2].remaining = 2);
    found("must remain", &|log| log[3].remaining = 1);
    found("the decision contradicts", &|log| log[2].allowed = false);
    found("must remain", &|log| log[4].allowed = true);
    found("no hit was told", &|log| log[9] = status(20, 6, 0));
}

#[test]
fn a_row_that_is_lost_or_wrong_is_found() {
    let limits = [LIMIT, Limit { units: 4, window_ms: 366 * DAY_MS }];
    let counter = |attempts, admitted| Counter { attempts, admitted };
    let ends = Ends::from([((0, 7, START_MS), counter(9, 1)), ((1, 7, 0), counter(9, 4))]);
    let row = |index: usize, start_ms, counter| Row {
        window_ms: limits[index].window_ms,
        key: 7,
        start_ms,
        counter,
    };
    let long = row(1, 0, counter(9, 4));
    for sound in [vec![long], vec![row(0, START_MS, counter(9, 1)), long]] {
        compare(&sound, &ends, &limits).unwrap();
    }
    // The window is over, so it need not be written; a refund does not change the attempts.
    for behind in [counter(5, 1), counter(9, 3)] {
        compare(&[row(0, START_MS, behind), long], &ends, &limits).unwrap();
    }
    for wrong in [
        vec![],
        vec![row(1, 0, counter(8, 4))],
        vec![row(1, 0, counter(9, 3))],
        vec![long, long],
        vec![long, row(0, START_MS, counter(10, 1))],
        vec![long, row(0, START_MS + 5, counter(1, 1))],
    ] {
        compare(&wrong, &ends, &limits).unwrap_err();
    }
}
