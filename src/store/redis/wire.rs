//! One connection to a server.
//!
//! The words and replies are the `redis` crate's, the sockets ours, for what its connections lack: one
//! deadline for all that a step consists of (every address of a host, the handshake, the login; or a
//! command, in however many pieces its answer comes), a way to see whether an idle connection is still
//! good before anything is sent, and nothing that is ever sent when one is dropped.
//!
//! Rust's standard library writes to sockets with `MSG_NOSIGNAL`, so no SIGPIPE can come of this.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Parser, Value};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::address::{Endpoint, Login};
use super::failure::{Fault, Refusal};
use crate::os::socket;
use crate::os::stat::FileId;

/// How far the time that the kernel knows may be off the time that is left, before it is told anew.
const SLACK: Duration = Duration::from_millis(2);

pub(super) struct Connection {
    stream: Stream,
    parser: Parser,
    identity: Option<FileId>,
}

/// Keeps the error of reading, which the parser's does not give back.
struct Noting<'a> {
    stream: &'a mut Stream,
    error: Option<io::Error>,
}

enum Stream {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

/// A socket whose reads and writes end at a deadline.
struct Timed {
    socket: Socket,
    deadline: Instant,
    /// What the kernel was told, to read and to write.
    told: [Duration; 2],
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    /// Connects and logs in, all within `timeout`. The name of a host is looked up by the system, which
    /// knows no timeout.
    pub(super) fn open(
        endpoint: &Endpoint,
        login: &Login,
        tls: Option<&Arc<ClientConfig>>,
        timeout: Duration,
    ) -> Result<Self, Fault> {
        let deadline = Instant::now() + timeout;
        let not_reached = |error: io::Error| Fault::NotReached(error.into());
        let socket = Socket::open(endpoint, deadline).map_err(not_reached)?;
        let identity = socket::identity(&socket);
        let timed = Timed { socket, deadline, told: [Duration::MAX; 2] };
        let stream = Stream::over(timed, endpoint, tls).map_err(not_reached)?;
        let mut connection = Self { stream, parser: Parser::new(), identity };
        connection.log_in(login, deadline)?;
        Ok(connection)
    }

    fn log_in(&mut self, login: &Login, deadline: Instant) -> Result<(), Fault> {
        let mut words = Vec::new();
        if let Some(password) = &login.password {
            let mut auth = redis::cmd("AUTH");
            words.push(auth.arg(&login.user).arg(password).get_packed_command());
        }
        if login.db > 0 {
            words.push(redis::cmd("SELECT").arg(login.db).get_packed_command());
        }
        if words.is_empty() && matches!(self.stream, Stream::Tls(_)) {
            // So that it is known now whether there is a handshake.
            words.push(redis::cmd("PING").get_packed_command());
        }
        for word in words {
            match self.exchange(&word, deadline) {
                Ok(Value::ServerError(error)) => return Err(Fault::Refused(Refusal::of(&error))),
                Ok(_) => {}
                Err(error) => return Err(Fault::NotReached(error.into())),
            }
        }
        Ok(())
    }

    /// Whether it is open, with nothing to read.
    pub(super) fn is_quiet(&self) -> bool {
        socket::is_quiet(&self.timed().socket)
    }

    /// Whether its descriptor is still its own: a daemon closes all that it finds.
    pub(super) fn is_intact(&self) -> bool {
        let own = self.identity;
        own.is_some() && socket::identity(&self.timed().socket) == own
    }

    /// Sends a command and reads its answer. After an error the connection is of no use any more.
    pub(super) fn ask(&mut self, command: &[u8], timeout: Duration) -> io::Result<Value> {
        self.exchange(command, Instant::now() + timeout)
    }

    fn exchange(&mut self, command: &[u8], deadline: Instant) -> io::Result<Value> {
        self.timed_mut().deadline = deadline;
        // What came with the answer before, and was no part of it, answers nothing.
        self.parser = Parser::new();
        self.stream.write_all(command)?;
        self.stream.flush()?;
        self.read()
    }

    /// The next answer, by the deadline of the command before.
    pub(super) fn read(&mut self) -> io::Result<Value> {
        let mut reader = Noting { stream: &mut self.stream, error: None };
        let answer = self.parser.parse_value(&mut reader);
        answer.map_err(|error| match reader.error {
            Some(error) => error,
            None if error.is_io_error() => io::ErrorKind::UnexpectedEof.into(),
            None => io::Error::new(io::ErrorKind::InvalidData, "it does not answer like a Redis"),
        })
    }

    fn timed(&self) -> &Timed {
        match &self.stream {
            Stream::Plain(timed) => timed,
            Stream::Tls(tls) => tls.get_ref(),
        }
    }

    fn timed_mut(&mut self) -> &mut Timed {
        match &mut self.stream {
            Stream::Plain(timed) => timed,
            Stream::Tls(tls) => tls.get_mut(),
        }
    }
}

impl Stream {
    fn over(
        timed: Timed,
        endpoint: &Endpoint,
        tls: Option<&Arc<ClientConfig>>,
    ) -> io::Result<Self> {
        Ok(match (tls, endpoint) {
            (Some(config), Endpoint::Tcp(host, _)) => {
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                let session = ClientConnection::new(Arc::clone(config), name);
                let session = session.map_err(io::Error::other)?;
                Self::Tls(Box::new(StreamOwned::new(session, timed)))
            }
            _ => Self::Plain(timed),
        })
    }
}

impl Socket {
    fn open(endpoint: &Endpoint, deadline: Instant) -> io::Result<Self> {
        let (host, port) = match endpoint {
            Endpoint::Unix(path) => {
                return Ok(Self::Unix(socket::connect_unix(path, left(deadline)?)?));
            }
            Endpoint::Tcp(host, port) => (host.as_str(), *port),
        };
        let mut addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its host has no address");
        while let Some(address) = addresses.first().copied() {
            // One that does not answer leaves time for the others.
            let share = left(deadline)? / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
            match TcpStream::connect_timeout(&address, share) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(Self::Tcp(socket));
                }
                Err(error) => last = error,
            }
            addresses.remove(0);
        }
        Err(last)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// Again after what a stop and its end leave behind, until the deadline.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// The time until `deadline`; an error when there is none.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    // Zero would mean "without end" to the kernel, and so might less than it counts in.
    if left < Duration::from_micros(10) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Timed {
    const READ: usize = 0;
    const WRITE: usize = 1;

    /// Tells the kernel how long it may wait, unless it knows about that.
    fn set_timeout(&mut self, which: usize) -> io::Result<()> {
        let left = left(self.deadline)?;
        if self.told[which].abs_diff(left) < SLACK {
            return Ok(());
        }
        let set = Some(left);
        match (&self.socket, which) {
            (Socket::Tcp(socket), Self::READ) => socket.set_read_timeout(set),
            (Socket::Tcp(socket), _) => socket.set_write_timeout(set),
            (Socket::Unix(socket), Self::READ) => socket.set_read_timeout(set),
            (Socket::Unix(socket), _) => socket.set_write_timeout(set),
        }?;
        self.told[which] = left;
        Ok(())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| {
            self.set_timeout(Self::READ)?;
            match &mut self.socket {
                Socket::Tcp(socket) => socket.read(buffer),
                Socket::Unix(socket) => socket.read(buffer),
            }
        })
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        uninterrupted(|| {
            self.set_timeout(Self::WRITE)?;
            match &mut self.socket {
                Socket::Tcp(socket) => socket.write(bytes),
                Socket::Unix(socket) => socket.write(bytes),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Noting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer).map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
