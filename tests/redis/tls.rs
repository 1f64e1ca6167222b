//! TLS, right and wrong.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ratelite::{Code, Limiter, Options};
use tempfile::TempDir;

use super::server::{Server, free_port};
use super::support;

/// Authorities `ca` and `stranger`; by `ca` a certificate for localhost, one for another host, one that
/// has expired, and one for a client.
fn certificates() -> TempDir {
    let directory = support::fresh_directory();
    let script = r#"
        authority() {
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                -subj "/CN=$1" -keyout $1.key -out $1.pem
        }
        signed() { # name, names in the certificate, days
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
                -keyout $1.key -out $1.csr
            printf 'subjectAltName=%s\n' "$2" >$1.ext
            openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial $3 \
                -extfile $1.ext -out $1.pem
        }
        authority ca; authority stranger
        signed here DNS:localhost,IP:127.0.0.1 '-days 2'
        signed elsewhere DNS:redis.example '-days 2'
        signed client DNS:client '-days 2'
    "#;
    let mut command = Command::new("sh");
    let output = command.args(["-ec", script]).current_dir(directory.path()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl: apt-get install openssl\n{complaint}");
    directory
}

/// A server that speaks TLS at a port of its own, beside its plain one; clients need no certificate
/// unless `wants_client` says so.
fn server(files: &Path, certificate: &str, wants_client: bool) -> (Server, u16) {
    let (options, port) = options(files, certificate, wants_client);
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    (Server::with(&options), port)
}

fn options(files: &Path, certificate: &str, wants_client: bool) -> (Vec<String>, u16) {
    let path = |name: &str| files.join(name).to_str().unwrap().to_owned();
    let port = free_port();
    let options = [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", path(&format!("{certificate}.pem"))),
        ("--tls-key-file", path(&format!("{certificate}.key"))),
        ("--tls-ca-cert-file", path("ca.pem")),
        ("--tls-auth-clients", if wants_client { "yes" } else { "no" }.into()),
    ];
    (options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect(), port)
}

fn hit(store: &str) -> Result<i64, (Code, String)> {
    let mut options = Options::default();
    // A handshake on a machine that is busy with other tests.
    options.connect_timeout = Duration::from_secs(2);
    let limiter = Limiter::open(store, "9/day", &options).unwrap();
    let begun = Instant::now();
    let answer = limiter.hit(None, b"client", 1, None);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    answer.map(|outcome| outcome.count).map_err(|error| (error.code(), error.to_string()))
}

fn is_refused(store: &str, cause: &str) {
    let (code, text) = hit(store).expect_err(store);
    assert_eq!(code, Code::Unavailable, "{text}");
    assert!(text.contains(cause), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn certificates_are_checked() {
    let files = certificates();
    let file = |name: &str| files.path().join(name).display().to_string();
    let (ca, stranger) = (file("ca.pem"), file("stranger.pem"));
    let (plain, port) = server(files.path(), "here", false);
    for host in ["localhost", "127.0.0.1"] {
        assert!(hit(&format!("rediss://{host}:{port}/0?ca={ca}")).is_ok(), "{host}");
    }
    // Another authority; the system's; none of TLS at all, on either side.
    is_refused(&format!("rediss://localhost:{port}?ca={stranger}"), "UnknownIssuer");
    is_refused(&format!("rediss://localhost:{port}"), "UnknownIssuer");
    is_refused(&format!("rediss://localhost:{}?ca={ca}", plain.port()), "cannot connect");
    is_refused(&format!("redis://localhost:{port}"), "");

    let (_elsewhere, port) = server(files.path(), "elsewhere", false);
    is_refused(&format!("rediss://localhost:{port}?ca={ca}"), "not valid for name");

    let (_strict, port) = server(files.path(), "here", true);
    let shown = format!("&cert={}&key={}", file("client.pem"), file("client.key"));
    assert_eq!(hit(&format!("rediss://localhost:{port}?ca={ca}{shown}")), Ok(1));
    is_refused(&format!("rediss://localhost:{port}?ca={ca}"), "");
}

#[test]
fn files_that_are_no_certificates_are_told_when_it_is_opened() {
    let files = certificates();
    let file = |name: &str| files.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("client.key"));
    std::fs::write(files.path().join("nonsense.pem"), "nonsense").unwrap();
    // One that never gives anything.
    let fifo = std::process::Command::new("mkfifo").arg(file("fifo")).status().unwrap();
    assert!(fifo.success());
    for query in [
        format!("ca={}", file("fifo")),
        format!("ca={ca}&cert={}&key={}", file("client.pem"), file("fifo")),
        format!("ca={}", file("absent.pem")),
        format!("ca={}", file("nonsense.pem")),
        format!("ca={key}"),
        format!("ca={ca}&cert={}&key={ca}", file("client.pem")),
        format!("ca={ca}&cert={}&key={key}", file("nonsense.pem")),
    ] {
        let store = format!("rediss://localhost:1?{query}");
        let error = Limiter::open(&store, "9/day", &Options::default()).err().unwrap();
        assert_eq!(error.code(), Code::Invalid, "{query}: {error}");
    }
}

/// A child neither ends its parent's sessions nor takes part in them.
#[test]
fn forks_and_threads_are_exact_by_tls() {
    let files = certificates();
    let (server, port) = server(files.path(), "here", false);
    let ca = files.path().join("ca.pem");
    let store = format!("rediss://localhost:{port}?ca={}", ca.display());
    super::hosts::forks_well(&server, &store);
    super::hosts::runs_well("stack", &store);
}

/// One that has all slots, and tells by TLS where they are.
#[test]
fn a_cluster_is_asked_by_tls() {
    let files = certificates();
    let (mut options, port) = options(files.path(), "here", false);
    options.extend(["--cluster-enabled", "yes", "--tls-cluster", "yes"].map(str::to_owned));
    let server = Server::with(&options.iter().map(String::as_str).collect::<Vec<_>>());
    server.ask::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    super::server::wait_until("the cluster is well", || {
        server.ask::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
    });
    let ca = files.path().join("ca.pem");
    for count in 1..=3 {
        let store = format!("rediss-cluster://localhost:{port}?ca={}", ca.display());
        assert_eq!(hit(&store), Ok(count));
    }
    let plain = format!("redis-cluster://localhost:{}", server.port());
    assert_eq!(hit(&plain), Ok(4));
}

#[test]
fn sentinels_and_their_master_are_asked_by_tls() {
    let files = certificates();
    let (master, port) = server(files.path(), "here", false);
    let (mut options, sentinel) = options(files.path(), "here", false);
    options.extend(["--tls-replication", "yes"].map(str::to_owned));
    let lines = options.chunks(2).map(|pair| format!("{} {}", &pair[0][2..], pair[1]));
    let monitored = format!("sentinel monitor mymaster 127.0.0.1 {port} 1");
    let text: Vec<_> = ["port 0".to_owned(), monitored].into_iter().chain(lines).collect();
    let file = files.path().join("sentinel.conf");
    std::fs::write(&file, text.join("\n")).unwrap();
    let mut command = Command::new(super::server::program());
    command.arg(&file).arg("--sentinel").stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    super::server::wait_until("the sentinel answers", || {
        std::net::TcpStream::connect(("127.0.0.1", sentinel)).is_ok()
    });
    let ca = files.path().join("ca.pem");
    let store = format!("rediss-sentinel://127.0.0.1:{sentinel}/mymaster?ca={}", ca.display());
    let counts: Vec<_> = (0..3).map(|_| hit(&store)).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(counts, [Ok(1), Ok(2), Ok(3)]);
    assert!(master.ask::<u32>(&["DBSIZE"]) > 0);
}
