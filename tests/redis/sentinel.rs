//! A master and its replica, and a sentinel that says which is which.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ratelite::{Code, Limiter, Options};
use serde_json::Value;

use super::server::{Server, free_port, wait_until};
use super::support;

struct Sentinel {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Sentinel {
    fn start(master: &Server) -> Self {
        let directory = support::fresh_directory();
        let (port, file) = (free_port(), directory.path().join("sentinel.conf"));
        let lines = [
            format!("port {port}"),
            format!("dir {}", directory.path().display()),
            format!("sentinel monitor mymaster 127.0.0.1 {} 1", master.port()),
            "sentinel down-after-milliseconds mymaster 300".into(),
            "sentinel failover-timeout mymaster 2000".into(),
        ];
        fs::write(&file, lines.join("\n")).unwrap();
        let mut command = Command::new(super::server::program());
        command.arg(&file).arg("--sentinel").stdout(Stdio::null()).stderr(Stdio::null());
        let sentinel = Self { child: command.spawn().unwrap(), port, _directory: directory };
        wait_until("the sentinel answers", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        sentinel
    }

    fn ask(&self, words: &[&str]) -> redis::Value {
        let mut connection = super::server::connection(self.port);
        redis::cmd("SENTINEL").arg(words).query(&mut connection).unwrap()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_master_is_found_and_followed() {
    let mut master = Server::start();
    let port = master.port().to_string();
    let replica = Server::with(&["--replicaof", "127.0.0.1", &port]);
    let sentinel = Sentinel::start(&master);
    wait_until(
        "the sentinel knows the replica",
        || matches!(sentinel.ask(&["REPLICAS", "mymaster"]), redis::Value::Array(known) if known.len() == 1),
    );
    wait_until("the replica is up to date", || {
        replica.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up")
    });
    // The first of the sentinels is not there.
    let store =
        format!("redis-sentinel://127.0.0.1:{},127.0.0.1:{}/mymaster", free_port(), sentinel.port);
    let mut options = Options::default();
    options.remember_denied = true;
    options.flush_interval = Duration::from_secs(60);
    let limiter = Limiter::open(&store, "1000000/day", &options).unwrap();
    let hit = || limiter.hit(None, b"client", 1, None);
    for count in 1..=50 {
        assert_eq!(hit().unwrap().count, count);
    }
    let info: Value = serde_json::from_str(&limiter.info().unwrap()).unwrap();
    assert_eq!(info["mode"], "sentinel");
    assert_eq!(info["servers"][0], format!("127.0.0.1:{port}"));
    std::thread::sleep(Duration::from_millis(300));
    master.kill();
    assert_eq!(hit().unwrap_err().code(), Code::Unavailable);
    let begun = std::time::Instant::now();
    wait_until("the replica has taken over", || hit().is_ok());
    println!("a failover of {:?}", begun.elapsed());
    assert_eq!(hit().unwrap().count, 52);
    // Nothing is left of the old one, so denials are remembered again.
    let info: Value = serde_json::from_str(&limiter.info().unwrap()).unwrap();
    assert!(info["resting"] == false && info["servers"].as_array().unwrap().len() == 1, "{info}");
    let few = Limiter::open(&store, "few: 1/day", &options).unwrap();
    few.hit(None, b"client", 1, None).unwrap();
    let before = replica.commands();
    for _ in 0..2_000 {
        few.hit(None, b"client", 1, None).unwrap();
    }
    assert!(replica.commands() - before < 500);
    // The old one comes back, as a master until the sentinel has seen to it; nobody is misled.
    master.restart();
    for count in 53..=60 {
        assert_eq!(hit().unwrap().count, count);
    }
}

/// Sentinels take a while to notice; until then what they name must not be believed.
#[test]
fn a_master_that_is_none_is_not_asked() {
    let (master, other) = (Server::start(), Server::start());
    let sentinel = Sentinel::start(&master);
    master.ask::<()>(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    let store = format!("redis-sentinel://127.0.0.1:{}/mymaster", sentinel.port);
    let limiter = Limiter::open(&store, "9/day", &Options::default()).unwrap();
    let error = limiter.status(None, b"client", None).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.to_string().contains("a master that is none"), "{error}");
}

#[test]
fn a_name_that_no_sentinel_knows_is_told() {
    let sentinel = Sentinel::start(&Server::start());
    let store = format!("redis-sentinel://127.0.0.1:{}/another", sentinel.port);
    let limiter = Limiter::open(&store, "9/day", &Options::default()).unwrap();
    let error = limiter.hit(None, b"client", 1, None).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.to_string().contains("no master of that name"), "{error}");
}

/// Whoever is sent to a replica by its address alone.
#[test]
fn a_replica_refuses_hits() {
    let master = Server::start();
    let replica = Server::with(&["--replicaof", "127.0.0.1", &master.port().to_string()]);
    wait_until("the replica is up to date", || {
        replica.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up")
    });
    let limiter = Limiter::open(&replica.url(), "9/day", &Options::default()).unwrap();
    let error = limiter.hit(None, b"client", 1, None).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.to_string().contains("replica"), "{error}");
}
