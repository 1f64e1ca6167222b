//! The protocol of the shared table, one atomic step at a time: every order in which the steps of a
//! few processes can follow each other, any of which may die between two of its own.
//!
//! `state` is what there is between two steps; `turn` one step, the rest of which `hit`, `claim`,
//! `write` and `forget` tell; `promises` what must hold after each. `setup` says who calls what,
//! `checker` looks at all that can come of it, and `rules` are those that can be broken, to see that
//! they are looked at.

#[path = "table_model/checker.rs"]
mod checker;
#[path = "table_model/claim.rs"]
mod claim;
#[path = "table_model/forget.rs"]
mod forget;
#[path = "table_model/hit.rs"]
mod hit;
#[path = "table_model/promises.rs"]
mod promises;
#[path = "table_model/random.rs"]
mod random;
#[path = "table_model/rules.rs"]
mod rules;
#[path = "table_model/setup.rs"]
mod setup;
#[path = "table_model/state.rs"]
mod state;
#[path = "table_model/turn.rs"]
mod turn;
#[path = "table_model/write.rs"]
mod write;

use checker::Verdict;
use random::Random;
use rules::Broken;
use setup::Call::{DurableHit, Flush, Hit, HitBoth, Prune, Refund, Reset, Status, Sweep};
use setup::When::{At, Clock};
use setup::{A, B, Setup};
use turn::World;

fn is_soak() -> bool {
    std::env::var_os("RATELITE_SOAK").is_some_and(|value| value == "1")
}

/// Nothing is broken, whatever happens in whatever order.
fn explore(setups: &[Setup]) {
    for setup in setups {
        match World::new(setup).explore() {
            Verdict::Green { states, steps } => println!("{states} states, {steps} steps"),
            Verdict::Red { complaint, trace } => panic!("{complaint}\n{setup:?}\n{trace}"),
        }
    }
}

/// As [`explore`], of those that take minutes.
fn explore_in_soak(setups: &[Setup]) {
    if is_soak() {
        explore(setups);
    }
}

#[test]
fn two_claimers_and_a_flusher_with_two_deaths() {
    let one = [Hit(A, At(1)), Hit(B, At(1)), Hit(A, At(1))];
    let other = [Hit(B, At(1)), Hit(A, At(1))];
    explore(&[Setup { deaths: 2, ..Setup::of(&[&one, &other, &[Flush, Flush]]) }]);
    let more = Setup::of(&[&one, &other, &[Hit(B, At(2))], &[Flush, Flush]]);
    explore_in_soak(&[Setup { deaths: 2, ..more }]);
}

#[test]
fn a_half_written_identity_is_nobodys() {
    // One half each of a1 and b2 is a2, or b1.
    let (one, other) = ([Hit(A, At(1)), Hit(B, At(2))], [Hit(B, At(2)), Hit(A, At(1))]);
    let one_slot = Setup::of(&[&one, &other, &[Hit(A, At(2))], &[Flush]]);
    let two_slots = Setup::of(&[&one, &[Hit(A, At(2))], &[Hit(B, At(1))], &[Flush]]);
    explore(&[
        Setup { deaths: 1, ..one_slot.clone() },
        Setup { deaths: 1, slots: 2, ..two_slots.clone() },
    ]);
    let more = Setup::of(&[&one, &other, &[Hit(A, At(2))], &[Flush]]);
    explore_in_soak(&[Setup { deaths: 2, ..more.clone() }, Setup { deaths: 1, slots: 2, ..more }]);
}

#[test]
fn claimers_of_one_counter_make_it_live_once() {
    let setup =
        Setup::of(&[&[Hit(A, At(1))], &[Hit(A, At(1))], &[Hit(A, At(1)), Hit(B, At(1))], &[Flush]]);
    explore(&[Setup { slots: 2, deaths: 2, ..setup }]);
}

#[test]
fn rows_from_before_the_table_are_counted_on() {
    let setup =
        Setup::of(&[&[Hit(A, At(1)), Hit(B, At(1))], &[Hit(B, At(2)), Hit(A, At(1))], &[Flush]]);
    explore(&[Setup { limits: [2, 2], deaths: 2, ..setup }.with_row(1, A, (2, 1))]);
}

#[test]
fn a_refund_makes_no_old_mark_true() {
    let hits = [Hit(A, At(1)), Hit(A, At(1))];
    let setup = Setup::of(&[&hits, &[Refund(A, At(1)), Hit(B, At(1))], &[Flush], &[Flush]]);
    let at_the_end =
        Setup::of(&[&[Refund(A, At(1)), Hit(A, At(1))], &[Hit(B, At(1))], &[Flush, Flush]]);
    let limits = [2, 2];
    explore(&[
        Setup { limits, deaths: 1, ..setup },
        Setup { limits, deaths: 1, most: 2, ..at_the_end.clone() }.with_row(1, A, (2, 2)),
        Setup { limits, deaths: 1, most: 3, ..at_the_end }.with_row(1, A, (2, 2)),
    ]);
}

#[test]
fn a_reset_is_not_undone_by_a_late_writer() {
    let hits = [Hit(A, At(1)), Hit(A, At(2))];
    let setup = Setup::of(&[&hits, &[Reset(A)], &[Hit(B, At(1))], &[Flush, Flush]]);
    explore(&[Setup { deaths: 1, failures: 1, ..setup.with_row(1, A, (1, 1)) }]);
}

#[test]
fn neither_of_two_limits_admits_more_than_it_may() {
    let setup = Setup::of(&[&[HitBoth(A, At(1))], &[HitBoth(B, At(1))], &[Flush]]);
    let full = Setup::of(&[&[HitBoth(A, At(1))], &[Hit(B, At(1)), Hit(A, At(2))], &[Flush]]);
    let timed = Setup::of(&[&[HitBoth(A, Clock)], &[Hit(B, Clock)], &[Sweep]]);
    let timed = Setup { slots: 2, times: vec![1, 3], auto_prune: true, ..timed };
    explore(&[
        Setup { slots: 2, deaths: 1, ..setup.clone() },
        Setup { slots: 2, deaths: 1, failures: 1, limits: [2, 1], ..full },
        timed.with_row(1, A, (1, 1)),
    ]);
    let more = Setup::of(&[&[HitBoth(A, At(1))], &[HitBoth(B, At(1))], &[Hit(A, At(2))], &[Flush]]);
    explore_in_soak(&[Setup { slots: 2, limits: [2, 1], ..more }]);
}

#[test]
fn a_prune_forgets_what_was_there_and_nothing_else() {
    let hits = [Hit(A, At(1)), Hit(A, At(1))];
    let setup = Setup::of(&[&hits, &[Prune(3)], &[Hit(B, At(2))], &[Flush]]);
    let two = Setup::of(&[
        &[Hit(A, At(1)), Status(A, At(1))],
        &[Prune(3)],
        &[Hit(B, At(2)), Refund(A, At(1))],
        &[Prune(4)],
    ]);
    explore(&[Setup { deaths: 1, ..setup }, Setup { deaths: 1, ..two }]);
    let more = Setup::of(&[&[HitBoth(A, At(1))], &[Prune(3)], &[Hit(B, At(2))], &[Flush]]);
    explore_in_soak(&[Setup { slots: 2, deaths: 1, ..more }]);
}

#[test]
fn a_status_is_a_value_of_its_time() {
    let hits = [Hit(A, At(1)), Hit(B, At(1))];
    explore(&[Setup { deaths: 1, ..Setup::of(&[&hits, &[Status(A, At(1))], &hits, &[Flush]]) }]);
}

#[test]
fn a_window_that_was_dropped_is_not_opened_again() {
    let timed = |last| {
        let setup = Setup::of(&[&[Hit(A, Clock)], &[Hit(A, Clock)], &[Hit(B, Clock)], &[last]]);
        Setup { times: vec![1, 3], auto_prune: true, deaths: 1, ..setup }
    };
    let old = Setup::of(&[&[Hit(A, At(1)), Hit(B, Clock)], &[Hit(B, At(1))], &[Flush], &[Sweep]]);
    explore(&[
        timed(Flush),
        timed(Sweep).with_row(1, A, (1, 0)),
        Setup { times: vec![1, 3], auto_prune: true, deaths: 1, ..old },
    ]);
    explore_in_soak(&[Setup { times: vec![1, 2, 3], ..timed(Flush) }]);
}

#[test]
fn what_a_failed_commit_leaves_is_written_later() {
    let hits = [Hit(A, At(1)), Hit(A, At(1))];
    let setup = Setup::of(&[&hits, &[Hit(B, At(1))], &[Flush, Flush], &[Flush]]);
    explore(&[Setup { deaths: 1, failures: 2, ..setup }]);
}

#[test]
fn a_durable_hit_is_in_sqlite_or_taken_back() {
    let two = [DurableHit(A, At(1)), Hit(A, At(1))];
    let setup = Setup::of(&[&[DurableHit(A, At(1))], &two, &[Hit(B, At(1))], &[Flush]]);
    explore(&[Setup { failures: 2, ..setup.clone() }]);
    explore_in_soak(&[Setup { failures: 1, deaths: 2, ..setup }]);
}

#[test]
fn marks_of_three_writers_land_in_any_order() {
    explore(&[three_writers()]);
}

fn three_writers() -> Setup {
    let durable = [DurableHit(A, At(1))];
    let last = [Hit(A, At(1)), Hit(B, At(1))];
    // Attempts lie across the middle of the word.
    Setup { low_bits: 1, ..Setup::of(&[&durable, &durable, &[Flush], &last]) }
}

#[test]
fn whoever_is_left_alone_comes_to_an_end() {
    let setup = Setup::of(&[&[Prune(3)], &[HitBoth(A, At(1))], &[Hit(A, At(2))]]);
    explore(&[Setup { slots: 2, deaths: 1, alone: true, ..setup }]);
}

#[test]
fn random_ways_of_random_set_ups_break_nothing() {
    let ways = if is_soak() { 2_000_000 } else { 40_000 };
    let mut steps = 0;
    for seed in 1..=ways {
        let mut random = Random::new(seed);
        let setup = Setup::random(&mut random);
        match World::new(&setup).walk(&mut random) {
            Verdict::Green { steps: walked, .. } => steps += walked,
            Verdict::Red { complaint, trace } => {
                panic!("seed {seed}: {complaint}\n{setup:?}\n{trace}")
            }
        }
    }
    println!("{ways} ways, {steps} steps");
}

/// The set-up is green, and red without the rule.
fn find(rule: Broken, setup: &Setup) {
    explore(std::slice::from_ref(setup));
    match World::without(rule, setup).explore() {
        Verdict::Green { .. } => panic!("nobody misses the rule of {rule:?}"),
        Verdict::Red { complaint, trace } => {
            println!("{rule:?} after {} steps: {complaint}", trace.lines().count());
        }
    }
}

#[test]
fn each_broken_rule_is_found() {
    let hit = [Hit(A, At(1))];
    let cycle = Setup::of(&[&[Hit(A, At(1)), Hit(B, At(1)), Hit(A, At(1))], &[Flush, Flush]]);
    let half = Setup::of(&[&hit, &[Hit(B, At(2))], &[Hit(A, At(2))]]);
    let told = Setup::of(&[&[Hit(A, At(1)), Hit(A, At(1))], &[Flush, Flush]]);
    let marks = Setup::of(&[&[DurableHit(A, At(1))], &[DurableHit(A, At(1)), Hit(B, At(1))]]);
    let marks = Setup { limits: [2, 2], ..marks }.with_row(1, B, (1, 1));
    let pruned = Setup::of(&[&hit, &[Prune(3)], &[Flush]]);
    find(Broken::NoSecondLook, &Setup { slots: 2, ..Setup::of(&[&hit, &hit]) });
    find(Broken::MarkWithoutTag, &cycle);
    find(Broken::EvictionUnwritten, &cycle);
    find(Broken::NoSpill, &cycle);
    find(Broken::PublishedBeforeIdentity, &half);
    find(Broken::ReadBeforeTheWriteLock, &marks);
    find(Broken::NoTagRecheck, &cycle);
    find(Broken::BitLookedAtBeforeTheCount, &told);
    find(Broken::BitsClearedAfterReading, &told);
    find(Broken::RowDeletedBeforeTheSlotIsFreed, &pruned);
    find(Broken::AddWithoutTagCheck, &half);
    find(Broken::WritersMarkInTwoStores, &marks);
    find(Broken::ClaimersMarkInTwoStores, &marks);
}

#[test]
fn each_rule_that_was_added_is_needed() {
    let hit = [Hit(A, At(1))];
    let pruned = Setup::of(&[&hit, &[Prune(3)], &[Flush]]);
    let pruned_first = Setup::of(&[&[Prune(3)], &[Hit(A, At(1)), Hit(B, At(2))]]);
    find(Broken::PrunedTakenForClean, &pruned);
    find(Broken::PrunedUntilRaisedLast, &pruned);
    find(Broken::PrunedNeverLetGo, &Setup { alone: true, ..pruned_first });

    let timed = |setup| Setup { times: vec![1, 3], auto_prune: true, ..setup };
    let dropped = Setup::of(&[&[Hit(A, Clock)], &[Hit(A, Clock)], &[Hit(B, Clock)]]);
    let swept = Setup::of(&[&[Hit(A, Clock)], &[Sweep]]).with_row(1, A, (1, 1));
    find(Broken::ClockReadOnce, &timed(dropped));
    find(Broken::ClockNotReadAfterTheRow, &timed(swept));

    find(Broken::RoundFlaggedLate, &Setup { deaths: 1, ..Setup::of(&[&hit, &[Flush]]) });
    let undone = Setup::of(&[&[HitBoth(A, At(1))], &[Hit(B, At(1))], &[Flush]]);
    find(Broken::UndoNotAnnounced, &Setup { slots: 2, ..undone });

    let ended = |setup| Setup { most: 2, limits: [2, 2], ..setup };
    let refund = [Refund(A, At(1)), Hit(A, At(1))];
    let claimed = Setup::of(&[&refund, &[Flush]]).with_row(1, A, (2, 2));
    let refunded = Setup::of(&[&[Hit(A, At(1)), Hit(A, At(1))], &refund, &[Flush, Flush]]);
    find(Broken::RefundClaimedAsStored, &ended(claimed));
    find(Broken::RefundWithinALife, &ended(refunded));

    let left = Setup::of(&[&[Hit(A, At(1)), Hit(A, At(1))], &[Hit(B, At(1))]]);
    find(Broken::LeftTakenForFullCircle, &left);
    find(Broken::MarkReadInHalves, &three_writers());
    let own = Setup::of(&[&[Hit(A, At(2)), HitBoth(A, At(1))]]).with_row(1, A, (1, 0));
    let own = Setup { slots: 2, limits: [2, 1], no_undo_missed: true, ..own };
    find(Broken::OwnSlotTaken, &own.with_row(1, B, (1, 1)));
}

/// What the protocol does not promise, and that this is no blindness of the model.
#[test]
fn known_limits_are_seen() {
    let is_seen = |setup: &Setup| matches!(World::new(setup).explore(), Verdict::Red { .. });
    let cycles = [Hit(B, At(1)), Hit(A, At(1)), Hit(B, At(1))];
    let circle = Setup::of(&[&[Hit(A, At(1))], &cycles, &[Flush]]);
    assert!(is_seen(&Setup { tag_mask: 0b11, ..circle.clone() }), "a tag that goes full circle");
    explore(&[circle]);
    // The row keeps the unit, as it would after a death.
    let left = Setup::of(&[&[HitBoth(A, At(1))], &[Hit(A, At(2))]]).with_row(1, B, (1, 1));
    let left = Setup { slots: 2, limits: [2, 1], ..left };
    let strict = Setup { no_undo_missed: true, ..left.clone() };
    assert!(is_seen(&strict), "a unit that is reserved in a slot that is left");
    explore(&[left]);
}
