//! What may stand between a limiter and its server.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Leads each new connection to the server of the moment.
#[derive(Clone)]
pub struct Switch {
    address: String,
    target: Arc<AtomicU16>,
    connections: Arc<AtomicU64>,
    swallowed_before: Arc<AtomicU64>,
    delay_ms: Arc<AtomicU64>,
}

impl Switch {
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let switch = Self {
            address: listener.local_addr().unwrap().to_string(),
            target: Arc::new(AtomicU16::new(port)),
            connections: Arc::default(),
            swallowed_before: Arc::default(),
            delay_ms: Arc::default(),
        };
        let serving = switch.clone();
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let Ok(client) = client else { return };
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let server =
                    TcpStream::connect(("127.0.0.1", serving.target.load(Ordering::SeqCst)));
                let Ok(server) = server else { continue };
                for (from, to, answers) in [(&client, &server, false), (&server, &client, true)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let switch = serving.clone();
                    thread::spawn(move || switch.carry(number as u64, from, to, answers));
                }
            }
        });
        switch
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub fn lead_to(&self, port: u16) {
        self.target.store(port, Ordering::SeqCst);
    }

    /// Nothing comes any more by the connections that there are.
    pub fn swallow_all_of_now(&self) {
        self.swallowed_before.store(self.connections.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    pub fn delay_next_answer(&self, by: Duration) {
        self.delay_ms.store(by.as_millis() as u64, Ordering::SeqCst);
    }

    fn carry(
        &self,
        number: u64,
        mut from: TcpStream,
        mut to: TcpStream,
        answers: bool,
    ) -> io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let length = from.read(&mut buffer)?;
            if length == 0 {
                return to.shutdown(std::net::Shutdown::Both);
            }
            if answers {
                thread::sleep(Duration::from_millis(self.delay_ms.swap(0, Ordering::SeqCst)));
            }
            if number >= self.swallowed_before.load(Ordering::SeqCst) {
                to.write_all(&buffer[..length])?;
            }
        }
    }
}
