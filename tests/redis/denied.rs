//! Denials that a process remembers: a flood costs no round trip, and nobody is denied for longer.

use std::thread;
use std::time::{Duration, Instant};

use ratelite::{Code, Limiter, Options};

use super::server::{Server, wait_until};
use super::switch::Switch;

fn open(server: &Server, policy: &str, interval_ms: u64) -> Limiter {
    Limiter::open(&server.url(), policy, &options(interval_ms)).unwrap()
}

fn options(interval_ms: u64) -> Options {
    let mut options = Options::default();
    options.remember_denied = true;
    options.flush_interval = Duration::from_millis(interval_ms);
    options
}

#[test]
fn a_flood_that_is_refused_costs_no_round_trip() {
    let server = Server::start();
    let limiter = open(&server, "2/day", 60_000);
    for _ in 0..3 {
        limiter.hit(None, b"client", 1, None).unwrap();
    }
    let (before, begun) = (server.commands(), Instant::now());
    for count in 4..=10_003 {
        let outcome = limiter.hit(None, b"client", 1, None).unwrap();
        assert!(!outcome.allowed && outcome.retry_after > 0);
        assert_eq!((outcome.count, outcome.remaining), (count, 0));
    }
    println!("{:?} each", begun.elapsed() / 10_000);
    assert!(server.commands() - before < 10);
    // Others see it when it is told; this process at once.
    let other = Limiter::open(&server.url(), "2/day", &Options::default()).unwrap();
    assert_eq!(other.status(None, b"client", None).unwrap().count, 3);
    assert_eq!(limiter.status(None, b"client", None).unwrap().count, 10_003);
}

#[test]
fn attempts_are_told_ever_more_seldom() {
    let server = Server::start();
    let limiter = open(&server, "2/day", 50);
    let mut hits = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(500) {
        limiter.hit(None, b"client", 1, None).unwrap();
        hits += 1;
    }
    let other = Limiter::open(&server.url(), "2/day", &Options::default()).unwrap();
    assert!(other.status(None, b"client", None).unwrap().count > hits / 4);
    // Eight times the interval is the longest.
    thread::sleep(Duration::from_millis(410));
    // One more hit tells the rest.
    limiter.hit(None, b"client", 1, None).unwrap();
    assert_eq!(other.status(None, b"client", None).unwrap().count, hits + 1);
    assert!(server.commands() < 100);
}

#[test]
fn one_hit_tells_of_all_whose_turn_is_near() {
    let server = Server::start();
    let (limiter, another) = (open(&server, "2/day", 50), open(&server, "2/day, 2/month", 50));
    let clients: Vec<_> = (0..100).map(|number| format!("client {number}").into_bytes()).collect();
    let flood = |limiter: &Limiter, clients: &[Vec<u8>]| {
        for client in clients {
            (0..5).for_each(|_| {
                limiter.hit(None, client, 1, None).unwrap();
            });
        }
    };
    flood(&another, &clients[60..]);
    flood(&limiter, &clients[..60]);
    thread::sleep(Duration::from_millis(60));
    let before = server.commands();
    limiter.hit(None, &clients[0], 1, None).unwrap();
    limiter.hit(None, &clients[0], 1, None).unwrap();
    // A hit, and 64 of the others; those of another policy know scripts that the server has, too.
    let told = server.commands() - before;
    println!("{told} commands");
    let other = Limiter::open(&server.url(), "2/day", &Options::default()).unwrap();
    let is_told = |client: &&Vec<u8>| other.status(None, client, None).unwrap().count == 5;
    let told = clients[1..].iter().filter(is_told).count();
    assert_eq!(told, 64);
    // Nobody is let in by it, nor forgotten.
    let outcome = limiter.hit(None, &clients[1], 1, None).unwrap();
    assert!(!outcome.allowed && outcome.count >= 6, "{outcome:?}");
}

/// To the millisecond, by the server's clock: each window is granted in full.
#[test]
fn nobody_is_denied_beyond_the_window() {
    let server = Server::start();
    let limiter = open(&server, "1/20ms", 60_000);
    let (mut windows, mut last, begun) = (0, 0, Instant::now());
    while begun.elapsed() < Duration::from_secs(1) {
        let outcome = limiter.hit(None, b"client", 1, None).unwrap();
        assert!((0..20).contains(&(outcome.now_ms - outcome.window_start_ms)));
        if outcome.allowed {
            assert!(outcome.window_start_ms > last, "a window granted twice");
            (windows, last) = (windows + 1, outcome.window_start_ms);
        }
    }
    println!("{windows} of about 50 windows");
    assert!(windows >= 40, "{windows}");
}

#[test]
fn smaller_hits_that_may_fit_are_asked() {
    let server = Server::start();
    let limiter = open(&server, "10/day", 60_000);
    assert!(limiter.hit(None, b"client", 7, None).unwrap().allowed);
    assert!(!limiter.hit(None, b"client", 5, None).unwrap().allowed);
    assert!(!limiter.hit(None, b"client", 4, None).unwrap().allowed);
    let outcome = limiter.hit(None, b"client", 3, None).unwrap();
    assert_eq!((outcome.allowed, outcome.count), (true, 19));
}

#[test]
fn what_this_process_gives_back_is_there_at_once_and_what_another_does_after_the_interval() {
    let server = Server::start();
    let limiter = open(&server, "1/day", 100);
    let other = Limiter::open(&server.url(), "1/day", &Options::default()).unwrap();
    let hit = || limiter.hit(None, b"client", 1, None).unwrap().allowed;
    assert!(hit() && !hit() && !hit());
    limiter.refund(None, b"client", 1, None).unwrap();
    assert!(hit() && !hit());
    assert_eq!(limiter.reset(None, b"client").unwrap(), 1);
    assert!(hit() && !hit());
    other.refund(None, b"client", 1, None).unwrap();
    let begun = Instant::now();
    wait_until("the refund is seen", hit);
    assert!(begun.elapsed() < Duration::from_millis(300), "{:?}", begun.elapsed());
}

/// Whatever limiter of this process gives back, if its counters stand in the same places.
#[test]
fn what_another_limiter_of_this_process_gives_back_is_there_at_once() {
    let server = Server::start();
    let limiter = open(&server, "api: 1/day", 60_000);
    let other = open(&server, "api: 1/day, 5/h", 60_000);
    let plain = Limiter::open(&server.url(), "api: 1/day", &Options::default()).unwrap();
    let hit = || limiter.hit(None, b"client", 1, None).unwrap().allowed;
    assert!(hit() && !hit() && !hit());
    assert_eq!(other.reset(None, b"client").unwrap(), 1);
    assert!(hit() && !hit() && !hit());
    plain.refund(None, b"client", 1, None).unwrap();
    assert!(hit() && !hit());
}

/// The answer to a denied hit is late, and what it says is past when it comes.
#[test]
fn a_denial_that_was_under_way_does_not_outlast_what_was_given_back() {
    let server = Server::start();
    let switch = Switch::to(server.port());
    let mut options = options(60_000);
    options.connect_timeout = Duration::from_secs(10);
    options.command_timeout = Duration::from_secs(10);
    for gives_back in [
        |limiter: &Limiter| {
            limiter.reset(None, b"client").unwrap();
        },
        |limiter: &Limiter| {
            limiter.refund(None, b"client", 1, None).unwrap();
        },
    ] {
        let limiter = Limiter::open(&switch.url(), "1/day", &options).unwrap();
        let direct = Limiter::open(&server.url(), "1/day", &Options::default()).unwrap();
        direct.reset(None, b"client").unwrap();
        let hit = || limiter.hit(None, b"client", 1, None).unwrap();
        assert!(hit().allowed);
        thread::scope(|scope| {
            switch.delay_next_answer(Duration::from_millis(300));
            let late = scope.spawn(hit);
            wait_until("the server has counted it", || {
                direct.status(None, b"client", None).unwrap().count == 2
            });
            gives_back(&limiter);
            assert!(!late.join().unwrap().allowed);
        });
        assert!(hit().allowed);
    }
}

/// A server that was asked in vain has said nothing: the next hit asks.
#[test]
fn a_lost_answer_is_no_denial() {
    let server = Server::start();
    let switch = Switch::to(server.port());
    let limiter = Limiter::open(&switch.url(), "1/day", &options(2_000)).unwrap();
    let direct = Limiter::open(&server.url(), "1/day", &Options::default()).unwrap();
    let hit = || limiter.hit(None, b"client", 1, None);
    wait_until("it is denied", || hit().is_ok_and(|outcome| !outcome.allowed));
    thread::sleep(Duration::from_millis(2_050));
    switch.swallow_all_of_now();
    assert_eq!(hit().unwrap_err().code(), Code::Unavailable);
    direct.refund(None, b"client", 1, None).unwrap();
    wait_until("others are answered", || limiter.hit(None, b"another", 1, None).is_ok());
    assert!(hit().unwrap().allowed);
}

#[test]
fn attempts_that_cannot_be_told_are_kept() {
    let mut server = Server::start();
    let limiter = open(&server, "2/day", 1);
    let flood = |hits: i64| {
        (0..hits).for_each(|_| drop(limiter.hit(None, b"client", 1, None)));
    };
    flood(100);
    let count = || limiter.status(None, b"client", None).unwrap().count;
    assert_eq!(count(), 100);
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    thread::sleep(Duration::from_millis(20));
    // Not counted, since it could not be.
    assert_eq!(limiter.hit(None, b"client", 1, None).unwrap_err().code(), Code::Full);
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(limiter.hit(None, b"client", 1, None).unwrap().count, 101);
    let other = Limiter::open(&server.url(), "2/day", &Options::default()).unwrap();
    assert_eq!(other.status(None, b"client", None).unwrap().count, 101);
    server.kill();
}

#[test]
fn a_limiter_that_is_closed_tells_all() {
    let server = Server::start();
    let limiter = open(&server, "2/day", 60_000);
    let clients: Vec<_> = (0..150).map(|number| format!("client {number}").into_bytes()).collect();
    for client in clients.iter().chain(&clients) {
        (0..10).for_each(|_| {
            limiter.hit(None, client, 1, None).unwrap();
        });
    }
    drop(limiter);
    let other = Limiter::open(&server.url(), "2/day", &Options::default()).unwrap();
    for client in &clients {
        assert_eq!(other.status(None, client, None).unwrap().count, 20);
    }
}

/// What was refused at a time counts in the windows that it fell into, also if time goes back.
#[test]
fn attempts_count_in_no_window_that_they_did_not_fall_into() {
    const START_MS: i64 = 1_767_225_600_000;
    let server = Server::start();
    let limiter = open(&server, "1/10s", 60_000);
    for _ in 0..100 {
        limiter.hit(None, b"client", 1, Some(START_MS + 10_000)).unwrap();
    }
    let outcome = limiter.hit(None, b"client", 1, Some(START_MS)).unwrap();
    assert_eq!((outcome.allowed, outcome.count), (true, 1));
    let other = Limiter::open(&server.url(), "1/10s", &Options::default()).unwrap();
    assert_eq!(other.status(None, b"client", Some(START_MS)).unwrap().count, 1);
}

/// A server that is away does not let in who was denied.
#[test]
fn the_denied_stay_denied_while_the_server_is_away() {
    let mut server = Server::start();
    let limiter = open(&server, "1/day", 60_000);
    assert!(limiter.hit(None, b"client", 1, None).unwrap().allowed);
    assert!(!limiter.hit(None, b"client", 1, None).unwrap().allowed);
    server.kill();
    assert!(!limiter.hit(None, b"client", 1, None).unwrap().allowed);
    assert!(limiter.hit(None, b"another", 1, None).is_err());
}
