//! Servers that the tests start and end.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Commands, Connection, FromRedisValue};
use tempfile::TempDir;

/// A server that ends with this value.
pub struct Server {
    child: Child,
    port: u16,
    directory: TempDir,
    options: Vec<String>,
}

impl Server {
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// As the configuration says: `--name`, value and so on.
    pub fn with(options: &[&str]) -> Self {
        let directory = crate::support::fresh_directory();
        let options: Vec<_> = options.iter().map(|&word| word.to_owned()).collect();
        for _ in 0..10 {
            let port = free_port();
            let mut child = spawn(port, &directory, &options);
            // Somebody else may have taken the port.
            if answers(&mut child, port) {
                return Self { child, port, directory, options };
            }
        }
        panic!("redis-server does not start: apt-get install redis-server");
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// On the port of before, with what it has kept.
    pub fn restart(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        let _ = fs::remove_file(self.socket());
        self.child = spawn(self.port, &self.directory, &self.options);
        assert!(answers(&mut self.child, self.port), "redis-server does not start again");
    }

    /// Sends a signal: SIGSTOP makes a server that hangs after accepting.
    pub fn signal(&self, signal: i32) {
        let word = format!("-{signal}");
        assert!(
            Command::new("kill").args([&word, &self.pid().to_string()]).status().unwrap().success()
        );
    }

    pub fn connection(&self) -> Connection {
        connection(self.port)
    }

    /// Runs a command by another client.
    pub fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut self.connection()).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// How many it has run.
    pub fn commands(&self) -> i64 {
        let stats: String = self.ask(&["INFO", "stats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.unwrap().trim().parse().unwrap()
    }

    pub fn keys(&self) -> Vec<String> {
        self.connection().keys("*").unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Debian's, or that of the environment: a Valkey, or another version.
pub fn program() -> String {
    std::env::var("RATELITE_REDIS_SERVER").unwrap_or_else(|_| "redis-server".into())
}

pub fn connection(port: u16) -> Connection {
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    client.get_connection_with_timeout(Duration::from_secs(5)).unwrap()
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn spawn(port: u16, directory: &TempDir, options: &[String]) -> Child {
    let mut command = Command::new(program());
    command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    command.args(["--dir", directory.path().to_str().unwrap(), "--bind", "127.0.0.1"]);
    command.args(["--unixsocket", directory.path().join("socket").to_str().unwrap()]);
    command.args(options).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("redis-server: apt-get install redis-server")
}

fn answers(child: &mut Child, port: u16) -> bool {
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        // One with a password or certificates answers, too, in its own way.
        if client.get_connection_with_timeout(Duration::from_secs(1)).is_ok()
            || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}
