//! The address of a server, as the name of a store says it.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/db]            rediss://…  the same by TLS
//! valkey://…                                            valkeys://…  the same
//! redis+unix://[user[:password]@]/path/of/socket
//! redis-cluster://[…@]host[:port]{,host[:port]}         rediss-cluster://…
//! redis-sentinel://[…@]host[:port]{,…}/master[/db]      rediss-sentinel://…
//!
//! …?prefix=ratelite                  what every key begins with
//!  &db=0                             of redis+unix
//!  &ca=FILE &cert=FILE &key=FILE     of TLS: authorities in place of the system's; a client's own
//!  &sentinel_user= &sentinel_password=
//! ```
//!
//! Users, passwords, paths and values are percent-decoded. No message shows an address as it was
//! given: a password may stand where nobody expects it.

use std::path::PathBuf;

use crate::error::{Error, Result};

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const DEFAULT_PREFIX: &str = "ratelite";
const LONGEST_PREFIX: usize = 64;

/// A checked address.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) mode: Mode,
    /// The servers to begin with: one, or the known ones of a cluster, or the sentinels.
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) login: Login,
    pub(super) sentinel_login: Login,
    pub(super) tls: Option<TlsFiles>,
    /// As it stands in messages: no user, no password, no option.
    pub(super) shown: String,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Single,
    Cluster,
    /// The master's name.
    Sentinel(String),
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// What a new connection says first. There is no `Debug`: it holds a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TlsFiles {
    pub(super) authorities: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

/// What stands between the scheme and the query.
struct Parts<'a> {
    hosts: &'a str,
    path: &'a str,
}

impl Address {
    /// Reads an address, and the prefix of the keys there;
    /// [`Code::Invalid`](crate::error::Code::Invalid) says what is wrong with it.
    pub(super) fn parse(name: &[u8]) -> Result<(Self, String)> {
        let name = std::str::from_utf8(name).map_err(|_| wrong("it is not UTF-8"))?;
        let (scheme, rest) = name.split_once("://").ok_or_else(|| wrong("it has no \"://\""))?;
        let (kind, is_tls) = kind(scheme).ok_or_else(|| wrong("its scheme is unknown"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if name.contains('#') {
            return Err(wrong("it has a \"#\": write it as %23"));
        }
        let (mut login, rest) = login(rest)?;
        let (hosts, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let mut options = Options::parse(query)?;
        let sentinel_login = Login {
            user: options.take("sentinel_user"),
            password: options.take("sentinel_password"),
            db: 0,
        };
        let tls = TlsFiles {
            authorities: options.take("ca").map(PathBuf::from),
            certificate: options.take("cert").map(PathBuf::from),
            key: options.take("key").map(PathBuf::from),
        };
        let prefix = prefix(options.take("prefix"))?;
        let given_db = options.take("db");
        if !options.0.is_empty() {
            // Not by its name, where a password may have strayed to.
            let known = "prefix, db, ca, cert, key, sentinel_user, sentinel_password";
            return Err(wrong(format!("its query has an option that is none of {known}")));
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            return Err(wrong("\"cert\" and \"key\" belong together"));
        }
        if !is_tls && tls != TlsFiles::default() {
            return Err(wrong("\"ca\", \"cert\" and \"key\" are for TLS: use rediss://"));
        }
        if kind != Kind::Sentinel && sentinel_login != Login::default() {
            return Err(wrong("\"sentinel_…\" is for redis-sentinel://"));
        }
        let parts = Parts { hosts, path };
        let (mode, endpoints, path_db) = match kind {
            Kind::Single => parts.single()?,
            Kind::Unix => parts.unix()?,
            Kind::Cluster => parts.cluster()?,
            Kind::Sentinel => parts.sentinel()?,
        };
        login.db = match (path_db, given_db) {
            (Some(_), Some(_)) => return Err(wrong("it names the database twice")),
            (Some(db), None) => db,
            (None, Some(text)) if kind != Kind::Cluster => database(&text)?,
            (None, Some(_)) => return Err(wrong("a cluster has only database 0")),
            (None, None) => 0,
        };
        let tls = is_tls.then_some(tls);
        let shown = shown(scheme, &mode, &endpoints, login.db);
        Ok((Self { mode, endpoints, login, sentinel_login, tls, shown }, prefix))
    }

    /// The server's word for how it is reached.
    pub(super) fn mode_name(&self) -> &'static str {
        match (&self.mode, self.endpoints.first()) {
            (Mode::Single, Some(Endpoint::Unix(_))) => "unix",
            (Mode::Single, _) => "single",
            (Mode::Cluster, _) => "cluster",
            (Mode::Sentinel(_), _) => "sentinel",
        }
    }

    /// The secrets that must stand in no message.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.login.password, &self.sentinel_login.password].into_iter().flatten().map(|s| &**s)
    }
}

/// Whether a store's name means a server: its scheme is one of ours.
pub(in crate::store) fn is_meant(scheme: &str) -> bool {
    kind(scheme).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Unix,
    Cluster,
    Sentinel,
}

/// What a scheme means, and whether by TLS.
fn kind(scheme: &str) -> Option<(Kind, bool)> {
    Some(match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => (Kind::Single, false),
        "rediss" | "valkeys" => (Kind::Single, true),
        "redis+unix" => (Kind::Unix, false),
        "redis-cluster" => (Kind::Cluster, false),
        "rediss-cluster" => (Kind::Cluster, true),
        "redis-sentinel" => (Kind::Sentinel, false),
        "rediss-sentinel" => (Kind::Sentinel, true),
        _ => return None,
    })
}

type Place = (Mode, Vec<Endpoint>, Option<u32>);

impl Parts<'_> {
    fn single(&self) -> Result<Place> {
        if self.hosts.contains(',') {
            return Err(wrong("several hosts are for redis-cluster:// and redis-sentinel://"));
        }
        let endpoint = endpoint(self.hosts, PORT)?;
        Ok((Mode::Single, vec![endpoint], path_database(self.path)?))
    }

    fn unix(&self) -> Result<Place> {
        if !self.hosts.is_empty() || self.path.len() < 2 {
            return Err(wrong("redis+unix:// needs the path of a socket: redis+unix:///run/…"));
        }
        let path = decoded(self.path)?;
        Ok((Mode::Single, vec![Endpoint::Unix(path.into())], None))
    }

    fn cluster(&self) -> Result<Place> {
        if !matches!(self.path, "" | "/" | "/0") {
            return Err(wrong("a cluster has only database 0"));
        }
        Ok((Mode::Cluster, self.endpoints(PORT)?, None))
    }

    fn sentinel(&self) -> Result<Place> {
        let mut words = self.path.trim_start_matches('/').splitn(2, '/');
        let master = decoded(words.next().unwrap_or_default())?;
        if master.is_empty() {
            return Err(wrong("redis-sentinel:// needs the master's name: …/mymaster"));
        }
        let db = words.next().map_or(Ok(None), path_database)?;
        Ok((Mode::Sentinel(master), self.endpoints(SENTINEL_PORT)?, db))
    }

    fn endpoints(&self, port: u16) -> Result<Vec<Endpoint>> {
        self.hosts.split(',').map(|host| endpoint(host, port)).collect()
    }
}

/// The login, and what follows it. The last `@` ends it, so a password may have one.
fn login(rest: &str) -> Result<(Login, &str)> {
    // Of a socket's path an `@` is a part.
    let authority = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..authority].rfind('@') else {
        if rest.contains('@') && !rest.starts_with('/') {
            return Err(wrong("a \"/\" stands before its \"@\": in a password write it as %2F"));
        }
        return Ok((Login::default(), rest));
    };
    let (user, password) = match rest[..at].split_once(':') {
        Some((user, password)) => (user, Some(decoded(password)?)),
        None => (&rest[..at], None),
    };
    let user = Some(decoded(user)?).filter(|user| !user.is_empty());
    if user.is_some() && password.is_none() {
        return Err(wrong("it has a user and no password: write user:password@, or :password@"));
    }
    Ok((Login { user, password, db: 0 }, &rest[at + 1..]))
}

fn endpoint(text: &str, default_port: u16) -> Result<Endpoint> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']').ok_or_else(|| wrong("an IPv6 address has no \"]\""))?;
            let after = &rest[end + 1..];
            let port = after.strip_prefix(':').or_else(|| after.is_empty().then_some(""));
            (&rest[..end], port.ok_or_else(|| wrong("a port must follow \"]\" as \":6379\""))?)
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    // Of an IPv6 address, a zone may be named: fe80::1%eth0.
    let others = if text.starts_with('[') { ".-_:%" } else { ".-_" };
    let is_host = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(wrong("a host is missing or is no name: give host or host:port"));
    }
    let port = match port {
        "" if text.ends_with(':') => return Err(wrong("a port is not 1 to 65535")),
        "" => default_port,
        text => match text.parse() {
            Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(wrong("a port is not 1 to 65535")),
        },
    };
    Ok(Endpoint::Tcp(host.to_owned(), port))
}

/// `""` and `/` name none.
fn path_database(path: &str) -> Result<Option<u32>> {
    match path.strip_prefix('/').unwrap_or(path) {
        "" => Ok(None),
        text => database(text).map(Some),
    }
}

fn database(text: &str) -> Result<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| wrong("its database is not a number"))
}

/// No braces: the first pair in a key decides where a cluster keeps it, and that is the client's.
fn prefix(given: Option<String>) -> Result<String> {
    let prefix = given.unwrap_or_else(|| DEFAULT_PREFIX.into());
    let is_plain = prefix.bytes().all(|byte| byte.is_ascii_graphic() && !b"{}".contains(&byte));
    if (1..=LONGEST_PREFIX).contains(&prefix.len()) && is_plain {
        return Ok(prefix);
    }
    Err(wrong(format!(
        "its prefix is not 1 to {LONGEST_PREFIX} printable characters without blanks and braces"
    )))
}

struct Options(Vec<(String, String)>);

impl Options {
    fn parse(query: &str) -> Result<Self> {
        let mut options: Vec<(String, String)> = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if value.is_empty() {
                return Err(wrong(
                    "an option of its query has no value (a \"?\" in a password is written as %3F)",
                ));
            }
            if options.iter().any(|(known, _)| *known == name) {
                return Err(wrong("an option of its query stands there twice"));
            }
            options.push((name, value));
        }
        Ok(Self(options))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// With `%41` as `A`; the result is UTF-8 without control characters.
fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = digits.filter(is_hex).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.ok_or_else(|| wrong("a \"%\" is not followed by two hex digits"))?);
        rest = &rest[2..];
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(wrong("it has a control character"));
    }
    Ok(text)
}

fn shown(scheme: &str, mode: &Mode, endpoints: &[Endpoint], db: u32) -> String {
    let hosts: Vec<_> = endpoints.iter().map(Endpoint::to_string).collect();
    let mut shown = format!("{}://{}", scheme.to_ascii_lowercase(), hosts.join(","));
    if let Mode::Sentinel(master) = mode {
        shown.push('/');
        shown.push_str(master);
    }
    if db > 0 {
        shown.push_str(&format!("/{db}"));
    }
    shown
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => f.write_str(&path.to_string_lossy()),
        }
    }
}

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the address of the store's server cannot be used: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn parse(name: &str) -> Address {
        with_prefix(name).0
    }

    fn with_prefix(name: &str) -> (Address, String) {
        Address::parse(name.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp(host.into(), port)
    }

    #[test]
    fn an_address_says_where_and_who() {
        let (plain, prefix) = with_prefix("redis://localhost");
        assert_eq!(plain.endpoints, [tcp("localhost", 6379)]);
        assert_eq!((prefix.as_str(), plain.login.db, plain.tls), ("ratelite", 0, None));

        let (whole, prefix) = with_prefix("redis://me:p%40ss:w@rd@db.example:7000/3?prefix=app:1");
        assert_eq!(whole.endpoints, [tcp("db.example", 7000)]);
        assert_eq!(whole.login.user.as_deref(), Some("me"));
        assert_eq!(whole.login.password.as_deref(), Some("p@ss:w@rd"));
        assert_eq!((whole.login.db, prefix.as_str()), (3, "app:1"));

        let nameless = parse("redis://:secret@[::1]:6380/");
        assert_eq!(nameless.endpoints, [tcp("::1", 6380)]);
        assert_eq!((nameless.login.user, nameless.login.password), (None, Some("secret".into())));
        assert_eq!(parse("redis://[::1]").endpoints, [tcp("::1", 6379)]);

        let tls = parse("rediss://h?ca=/etc/ca%20file.pem&cert=c.pem&key=k.pem").tls.unwrap();
        assert_eq!(tls.authorities, Some("/etc/ca file.pem".into()));
        assert_eq!((tls.certificate, tls.key), (Some("c.pem".into()), Some("k.pem".into())));
    }

    #[test]
    fn there_are_sockets_clusters_and_sentinels() {
        let socket = parse("redis+unix://:pw@/run/redis/redis.sock?db=2");
        assert_eq!(socket.endpoints, [Endpoint::Unix("/run/redis/redis.sock".into())]);
        assert_eq!((socket.login.db, socket.mode_name()), (2, "unix"));

        let cluster = parse("redis-cluster://a:1,b:2,c/");
        assert_eq!(cluster.endpoints, [tcp("a", 1), tcp("b", 2), tcp("c", 6379)]);
        assert!(cluster.mode == Mode::Cluster && cluster.tls.is_none());
        assert!(parse("rediss-cluster://a").tls.is_some() && parse("valkeys://a").tls.is_some());

        let sentinel = parse("redis-sentinel://u:p@a,b:7/my%20master/4?sentinel_password=sp");
        assert_eq!(sentinel.endpoints, [tcp("a", 26379), tcp("b", 7)]);
        assert!(sentinel.mode == Mode::Sentinel("my master".into()));
        assert_eq!((sentinel.login.db, sentinel.sentinel_login.password), (4, Some("sp".into())));
    }

    #[test]
    fn what_is_shown_has_no_password() {
        for (name, shown) in [
            ("REDIS://me:sesame@h:1/2?prefix=x", "redis://h:1/2"),
            ("rediss://:sesame@h", "rediss://h:6379"),
            ("redis+unix://:sesame@/run/r.sock", "redis+unix:///run/r.sock"),
            ("redis-cluster://:sesame@a,[::2]:9", "redis-cluster://a:6379,[::2]:9"),
            ("redis-sentinel://:sesame@a/m?sentinel_password=sesame", "redis-sentinel://a:26379/m"),
        ] {
            assert_eq!(parse(name).shown, shown);
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_address() {
        for name in [
            "redis://",
            "redis:///0",
            "redis://:sesame@",
            "redis://sesame:@h:port",
            "redis://h:0",
            "redis://h:65536",
            "redis://h:+1",
            "redis://h:",
            "redis://h/sesame",
            "redis://h/-1",
            "redis://h/1?db=2",
            "redis://h?db=",
            "redis://h?sesame",
            "redis://h?sesame=1",
            "redis://h?prefix=a&prefix=b",
            "redis://h?prefix=a{b}",
            "redis://h?prefix=a%20b",
            "redis://h?ca=x",
            "redis://h?sentinel_user=x",
            "redis://h#sesame",
            "redis://a,b",
            "redis://sesame@h",
            "redis://:ses/ame@h",
            "redis://:%zz@h",
            "redis://:%ff@h",
            "redis://:%00@h",
            "redis://h%0a",
            "redis://h h",
            "redis://[::1",
            "redis://[::1]x",
            "rediss://h?cert=x",
            "redis+unix://h/x",
            "redis+unix://",
            "redis+unix:///",
            "redis-cluster://a/1",
            "redis-cluster://a?db=1",
            "redis-cluster://a,,b",
            "redis-sentinel://a",
            "redis-sentinel://a/m/x",
            "redis-nothing://a",
        ] {
            let Err(error) = Address::parse(name.as_bytes()) else { panic!("{name} is taken") };
            assert_eq!(error.code(), Code::Invalid, "{name}");
            let text = error.to_string();
            assert!(!text.contains("sesame") && !text.contains('\n'), "{name}: {text}");
        }
    }
}
