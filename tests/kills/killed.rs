//! Eight processes on one store, killed and begun anew for some seconds.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support;
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
    make_host_table(&store);
    let mut dice = Dice(u64::from(std::process::id()) | 1);
    println!("seed {}", dice.0);
    let rounds = if support::scale() == 1 { rounds } else { ROUNDS_OF_A_SOAK };
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
    let user = Connection::open(store).unwrap();
    let number = |sql: &str| user.query_one(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let sum = |of: &str, rule: &str| {
        number(&format!(
            "SELECT ifnull(sum({of}), 0) FROM rate_limit_windows WHERE rule = '{rule}'"
        ))
    };
    let sound: String = user.query_one("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");

    // Two limits, so two rows for each hit.
    let several = sum("attempts", "several");
    assert_eq!(several % 2, 0, "a hit is in one of its two limits only");
    let audited = sum("attempts", "audited");
    assert_eq!(number("SELECT count(*) FROM api_calls WHERE rule = 'audited'"), audited);
    let stored = sum("attempts", "attack") + several / 2 + audited;
    let acknowledged = said(directory, b'>') + by_openers;
    let in_flight = said(directory, b'<') - said(directory, b'>');
    println!("acknowledged {acknowledged}, stored {stored}, in flight {in_flight}");
    assert!(acknowledged <= stored, "{acknowledged} acknowledged, {stored} stored");
    assert!(stored <= acknowledged + in_flight, "{stored} stored, {acknowledged} + {in_flight}");
    assert!(acknowledged > 1_000, "too few to prove anything");

    let (granted, admitted) = (said(directory, b'+'), sum("admitted", "few"));
    assert_eq!(admitted, FEW, "{granted} granted");
    assert!(granted <= admitted, "{granted} granted of {FEW}");
    let (begun, noted) = (said(directory, b'['), said(directory, b']'));
    let notes = number("SELECT count(*) FROM host_notes");
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

fn make_host_table(store: &Path) {
    drop(ratelite::Limiter::open(store.to_str().unwrap(), "1/s", &Default::default()).unwrap());
    let host = Connection::open(store).unwrap();
    host.execute_batch("CREATE TABLE host_notes (n)").unwrap();
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
