//! What happens to a server, and what becomes of the hits: never an allowance too many beyond what the
//! README says of that fault, never a call that hangs, and recovery without anybody's help.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ratelite::{Code, Limiter, Options, Outcome};
use serde_json::Value;

use super::server::{Server, free_port, wait_until};

const KEY: &[u8] = b"K3Y-M4RK";
const POLICY: &str = "r: 1000000/day";

fn open(store: &str) -> Limiter {
    Limiter::open(store, POLICY, &Options::default()).unwrap()
}

fn patient(store: &str) -> Limiter {
    let mut options = Options::default();
    (options.connect_timeout, options.command_timeout) =
        (Duration::from_secs(10), Duration::from_secs(10));
    Limiter::open(store, POLICY, &options).unwrap()
}

fn hit(limiter: &Limiter) -> ratelite::Result<Outcome> {
    limiter.hit(None, KEY, 1, None)
}

/// A hit that fails, by which code and in which words.
fn failure(limiter: &Limiter) -> (Code, String) {
    let error = hit(limiter).expect_err("a failure");
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.contains("M4RK"), "{text}");
    (error.code(), text)
}

fn info(limiter: &Limiter) -> Value {
    serde_json::from_str(&limiter.info().unwrap()).unwrap()
}

fn recovers(limiter: &Limiter) {
    wait_until("hits are answered again", || hit(limiter).is_ok());
}

#[test]
fn a_dead_server_costs_microseconds_a_hit_and_is_noticed_when_it_is_back() {
    let mut server = Server::start();
    let limiter = open(&server.url());
    assert_eq!(hit(&limiter).unwrap().count, 1);
    assert_eq!(info(&limiter)["reachable"], true);
    server.kill();
    let (code, _) = failure(&limiter);
    assert_eq!(code, Code::Unavailable);
    let (mut quick, begun) = (0, Instant::now());
    while begun.elapsed() < Duration::from_secs(2) {
        let before = Instant::now();
        let (code, text) = failure(&limiter);
        assert_eq!(code, Code::Unavailable);
        assert!(text.contains("refused"), "{text}");
        quick += u32::from(before.elapsed() < Duration::from_micros(100));
    }
    let mean = begun.elapsed() / quick.max(1);
    println!("{quick} refusals, {mean:?} each");
    assert!(mean < Duration::from_micros(100), "{mean:?}");
    let told = info(&limiter);
    assert_eq!((&told["reachable"], &told["resting"]), (&Value::Bool(false), &Value::Bool(true)));
    assert!(told["cause"].as_str().unwrap().contains("refused"));
    server.restart();
    let begun = Instant::now();
    recovers(&limiter);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    // Nothing was kept: the server has no persistence.
    assert_eq!(hit(&limiter).unwrap().count, 2);
    assert_eq!(info(&limiter)["resting"], false);
}

/// As a balancer does whose servers are away: nobody is asked but by one in each pause.
#[test]
fn a_server_that_closes_at_once_is_left_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let limiter = open(&format!("redis://{}", listener.local_addr().unwrap()));
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = std::sync::Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        assert_eq!(failure(&limiter).0, Code::Unavailable);
    }
    let asked = asked.load(Ordering::Relaxed);
    // After pauses of 100, 200, 400 and 800 ms.
    assert!((3..=5).contains(&asked), "{asked}");
}

#[test]
fn a_limiter_is_opened_while_its_server_is_away() {
    let mut server = Server::start();
    server.kill();
    let limiter = open(&server.url());
    assert_eq!(failure(&limiter).0, Code::Unavailable);
    assert_eq!(limiter.status(None, KEY, None).unwrap_err().code(), Code::Unavailable);
    assert_eq!(limiter.reset(None, KEY).unwrap_err().code(), Code::Unavailable);
    assert_eq!(limiter.prune(None).unwrap(), 0);
    server.restart();
    recovers(&limiter);
}

/// With `appendfsync always`, what was answered is on the disk.
#[test]
fn a_persistent_server_that_is_killed_grants_no_unit_twice() {
    const LIMIT: u32 = 20_000;
    let mut server = Server::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (policy, url) = (format!("r: {LIMIT}/366d"), server.url());
    let stop = AtomicBool::new(false);
    let (allowed, answered) = thread::scope(|scope| {
        let work = || {
            let limiter = Limiter::open(&url, &policy, &Options::default()).unwrap();
            let (mut allowed, mut answered) = (0u32, 0u32);
            while !stop.load(Ordering::Relaxed) {
                if let Ok(outcome) = hit(&limiter) {
                    allowed += u32::from(outcome.allowed);
                    answered += 1;
                }
            }
            (allowed, answered)
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(250));
            server.restart();
        }
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    println!("{allowed} allowed of {answered} answered");
    assert!(allowed <= LIMIT && answered > 100, "{allowed} of {answered}");
    let limiter = Limiter::open(&url, &policy, &Options::default()).unwrap();
    recovers(&limiter);
    let status = limiter.status(None, KEY, None).unwrap();
    assert!(status.count >= i64::from(answered), "{answered} answered, {} stored", status.count);
}

#[test]
fn a_server_that_hangs_is_given_up_and_comes_back() {
    let server = Server::start();
    let limiter = open(&server.url());
    hit(&limiter).unwrap();
    server.signal(libc::SIGSTOP);
    let begun = Instant::now();
    let (code, text) = failure(&limiter);
    assert_eq!(code, Code::Unavailable);
    assert!(text.contains("no answer: timed out"), "{text}");
    assert!((80..400).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(failure(&limiter).0, Code::Unavailable);
    assert!(begun.elapsed() < Duration::from_millis(20), "{:?}", begun.elapsed());
    // A connection that is accepted by the system alone, and a login that nobody answers.
    let other = open(&format!("{}/1?prefix=other", server.url()));
    let begun = Instant::now();
    let (_, text) = failure(&other);
    assert!(text.contains("cannot connect: timed out"), "{text}");
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
    server.signal(libc::SIGCONT);
    recovers(&limiter);
    // The one whose answer was lost ran, or did not; it was not sent twice.
    let count = hit(&limiter).unwrap().count;
    assert!((3..=4).contains(&count), "{count}");
}

#[test]
fn a_slow_server_is_waited_for_as_long_as_was_said() {
    let server = Server::start();
    let (hasty, patient) = (open(&server.url()), patient(&server.url()));
    hit(&hasty).unwrap();
    server.ask::<()>(&["CLIENT", "PAUSE", "400", "ALL"]);
    assert_eq!(failure(&hasty).0, Code::Unavailable);
    let begun = Instant::now();
    // The first, perhaps the one that was given up, and this.
    let count = hit(&patient).unwrap().count;
    assert!((2..=3).contains(&count), "{count}");
    assert!(begun.elapsed() > Duration::from_millis(150), "{:?}", begun.elapsed());
}

/// Byte by byte: no read waits for long, the whole does.
#[test]
fn an_answer_in_drops_does_not_outlast_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            for _ in 0..1000 {
                if stream.write_all(b"+").is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let begun = Instant::now();
    let (code, text) = failure(&open(&store));
    assert_eq!(code, Code::Unavailable);
    assert!(text.contains("timed out"), "{text}");
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
}

#[test]
fn a_host_that_speaks_something_else_is_told_as_such() {
    for answer in
        ["HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0", "$-5\r\n", "*3\r\n:1\r\n$0\r\n\r\n:2\r\n"]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let store = format!("redis://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
            thread::sleep(Duration::from_millis(150));
        });
        let (code, text) = failure(&open(&store));
        assert_eq!(code, Code::Unavailable, "{answer:?}: {text}");
        server.join().unwrap();
    }
}

#[test]
fn a_port_where_nobody_listens_and_a_name_that_does_not_exist_are_told() {
    let (_, text) = failure(&open(&format!("redis://127.0.0.1:{}", free_port())));
    assert!(text.contains("refused"), "{text}");
    let (code, text) = failure(&open("redis://no-such-host.invalid"));
    assert_eq!(code, Code::Unavailable);
    assert!(text.contains("cannot connect"), "{text}");
    let (code, _) = failure(&open("redis+unix:///nowhere/redis.sock"));
    assert_eq!(code, Code::Unavailable);
}

#[test]
fn a_script_flush_loses_no_hit() {
    let server = Server::start();
    let limiter = open(&server.url());
    for number in 1..=200 {
        if number % 10 == 0 {
            server.ask::<()>(&["SCRIPT", "FLUSH"]);
        }
        assert_eq!(hit(&limiter).unwrap().count, number);
    }
}

#[test]
fn after_a_flushall_everybody_begins_anew() {
    let server = Server::start();
    let limiter = Limiter::open(&server.url(), "1/day", &Options::default()).unwrap();
    assert!(hit(&limiter).unwrap().allowed && !hit(&limiter).unwrap().allowed);
    server.ask::<()>(&["FLUSHALL"]);
    let outcome = hit(&limiter).unwrap();
    assert_eq!((outcome.allowed, outcome.count), (true, 1));
}

/// Before a command is sent it is seen whether the connection is still there.
#[test]
fn connections_that_the_server_closed_cost_no_hit() {
    let server = Server::start();
    let limiter = open(&server.url());
    for number in 1..=100 {
        server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert_eq!(hit(&limiter).unwrap().count, number);
    }
}

#[test]
fn an_expiry_that_somebody_removed_is_set_again() {
    let server = Server::start();
    let limiter = open(&server.url());
    hit(&limiter).unwrap();
    let key = server.keys().pop().unwrap();
    let expiry = || server.ask::<i64>(&["PTTL", &key]);
    let expected = expiry();
    assert!((86_000_000..=172_800_000).contains(&expected), "{expected}");
    server.ask::<()>(&["PERSIST", &key]);
    assert_eq!(expiry(), -1);
    hit(&limiter).unwrap();
    assert!((expected - 10_000..=expected).contains(&expiry()), "{}", expiry());
}

#[test]
fn counters_go_by_themselves() {
    let server = Server::start();
    let limiter = Limiter::open(&server.url(), "3/50ms", &Options::default()).unwrap();
    hit(&limiter).unwrap();
    assert_eq!(server.keys().len(), 1);
    wait_until("the key goes", || server.keys().is_empty());
    // Of a window that goes on, only the current and the one before stay.
    for _ in 0..60 {
        hit(&limiter).unwrap();
        thread::sleep(Duration::from_millis(7));
    }
    let key = server.keys().pop().unwrap();
    assert!(server.ask::<i64>(&["HLEN", &key]) <= 3);
}

#[test]
fn what_is_no_counter_is_an_error_for_its_client() {
    let server = Server::start();
    let limiter = open(&server.url());
    hit(&limiter).unwrap();
    let key = server.keys().pop().unwrap();
    let field = server.ask::<Vec<String>>(&["HKEYS", &key]).pop().unwrap();
    for value in ["", "1", "x y", "1 2 3", "-1 0", "99999999999999999999 1", "1.5 1"] {
        server.ask::<()>(&["HSET", &key, &field, value]);
        assert_eq!(failure(&limiter).0, Code::Corrupt, "{value:?}");
        assert_eq!(server.ask::<String>(&["HGET", &key, &field]), value, "it is left as it was");
    }
    server.ask::<()>(&["SET", &key, "1"]);
    assert_eq!(failure(&limiter).0, Code::Corrupt);
    limiter.hit(None, b"another", 1, None).unwrap();
    assert!(limiter.reset(None, KEY).is_err());
}

#[test]
fn full_memory_refuses_and_recovers() {
    let server = Server::with(&["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"]);
    let limiter = open(&server.url());
    hit(&limiter).unwrap();
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    let (code, text) = failure(&limiter);
    assert_eq!(code, Code::Full);
    assert!(text.contains("maxmemory"), "{text}");
    // Nothing was written, and what is there can be read, given back and forgotten.
    assert_eq!(limiter.status(None, KEY, None).unwrap().count, 1);
    assert_eq!(limiter.reset(None, KEY).unwrap(), 1);
    assert_eq!(info(&limiter)["maxmemory_policy"], "noeviction");
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(hit(&limiter).unwrap().count, 1);
}

/// Under these a server takes counters away; a client is granted its limit again then, and nothing fails.
#[test]
fn under_eviction_hits_are_answered_and_clients_may_begin_anew() {
    for policy in [
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] {
        let server = Server::with(&["--maxmemory", "2mb", "--maxmemory-policy", policy]);
        let limiter = open(&server.url());
        assert_eq!(info(&limiter)["maxmemory_policy"], policy);
        let used: String = server.ask(&["INFO", "memory"]);
        let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        let most = used.trim().parse::<u64>().unwrap() + 400_000;
        server.ask::<()>(&["CONFIG", "SET", "maxmemory", &most.to_string()]);
        for number in 0..6_000u32 {
            let outcome = limiter.hit(None, &number.to_le_bytes(), 1, None);
            assert_eq!(outcome.unwrap().count, 1, "{policy}");
        }
        assert!(server.ask::<u32>(&["DBSIZE"]) < 6_000, "{policy}");
    }
}

#[test]
fn a_wrong_password_is_told_without_it() {
    let server = Server::with(&["--requirepass", "the-right-word"]);
    let address = format!("127.0.0.1:{}", server.port());
    for (login, cause) in [
        ("", "NOAUTH"),
        (":sesame@", "WRONGPASS"),
        ("somebody:sesame@", "WRONGPASS"),
        (":the-right-word%21@", "WRONGPASS"),
    ] {
        let limiter = open(&format!("redis://{login}{address}"));
        let (code, text) = failure(&limiter);
        assert_eq!(code, Code::Permission, "{text}");
        assert!(text.contains(cause) && !text.contains("sesame"), "{text}");
        assert!(!info(&limiter).to_string().contains("sesame"));
    }
    // A server takes no call of many words from somebody whom it does not know.
    let url = format!("redis://{address}");
    let limiter = Limiter::open(&url, "9/s, 9/min, 9/h, 9/day", &Options::default()).unwrap();
    let (code, text) = failure(&limiter);
    assert!(code == Code::Permission && text.contains("unauthenticated"), "{text}");
    let limiter = open(&format!("redis://:the-right-word@{address}"));
    assert_eq!(hit(&limiter).unwrap().count, 1);
    assert!(!info(&limiter).to_string().contains("right-word"));
    // A password where none is wanted is refused by the server, too.
    let open_server = Server::start();
    let limiter = open(&format!("redis://:sesame@127.0.0.1:{}", open_server.port()));
    let (code, text) = failure(&limiter);
    assert!(code == Code::Permission && !text.contains("sesame"), "{text}");
}

#[test]
fn a_user_of_few_rights_is_enough_and_one_of_fewer_is_told() {
    let server = Server::start();
    let rights = ["on", ">word", "~ratelite:*", "-@all", "+eval", "+evalsha", "+time"];
    let rest = ["+hget", "+hset", "+hlen", "+hkeys", "+hdel", "+del", "+pttl", "+pexpireat"];
    let user = |name, rights: &[&str]| {
        server.ask::<()>(&[&["ACL", "SETUSER", name], rights].concat());
        open(&format!("redis://{name}:word@127.0.0.1:{}", server.port()))
    };
    let limiter = user("enough", &[&rights[..], &rest].concat());
    assert_eq!(hit(&limiter).unwrap().count, 1);
    assert_eq!(limiter.refund(None, KEY, 1, None).unwrap().count, 1);
    assert_eq!(limiter.reset(None, KEY).unwrap(), 1);
    // Who may not ask for the rest is told that the server is there all the same.
    let told = info(&limiter);
    assert_eq!(told["reachable"], true, "{told}");
    for untold in ["cause", "engine_version", "maxmemory_policy"] {
        assert_eq!(told[untold], Value::Null, "{told}");
    }
    let (code, text) = failure(&user("fewer", &rights));
    assert_eq!(code, Code::Permission, "{text}");
}

#[test]
fn databases_and_prefixes_are_apart() {
    let server = Server::start();
    for place in ["", "/3", "?prefix=a", "?prefix=b"] {
        assert_eq!(hit(&open(&format!("{}{place}", server.url()))).unwrap().count, 1, "{place}");
    }
    let (code, text) = failure(&open(&format!("{}/99", server.url())));
    assert_eq!(code, Code::Unavailable, "{text}");
}

/// 64 threads, and everything that ends connections at once.
#[test]
fn many_threads_are_exact_while_connections_are_killed() {
    let server = Server::start();
    let limiter = patient(&server.url());
    let stop = AtomicBool::new(false);
    let mut counts = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let work = || {
            let tries = (0..100).map(|_| hit(&limiter));
            // Who finds that all were killed waits for the next try, which is not made at once.
            let tries =
                tries.map(|it| it.inspect_err(|_| thread::sleep(Duration::from_millis(20))));
            tries.filter_map(Result::ok).map(|outcome| outcome.count).collect()
        };
        let workers: Vec<_> = (0..64).map(|_| scope.spawn(work)).collect();
        let counts: Vec<Vec<i64>> = workers.into_iter().map(|w| w.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        killer.join().unwrap();
        counts.concat()
    });
    counts.sort_unstable();
    let answered = counts.len();
    counts.dedup();
    assert_eq!(counts.len(), answered, "a count was given out twice");
    assert!(answered > 1_000, "{answered}");
    let stored = limiter.status(None, KEY, None).unwrap().count;
    assert!((answered as i64..=6_400).contains(&stored), "{answered} answered, {stored} stored");
}

/// The system accepts for a server that does not: the backlog of a listener nobody asks.
#[test]
fn a_listener_that_never_accepts_does_not_hang_anybody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _waiting: Vec<_> = (0..3).filter_map(|_| TcpStream::connect(address).ok()).collect();
    let begun = Instant::now();
    assert_eq!(failure(&open(&format!("redis://{address}"))).0, Code::Unavailable);
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
}
