//! Eight processes on one store, killed and begun anew for some seconds.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{self, Mode};
use crate::worker::{Kind, Worker, said};

/// What the policy of the workers grants of "few".
const FEW: i64 = 500;
/// A round is three seconds of kills, then the openers that come after.
const ROUNDS_OF_HITS: u32 = 7;
const ROUNDS_OF_EVERYTHING: u32 = 3;
const ROUNDS_OF_A_SOAK: u32 = 200;

#[test]
fn eight_processes_in_three_languages_lose_nothing_when_they_are_killed() {
    let kinds = [
        ("hits", false),
        ("hits", false),
        ("hits", false),
        ("python", false),
        ("python", false),
        ("python", false),
        ("php", false),
        ("php", false),
    ];
    survive(&kinds, ROUNDS_OF_HITS);
}

#[test]
fn everything_at_once_loses_nothing_when_it_is_killed() {
    let kinds = [
        ("prunes", false),
        ("audits", false),
        ("forks", false),
        ("hosts", false),
        ("hits", true),
        ("forks", true),
        ("python", true),
        ("php", true),
    ];
    survive(&kinds, ROUNDS_OF_EVERYTHING);
}

fn survive(kinds: &[Kind; 8], rounds: u32) {
    let directory = support::fresh_directory();
    let directory = directory.path();
    let store = directory.join("store.db");
    let mut dice = Dice(u64::from(std::process::id()) | 1);
    println!("seed {}", dice.0);
    let rounds = match support::mode() {
        _ if support::scale() > 1 => ROUNDS_OF_A_SOAK,
        Mode::Interval => rounds,
        Mode::Hit | Mode::Rows => rounds.div_ceil(2),
    };
    let (mut number, mut kills) = (0, 0);
    for _ in 0..rounds {
        let mut next = |kind| {
            number += 1;
            Worker::start(kind, directory, number)
        };
        let mut workers: Vec<Option<Worker>> = kinds.iter().map(|kind| Some(next(*kind))).collect();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_micros(dice.below(120_000)));
            let victim = &mut workers[dice.below(8) as usize];
            let kind = victim.take().unwrap().kill();
            *victim = Some(next(kind));
            kills += 1;
        }
        for worker in workers.into_iter().flatten() {
            worker.kill();
            kills += 1;
        }
        come_after(&store);
    }
    println!("{kills} kills");
    is_exact(directory, &store, i64::from(rounds) * 20);
}

/// Children that outlive their parents may still be hitting beside these.
fn come_after(store: &Path) {
    let program = support::compile("kills/openers.c", &["-lsqlite3"]);
    let report = support::run_well(&program, &support::library_dir(), 60, &[store]);
    println!("openers: {report}");
    assert_eq!(report.number("acknowledged"), 20, "{report}");
    assert!(report.number("slowest_ms") < 3_000, "{report}");
}

fn is_exact(directory: &Path, store: &Path, by_openers: i64) {
    wait_for_orphans(directory);
    if support::mode() == Mode::Interval {
        support::write_out(store);
    }
    let user = support::connect(store).unwrap();
    let number = |sql: &str| user.query_one(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let sum = |of: &str, rule: &str| {
        number(&format!(
            "SELECT ifnull(sum({of}), 0) FROM rate_limit_windows WHERE rule = '{rule}'"
        ))
    };
    let sound: String = user.query_one("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");

    let (answered, answered_audited) = (said(directory, b'>'), said(directory, b'!'));
    let in_flight = said(directory, b'<') - answered - answered_audited;
    // In a table a hit that is killed may be left in the first of its limits, and without its audit
    // row: it was not answered. In rows it is there as a whole or not at all.
    let cut_short = if support::mode() == Mode::Rows { 0 } else { in_flight };
    let several = [365, 366].map(|days: i64| {
        number(&format!(
            "SELECT ifnull(sum(attempts), 0) FROM rate_limit_windows
             WHERE rule = 'several' AND window_ms = {}",
            days * 86_400_000
        ))
    });
    let apart = several[0].abs_diff(several[1]) as i64;
    assert!(apart <= cut_short, "hits are in one of two limits only: {several:?}");
    let audited = sum("attempts", "audited");
    let rows = number("SELECT count(*) FROM api_calls WHERE rule = 'audited'");
    assert!(answered_audited <= rows, "{answered_audited} audited, {rows} rows");
    assert!((rows..=rows + cut_short).contains(&audited), "{audited} counted, {rows} rows");

    let acknowledged = answered + answered_audited + by_openers;
    let stored = sum("attempts", "attack") + audited;
    let (least, most) = (stored + several[0].min(several[1]), stored + several[0].max(several[1]));
    println!("acknowledged {acknowledged}, stored {least} to {most}, in flight {in_flight}");
    assert!(acknowledged <= least, "{acknowledged} acknowledged, {least} stored");
    assert!(most <= acknowledged + in_flight, "{most} stored, {acknowledged} + {in_flight}");
    assert!(acknowledged > 1_000, "too few to prove anything");

    let (granted, admitted) = (said(directory, b'+'), sum("admitted", "few"));
    assert_eq!(admitted, FEW, "{granted} granted");
    assert!(granted <= admitted, "{granted} granted of {FEW}");
    let (begun, noted) = (said(directory, b'['), said(directory, b']'));
    let notes = if begun > 0 { number("SELECT count(*) FROM host_notes") } else { 0 };
    assert!((noted..=begun).contains(&notes), "{notes} notes of {noted} to {begun}");
}

/// The words grow as long as a child of a killed parent hits.
fn wait_for_orphans(directory: &Path) {
    let mut before = -1;
    while before != said(directory, b'<') {
        before = said(directory, b'<');
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Marsaglia's xorshift: what it lacks in randomness the scheduler has.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
