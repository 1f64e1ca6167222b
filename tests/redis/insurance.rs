//! A file takes over while the server is away, and hands back.

use std::path::Path;
use std::time::{Duration, Instant};

use ratelite::{Code, Insurance, Limiter, Options, Outcome, Share, Style};
use serde_json::Value;

use super::server::{Server, wait_until};
use super::support;

fn options(file: &Path, grants: Share) -> Options {
    let mut options = Options::default();
    options.insurance = Some(Insurance { store: file.to_owned(), grants });
    options
}

fn hit(limiter: &Limiter) -> Outcome {
    limiter.hit(Some("r"), b"client", 1, None).unwrap()
}

fn insurance(limiter: &Limiter) -> Value {
    let info: Value = serde_json::from_str(&limiter.info().unwrap()).unwrap();
    info["insurance"].clone()
}

#[test]
fn a_file_takes_over_and_hands_back() {
    let directory = support::fresh_directory();
    let file = directory.path().join("local.db");
    let mut server = Server::start();
    let limiter =
        Limiter::open(&server.url(), "r: 10/day; s: 1/day", &options(&file, Share::Percent(25)));
    let limiter = limiter.unwrap();
    for count in 1..=8 {
        let outcome = hit(&limiter);
        assert_eq!((outcome.insured, outcome.count, outcome.limit), (false, count, 10));
    }
    assert_eq!(insurance(&limiter)["active"], false);
    assert_eq!(insurance(&limiter)["cause"], Value::Null);
    server.kill();
    // A quarter of ten, rounded down, from the beginning.
    for (count, allowed) in [(1, true), (2, true), (3, false)] {
        let outcome = hit(&limiter);
        assert_eq!((outcome.insured, outcome.count, outcome.allowed), (true, count, allowed));
        assert_eq!(outcome.limit, 2);
        // What it says of itself is told by its own limits.
        assert!(limiter.headers(&outcome, Style::X).unwrap().contains("X-RateLimit-Limit: 2\r\n"));
        assert!(limiter.problem(&outcome).unwrap().contains("2 per 1d") || allowed);
    }
    let status = limiter.status(Some("r"), b"client", None).unwrap();
    assert_eq!((status.insured, status.count), (true, 3));
    assert!(limiter.refund(Some("r"), b"client", 1, None).unwrap().allowed);
    assert_eq!(insurance(&limiter)["active"], true);
    assert!(insurance(&limiter)["cause"].as_str().unwrap().contains("store redis://"));
    assert_eq!(insurance(&limiter)["switches"], 1);
    assert_eq!(insurance(&limiter)["local"]["engine"], "sqlite");
    let begun = Instant::now();
    for _ in 0..1_000 {
        assert!(hit(&limiter).insured);
    }
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    server.restart();
    wait_until("the server answers again", || !hit(&limiter).insured);
    // Its counters are its own: this one had none that lasted.
    assert!(hit(&limiter).count <= 3);
    assert_eq!(insurance(&limiter)["switches"], 2);
    assert!(insurance(&limiter)["switched_ms"].as_i64().unwrap() > 1_700_000_000_000);
    // Forgotten in both.
    assert!(limiter.reset(Some("r"), b"client").unwrap() >= 2);
    server.kill();
    assert_eq!(hit(&limiter).count, 1);
}

#[test]
fn it_may_have_a_policy_of_its_own() {
    let directory = support::fresh_directory();
    let file = directory.path().join("local.db");
    let mut server = Server::start();
    server.kill();
    let own = Share::Policy("r: 1/min, 3/day; s: 9/s".into());
    let limiter =
        Limiter::open(&server.url(), "r: 10/day; s: 1/day", &options(&file, own)).unwrap();
    let outcome = limiter.hit(Some("s"), b"client", 1, None).unwrap();
    assert_eq!((outcome.insured, outcome.limit, outcome.rule), (true, 9, 1));
    let now = Some(1_767_225_645_000);
    assert!(limiter.hit(Some("r"), b"client", 1, now).unwrap().allowed);
    let outcome = limiter.hit(Some("r"), b"client", 1, now).unwrap();
    assert_eq!((outcome.allowed, outcome.limit, outcome.limit_index), (false, 1, 0));
    assert!(limiter.headers(&outcome, Style::Ietf).is_ok());
    // A result of an insurance is foreign to a limiter without one.
    let other = Limiter::open(":memory:", "r: 1/min, 3/day; s: 9/s", &Options::default()).unwrap();
    assert_eq!(other.headers(&outcome, Style::X).unwrap_err().code(), Code::Invalid);
}

#[test]
fn what_makes_no_insurance_is_refused_when_it_is_opened() {
    let directory = support::fresh_directory();
    let file = directory.path().join("local.db");
    let open = |store: &str, file: &Path, grants| {
        Limiter::open(store, "r: 10/day; s: 1/day", &options(file, grants)).err().unwrap().code()
    };
    let server = "redis://127.0.0.1:1";
    for (policy, code) in [
        ("r: 1/s", Code::Policy),
        ("s: 1/s; r: 1/s", Code::Policy),
        ("r: 1/s; s: 1/s; t: 1/s", Code::Policy),
        ("r: 1/s; s: many", Code::Policy),
    ] {
        assert_eq!(open(server, &file, Share::Policy(policy.into())), code, "{policy}");
    }
    for percent in [0, 101] {
        assert_eq!(open(server, &file, Share::Percent(percent)), Code::Invalid);
    }
    assert_eq!(open(server, Path::new(""), Share::Percent(1)), Code::Invalid);
    assert_eq!(open(server, Path::new("redis://127.0.0.1"), Share::Percent(1)), Code::Invalid);
    assert_eq!(open(server, Path::new("/nowhere/local.db"), Share::Percent(1)), Code::Invalid);
    let of_a_file = directory.path().join("limits.db");
    assert_eq!(open(of_a_file.to_str().unwrap(), &file, Share::Percent(1)), Code::Invalid);
}

/// A caller's mistake is no failure of the server.
#[test]
fn mistakes_are_not_insured() {
    let directory = support::fresh_directory();
    let file = directory.path().join("local.db");
    let server = Server::start();
    let limiter = Limiter::open(&server.url(), "r: 10/day", &options(&file, Share::Percent(100)));
    let limiter = limiter.unwrap();
    assert_eq!(limiter.hit(Some("x"), b"client", 1, None).unwrap_err().code(), Code::NoRule);
    assert_eq!(limiter.hit(None, b"", 1, None).unwrap_err().code(), Code::Invalid);
    assert_eq!(insurance(&limiter)["switches"], 0);
}

/// Also where the server is up and refuses everybody.
#[test]
fn a_full_server_is_insured() {
    let directory = support::fresh_directory();
    let file = directory.path().join("local.db");
    let server = Server::with(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let limiter = Limiter::open(&server.url(), "r: 10/day", &options(&file, Share::Percent(100)));
    assert!(hit(limiter.as_ref().unwrap()).insured);
}
