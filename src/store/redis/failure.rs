//! What can go wrong between a caller and the server, and what it means for the caller.

use std::io;

use redis::{ServerError, ServerErrorKind};

use crate::errno;
use crate::error::{Code, Error};

/// Why one try of a command did not succeed.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// There was no connection, so nothing was sent.
    NotReached(Cause),
    /// The answer did not come: the command may have run.
    NoAnswer(Cause),
    /// The server refused the command, or the login: it did not run.
    Refused(Refusal),
    /// Nobody was asked, since the last ones who asked failed by this.
    Resting(Box<Fault>),
    /// It is not known whom to ask, for this reason.
    Nowhere(&'static str),
    /// An answer that none of our calls can have.
    Senseless,
    /// Its clock is outside the years that exist.
    NoTime,
}

/// A failure of a socket, in a form that can be kept.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    kind: io::ErrorKind,
    errno: Option<i32>,
    text: String,
}

/// What the server said.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) word: Word,
    /// One line, without what the command consisted of.
    text: String,
    /// All that it said.
    whole: String,
}

/// The first word of an error, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    NoScript,
    Moved,
    Ask,
    ReadOnly,
    OutOfMemory,
    NoLogin,
    NoPermission,
    Damaged,
    /// It is loading, busy, without its master, without its cluster: it will come back by itself.
    NotNow,
    Other,
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        let text = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "timed out".to_owned(),
            io::ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
            _ => one_line(&error.to_string()),
        };
        Self { kind: error.kind(), errno: error.raw_os_error(), text }
    }
}

impl Cause {
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self.kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    }
}

impl Refusal {
    pub(super) fn of(error: &ServerError) -> Self {
        let details = error.details().unwrap_or_default();
        // An unknown command is quoted with its arguments, a key among them.
        let details = details.split(", with args").next().unwrap_or_default();
        let text = one_line(&format!("{} {details}", error.code()));
        let whole = format!("{} {}", error.code(), error.details().unwrap_or_default());
        Self { word: Word::of(error, &text), text, whole }
    }

    /// Whether another connection might be answered otherwise: to who has taken this server's place, or
    /// after another login.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self.word, Word::ReadOnly | Word::NotNow | Word::NoLogin)
    }

    /// The rest of a redirection: slot and endpoint.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split(' ').skip(1)
    }
}

impl Word {
    fn of(error: &ServerError, text: &str) -> Self {
        match error.kind() {
            Some(ServerErrorKind::NoScript) => Self::NoScript,
            Some(ServerErrorKind::Moved) => Self::Moved,
            Some(ServerErrorKind::Ask) => Self::Ask,
            Some(ServerErrorKind::ReadOnly) => Self::ReadOnly,
            Some(ServerErrorKind::NoPerm) => Self::NoPermission,
            Some(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown,
            ) => Self::NotNow,
            _ => Self::of_code(error.code(), text),
        }
    }

    fn of_code(code: &str, text: &str) -> Self {
        match code {
            "OOM" => Self::OutOfMemory,
            "NOAUTH" | "WRONGPASS" => Self::NoLogin,
            "WRONGTYPE" | "DAMAGED" => Self::Damaged,
            "BUSY" | "MISCONF" | "NOREPLICAS" => Self::NotNow,
            // Redis before 7 puts what a script met into a sentence of its own.
            "ERR" if text.contains("running script") => Self::met_by_script(text),
            // Redis 7.0; later ones, and Valkey.
            "ERR"
                if text.contains("The user executing the script")
                    || text.contains("ACL failure in script") =>
            {
                Self::NoPermission
            }
            // A call has more words than a server takes of somebody it does not know.
            "ERR"
                if ["invalid password", "AUTH", "unauthenticated"]
                    .iter()
                    .any(|words| text.contains(words)) =>
            {
                Self::NoLogin
            }
            _ => Self::Other,
        }
    }

    fn met_by_script(text: &str) -> Self {
        let words = [
            ("-OOM", Self::OutOfMemory),
            ("-READONLY", Self::ReadOnly),
            ("WRONGTYPE", Self::Damaged),
            ("NOPERM", Self::NoPermission),
            ("The user executing the script", Self::NoPermission),
            ("-MISCONF", Self::NotNow),
            ("-NOREPLICAS", Self::NotNow),
        ];
        let found = words.into_iter().find(|(word, _)| text.contains(word));
        found.map_or(Self::Other, |(_, word)| word)
    }
}

impl Fault {
    /// Whether the call may have been counted all the same.
    pub(super) fn may_have_run(&self) -> bool {
        matches!(self, Self::NoAnswer(_))
    }

    /// Whether attempts that were told may have been counted: a script may be refused in its midst.
    pub(super) fn may_have_counted(&self) -> bool {
        let is_of_midst =
            |refusal: &Refusal| matches!(refusal.word, Word::NoPermission | Word::Other);
        self.may_have_run() || matches!(self, Self::Refused(refusal) if is_of_midst(refusal))
    }

    /// Whether the server is there, but this user may not ask it that.
    pub(super) fn is_of_rights(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.word == Word::NoPermission)
    }

    /// Whether another server may have taken this one's place.
    pub(super) fn is_of_place(&self) -> bool {
        match self {
            Self::NotReached(_) | Self::NoAnswer(_) | Self::Resting(_) | Self::Nowhere(_) => true,
            Self::Refused(refusal) => matches!(refusal.word, Word::ReadOnly | Word::NotNow),
            Self::Senseless | Self::NoTime => false,
        }
    }

    /// In words, for the server of this name; none of the secrets stands in them.
    pub(super) fn describe<'a>(
        &self,
        store: &str,
        mut secrets: impl Iterator<Item = &'a str>,
    ) -> Error {
        let (code, mut cause, cure) = self.meaning();
        // In words of its own a server may say anything.
        if let Self::Refused(refusal) = self.first()
            && secrets.any(|secret| refusal.whole.contains(secret))
        {
            cause = "it refused, in words that hold a password".to_owned();
        }
        Error::new(code, format!("store {store}: {cause}; {cure}"))
    }

    /// What happened, also if it is only told again.
    fn first(&self) -> &Self {
        match self {
            Self::Resting(fault) => fault.first(),
            fault => fault,
        }
    }

    fn meaning(&self) -> (Code, String, &'static str) {
        match self {
            Self::NotReached(cause) => cause.meaning("cannot connect"),
            Self::NoAnswer(cause) => cause.meaning("no answer"),
            Self::Refused(refusal) => refusal.meaning(),
            Self::Resting(fault) => {
                let (code, cause, cure) = fault.meaning();
                (code, format!("{cause} (it is tried again within a second)"), cure)
            }
            Self::Nowhere(reason) => {
                let cure = "see what the sentinels or the cluster say of themselves";
                (Code::Unavailable, (*reason).to_owned(), cure)
            }
            Self::Senseless => {
                let cure = "see that it is a Redis 5 or newer, or a Valkey";
                (Code::Unavailable, "its answer makes no sense".to_owned(), cure)
            }
            Self::NoTime => {
                let text = "the server's clock is outside the years 1970 to 9998".to_owned();
                (Code::Invalid, text, "set it")
            }
        }
    }
}

impl Cause {
    fn meaning(&self, tried: &str) -> (Code, String, &'static str) {
        let text = format!("{tried}: {}", self.text);
        match self.errno.and_then(errno::meaning) {
            Some((code @ (Code::DescriptorsExhausted | Code::NoMemory), cure)) => {
                return (code, text, cure);
            }
            Some((Code::Permission, _)) => {
                let cure = "this user must be able to use the server's socket";
                return (Code::Permission, text, cure);
            }
            _ => {}
        }
        let cure = match self.kind {
            _ if self.is_timeout() => {
                "see whether it is up and quick, and speaks TLS if the address says so; else raise \
                 connect_timeout_ms or command_timeout_ms"
            }
            io::ErrorKind::InvalidData => {
                "see that a Redis or Valkey listens there, with or without TLS as the address says, \
                 and with a certificate for this host"
            }
            _ => "see whether it is up and can be reached from here",
        };
        (Code::Unavailable, text, cure)
    }
}

impl Refusal {
    fn meaning(&self) -> (Code, String, &'static str) {
        let text = format!("it answered \"{}\"", self.text);
        match self.word {
            Word::OutOfMemory => {
                let cure = "raise its maxmemory, or remove what else it holds";
                (Code::Full, text, cure)
            }
            Word::NoLogin => {
                let cure =
                    "give the right user and password in the address, or none if it has none";
                (Code::Permission, text, cure)
            }
            Word::NoPermission => {
                let cure = "its user needs +eval +evalsha +time +hget +hset +hlen +hkeys +hdel \
                            +del +pttl +pexpireat (under key_secret +get +set), and the keys of the prefix";
                (Code::Permission, text, cure)
            }
            Word::Damaged => {
                let cure = "what stands under the client's key is no counter; reset the client, or \
                            use another prefix";
                (Code::Corrupt, text, cure)
            }
            Word::ReadOnly => {
                (Code::Unavailable, text, "it is a replica: give the master's address")
            }
            Word::Moved | Word::Ask => {
                let cure = "give the address as redis-cluster://…";
                (Code::Unavailable, text, cure)
            }
            Word::NotNow => (Code::Unavailable, text, "wait until it has recovered"),
            Word::NoScript | Word::Other => {
                let cure = "see that the address fits (database, cluster, sentinels), and that it is \
                            Redis 5 or newer, or Valkey, with scripts";
                (Code::Unavailable, text, cure)
            }
        }
    }
}

/// As it may stand in a message: short, on one line.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let text: String = text.chars().take(LONGEST).collect();
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "'").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what a server, or somebody in its place, sends.
    fn refused(line: &str) -> Fault {
        let answer = redis::parse_redis_value(format!("{line}\r\n").as_bytes()).unwrap();
        let redis::Value::ServerError(error) = answer else { panic!("{answer:?}") };
        Fault::Refused(Refusal::of(&error))
    }

    #[test]
    fn attempts_are_told_again_only_where_they_cannot_have_been_counted() {
        for (line, may) in [
            ("-OOM full", false),
            ("-MOVED 1 a:1", false),
            ("-NOSCRIPT no", false),
            ("-NOPERM no", true),
            ("-ERR in its midst", true),
        ] {
            assert_eq!(refused(line).may_have_counted(), may, "{line}");
        }
    }

    #[test]
    fn no_password_is_shown_whatever_the_server_says() {
        for line in ["-WRONGPASS no sesame", "-sesame no", "-ERR a\tsesame"] {
            for fault in [refused(line), Fault::Resting(Box::new(refused(line)))] {
                let error = fault.describe("redis://host", ["sesame"].into_iter());
                assert!(error.to_string().contains("hold a password"), "{error}");
            }
        }
        let error = refused("-WRONGPASS no").describe("redis://host", ["sesame"].into_iter());
        assert!(error.to_string().contains("WRONGPASS no"), "{error}");
    }
}
