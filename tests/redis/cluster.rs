//! A cluster of three masters and three replicas on this machine.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ratelite::{Limiter, Options};

use super::agreement::{Manner, Scene, agree, manner, steps};
use super::model::PolicyOnly;
use super::server::{Server, wait_until};
use super::support;
use super::support::cases::{cases, open, run};

pub struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    /// With a replica for each master if there are to be failovers.
    pub fn start(replicas: usize) -> Self {
        let options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "500"];
        let more = ["--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"];
        let options = [&options[..], &more].concat();
        let servers: Vec<_> = (0..3 * (1 + replicas)).map(|_| Server::with(&options)).collect();
        let mut command = Command::new("redis-cli");
        command.args(["--cluster", "create"]);
        command.args(servers.iter().map(|server| format!("127.0.0.1:{}", server.port())));
        command.args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"]);
        let output = command.stdin(Stdio::null()).output().expect("redis-cli");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("[OK] All 16384 slots"), "{said}");
        let cluster = Self { servers };
        for server in &cluster.servers {
            wait_until("the cluster is well", || {
                let info: String = server.ask(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
            });
        }
        wait_until("the replicas are up to date", || {
            cluster.servers.iter().all(|server| {
                let info: String = server.ask(&["INFO", "replication"]);
                info.contains("role:master") || info.contains("master_link_status:up")
            })
        });
        cluster
    }

    pub fn url(&self) -> String {
        let hosts = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port()));
        format!("redis-cluster://{}", hosts.collect::<Vec<_>>().join(","))
    }

    /// The index of the master of a key.
    fn master_of(&self, key: &str) -> usize {
        let slot: u16 = self.servers[0].ask(&["CLUSTER", "KEYSLOT", key]);
        let is_it = |server: &&Server| {
            let nodes: String = server.ask(&["CLUSTER", "NODES"]);
            let own = nodes.lines().find(|line| line.contains("myself")).unwrap();
            own.contains("master") && own.split(' ').skip(8).any(|range| has(range, slot))
        };
        self.servers.iter().position(|server| is_it(&server)).unwrap()
    }

    fn id(&self, index: usize) -> String {
        self.servers[index].ask(&["CLUSTER", "MYID"])
    }
}

fn has(range: &str, slot: u16) -> bool {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) => (first..=last).contains(&slot),
        _ => false,
    }
}

fn patient(options: &mut Options) {
    (options.connect_timeout, options.command_timeout) =
        (Duration::from_secs(5), Duration::from_secs(5));
}

#[test]
fn a_cluster_answers_as_one_server_does() {
    let cluster = Cluster::start(0);
    for (number, case) in cases("semantics.json").as_array().unwrap().iter().enumerate() {
        let store = format!("{}?prefix=case{number}", cluster.url());
        run(case, &|| open(&store, case, patient), false);
    }
    // All of them were used.
    for server in &cluster.servers {
        assert!(server.ask::<u32>(&["DBSIZE"]) > 0);
    }
    for mode in ["processes", "two-limits", "costs"] {
        let program = support::compile("c/exactness.c", &["-Wpedantic"]);
        let arguments = [mode, &format!("{}?prefix={mode}", cluster.url()), "1000"];
        support::run_well(&program, &support::library_dir(), 110, &arguments);
    }
    the_model_agrees(&cluster);
    a_slot_moves_under_the_hits(&cluster);
}

fn the_model_agrees(cluster: &Cluster) {
    use proptest::prelude::*;
    let config = ProptestConfig {
        cases: 30 * support::scale(),
        failure_persistence: None,
        ..Default::default()
    };
    let run = std::cell::Cell::new(0);
    proptest!(config, |(manners in [manner(), manner()], steps in steps())| {
        run.set(run.get() + 1);
        let store = format!("{}?prefix=model{}", cluster.url(), run.get());
        let mut scene = PolicyOnly::new(store, patient);
        scene.open_all(manners as [Manner; 2], false);
        agree(&mut scene, steps)?;
    });
}

/// A slot goes from one master to another, key by key, while its client is hit.
fn a_slot_moves_under_the_hits(cluster: &Cluster) {
    let key = "ratelite:{moving}:default";
    let from = cluster.master_of(key);
    let to = (from + 1) % 3;
    let (source, target) = (&cluster.servers[from], &cluster.servers[to]);
    let slot = source.ask::<u16>(&["CLUSTER", "KEYSLOT", key]).to_string();
    let stop = AtomicBool::new(false);
    let mut counts = thread::scope(|scope| {
        let work = || {
            let mut options = Options::default();
            patient(&mut options);
            let limiter = Limiter::open(&cluster.url(), "1000000/day", &options).unwrap();
            let mut counts = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                counts.push(limiter.hit(None, b"moving", 1, None).unwrap().count);
            }
            counts
        };
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        thread::sleep(Duration::from_millis(100));
        target.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &cluster.id(from)]);
        source.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &cluster.id(to)]);
        thread::sleep(Duration::from_millis(100));
        let port = target.port().to_string();
        source.ask::<()>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
        // Now it is asked for at the one, and answered by the other.
        thread::sleep(Duration::from_millis(100));
        for server in [target, source] {
            server.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &cluster.id(to)]);
        }
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let counts: Vec<Vec<i64>> = workers.into_iter().map(|w| w.join().unwrap()).collect();
        counts.concat()
    });
    counts.sort_unstable();
    println!("{} hits while a slot moved", counts.len());
    assert!(
        counts.iter().copied().eq(1..=counts.len() as i64),
        "a gap, or a count given out twice"
    );
}

/// What was not on the replica yet is lost, so as many may be granted again; then all is as before.
#[test]
fn a_failover_is_followed() {
    let mut cluster = Cluster::start(1);
    let limiter = Limiter::open(&cluster.url(), "1000000/day", &Options::default()).unwrap();
    let hit = |key: &[u8]| limiter.hit(None, key, 1, None);
    let keys: Vec<_> = (0..30u8).map(|number| [b'k', number]).collect();
    for key in &keys {
        wait_until("every master answers", || hit(key).is_ok());
    }
    let mut before = 0;
    for _ in 0..100 {
        before = hit(b"client").unwrap().count;
    }
    thread::sleep(Duration::from_millis(200));
    let master = cluster.master_of("ratelite:{client}:default");
    cluster.servers[master].kill();
    assert!(hit(b"client").is_err());
    assert!(limiter.info().unwrap().contains("\"reachable\":true"));
    // The others are not held up: each by its own.
    let begun = Instant::now();
    let answered = keys.iter().filter(|key| hit(&key[..]).is_ok()).count();
    println!("{answered} of {} answered while a master was away", keys.len());
    assert!(answered > 0 && begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    let begun = Instant::now();
    wait_until("the replica has taken over", || hit(b"client").is_ok());
    println!("a failover of {:?}", begun.elapsed());
    let after = hit(b"client").unwrap().count;
    assert!(after > before && after < before + 100, "{before}, then {after}");
    for key in &keys {
        wait_until("every master answers", || hit(key).is_ok());
    }
    cluster.servers[master].restart();
}

/// A master that answers no more, and no less than the system does for it.
#[test]
fn a_master_that_hangs_is_left() {
    let cluster = Cluster::start(1);
    let limiter = Limiter::open(&cluster.url(), "1000000/day", &Options::default()).unwrap();
    let hit = || limiter.hit(None, b"client", 1, None);
    wait_until("it answers", || hit().is_ok());
    let master = cluster.master_of("ratelite:{client}:default");
    cluster.servers[master].signal(libc::SIGSTOP);
    let mut longest = Duration::ZERO;
    wait_until("the replica has taken over", || {
        let begun = Instant::now();
        let answer = hit();
        longest = longest.max(begun.elapsed());
        answer.is_ok()
    });
    println!("the longest call took {longest:?}");
    assert!(longest < Duration::from_millis(1000), "{longest:?}");
    cluster.servers[master].signal(libc::SIGCONT);
    // Wherever the slot is by then.
    thread::sleep(Duration::from_secs(1));
    wait_until("it answers", || hit().is_ok());
}
