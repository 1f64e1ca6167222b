//! Servers that are not what they were, and answers that no Redis gives.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use ratelite::{Code, Limiter, Options};

use super::server::{Server, wait_until};
use super::switch::Switch;

const POLICY: &str = "r: 1000000/day";

fn open(switch: &Switch, options: &Options) -> Limiter {
    Limiter::open(&switch.url(), POLICY, options).unwrap()
}

fn hit(limiter: &Limiter) -> ratelite::Result<ratelite::Outcome> {
    limiter.hit(None, b"client", 1, None)
}

#[test]
fn connections_that_nobody_answers_any_more_are_all_left_at_once() {
    let server = Server::start();
    let switch = Switch::to(server.port());
    let mut options = Options::default();
    (options.connect_timeout, options.command_timeout) =
        (Duration::from_secs(2), Duration::from_secs(2));
    let limiter = open(&switch, &options);
    hit(&limiter).unwrap();
    server.ask::<()>(&["CLIENT", "PAUSE", "50", "ALL"]);
    // As many connections as there are calls at once.
    thread::scope(|scope| {
        (0..24).for_each(|_| {
            scope.spawn(|| hit(&limiter).unwrap());
        });
    });
    switch.swallow_all_of_now();
    assert_eq!(hit(&limiter).unwrap_err().code(), Code::Unavailable);
    let begin = Instant::now();
    wait_until("hits are answered", || hit(&limiter).is_ok());
    // One by one it would be 48.
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_name_that_leads_to_another_master_is_followed_by_the_next_hit() {
    let (first, second) = (Server::start(), Server::start());
    let switch = Switch::to(first.port());
    let limiter = open(&switch, &Options::default());
    assert_eq!(hit(&limiter).unwrap().count, 1);
    first.ask::<()>(&["REPLICAOF", "127.0.0.1", &second.port().to_string()]);
    switch.lead_to(second.port());
    assert_eq!(hit(&limiter).unwrap().count, 1);
    assert_eq!(hit(&limiter).unwrap().count, 2);
}

/// A server of one connection that says to each call what comes next.
fn that_says(answers: &'static [&'static [&'static str]]) -> Limiter {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        for answers in answers {
            if stream.read(&mut buffer).unwrap_or(0) == 0 {
                return;
            }
            let whole: String = answers
                .iter()
                .map(|counts| {
                    let numbers = counts.split(' ').map(|number| format!(":{number}\r\n"));
                    format!("*3\r\n:1767225645000\r\n{}", numbers.collect::<String>())
                })
                .collect();
            stream.write_all(whole.as_bytes()).unwrap();
        }
        let _ = stream.read(&mut buffer);
    });
    Limiter::open(&format!("redis://{address}"), "r: 3/day", &Options::default()).unwrap()
}

#[test]
fn an_answer_too_many_is_nobodys() {
    let limiter = that_says(&[&["0 0", "9 0"], &["1 1"]]);
    assert_eq!(hit(&limiter).unwrap().count, 1);
    assert_eq!(hit(&limiter).unwrap().count, 2);
}

#[test]
fn counts_that_no_counter_can_have_are_no_answer() {
    for counts in [&["-5 -5"], &["5 -9223372036854775808"], &["9007199254740992 0"]] {
        let counts: &'static [&'static str; 1] = counts;
        let answers: &'static [&'static [&'static str]] = Box::leak(Box::new([&counts[..]]));
        let error = hit(&that_says(answers)).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{error}");
    }
}

/// Whatever `auto_prune` says.
#[test]
fn past_windows_never_pile_up_on_a_server() {
    let server = Server::start();
    let mut options = Options::default();
    options.auto_prune = false;
    let limiter = Limiter::open(&server.url(), "r: 9/30ms, 9/day", &options).unwrap();
    hit(&limiter).unwrap();
    let key = server.keys().pop().unwrap();
    // As a library left them that did not remove them.
    for chunk in (0..20_000).collect::<Vec<i64>>().chunks(5_000) {
        let fields =
            chunk.iter().flat_map(|start| [format!("30:{}", start * 30), "1 1".to_owned()]);
        let words: Vec<_> = ["HSET".to_owned(), key.clone()].into_iter().chain(fields).collect();
        server.ask::<i64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
    thread::sleep(Duration::from_millis(35));
    hit(&limiter).unwrap();
    assert!(server.ask::<i64>(&["HLEN", &key]) <= 4);
}

#[test]
fn a_rule_of_more_limits_than_a_script_takes_is_refused_when_it_is_opened() {
    let limits: Vec<_> = (1..=25).map(|ms| format!("5/{ms}ms")).collect();
    let policy = format!("r: {}", limits.join(", "));
    let error = Limiter::open("redis://127.0.0.1:1", &policy, &Options::default()).err().unwrap();
    assert_eq!(error.code(), Code::Invalid, "{error}");
    let server = Server::start();
    let policy = format!("r: {}", limits[1..].join(", "));
    let limiter = Limiter::open(&server.url(), &policy, &Options::default()).unwrap();
    assert!(hit(&limiter).unwrap().allowed);
}
