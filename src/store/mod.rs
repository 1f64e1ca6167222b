//! Where counters live.

mod access;
mod advanced;
mod attach;
mod blank;
mod checkpoint;
mod connection;
mod counters;
mod failure;
mod files;
mod first_open;
mod housekeeping;
mod in_rows;
mod in_table;
#[cfg(feature = "redis")]
mod insured;
mod meta;
mod one_limit;
mod patience;
mod prune;
#[cfg(feature = "redis")]
mod redis;
mod refusal;
mod registry;
mod reset;
mod row;
mod rules;
mod schema;
mod session;
mod sqlite;
mod tables;
mod transaction;
mod turn;
mod upgrade;
mod watched_file;
mod written;

#[cfg(feature = "redis")]
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::clock::When;
use crate::error::{Error, Result};
use crate::judge::Question;
use crate::key::{SecretCheck, StoredKey};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::policy::Policy;

use sqlite::{SqliteInfo, SqliteStore};
#[cfg(feature = "redis")]
use {
    insured::{Insured, InsuredInfo},
    redis::{RedisInfo, RedisStore},
};

/// A place that keeps counters, exact for everyone who shares it.
pub(crate) trait Store: Send + Sync {
    /// Answers a question about a key under the `rule`-th rule of its policy, in one atomic step. (The
    /// answer has its place from the start: handing it up through the layers costs more than finding
    /// it.)
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()>;

    /// Forgets a key under these rules, in slices; returns how many rows went.
    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64>;

    /// Removes rows that no limit asks for any more, in slices; returns how many counters went.
    fn prune(&self, when: When) -> Result<u64>;

    /// What is in force, for people and for monitoring.
    fn info(&self) -> Result<Info>;
}

/// What [`Store::info`] tells.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Info {
    Sqlite(SqliteInfo),
    #[cfg(feature = "redis")]
    Redis(RedisInfo),
    #[cfg(feature = "redis")]
    Insured(InsuredInfo),
}

/// A store of any kind. Not behind a pointer: a hit in a file is too short for a call that cannot be
/// foreseen.
pub(crate) enum AnyStore {
    Sqlite(SqliteStore),
    #[cfg(feature = "redis")]
    Redis(RedisStore),
    #[cfg(feature = "redis")]
    Insured(Box<Insured<RedisStore, SqliteStore>>),
}

impl Store for AnyStore {
    #[inline(always)]
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        match self {
            Self::Sqlite(store) => store.ask(rule, key, question, when, answer),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.ask(rule, key, question, when, answer),
            #[cfg(feature = "redis")]
            Self::Insured(store) => store.ask(rule, key, question, when, answer),
        }
    }

    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64> {
        match self {
            Self::Sqlite(store) => store.reset(rules, key),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.reset(rules, key),
            #[cfg(feature = "redis")]
            Self::Insured(store) => store.reset(rules, key),
        }
    }

    fn prune(&self, when: When) -> Result<u64> {
        match self {
            Self::Sqlite(store) => store.prune(when),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.prune(when),
            #[cfg(feature = "redis")]
            Self::Insured(store) => store.prune(when),
        }
    }

    fn info(&self) -> Result<Info> {
        match self {
            Self::Sqlite(store) => store.info(),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.info(),
            #[cfg(feature = "redis")]
            Self::Insured(store) => store.info(),
        }
    }
}

/// Opens the store of this name for a policy, and for that of its insurance, if it is to have one.
pub(crate) fn open(
    name: &[u8],
    (policy, insured): (Arc<Policy>, Option<Arc<Policy>>),
    options: &Options,
    secret_check: Option<SecretCheck>,
) -> Result<AnyStore> {
    if name.is_empty() {
        return Err(Error::invalid("the store is empty: give the path of a file"));
    }
    let scheme = uri_scheme(name);
    #[cfg(feature = "redis")]
    if scheme.is_some_and(redis::is_meant) {
        return open_on_server(name, (policy, insured), options, secret_check);
    }
    if let Some(scheme) = scheme {
        return Err(Error::invalid(format!(
            "cannot open a store by \"{scheme}:\": give the path of a file (\"./{scheme}:…\" for \
             one of that name){SERVERS}"
        )));
    }
    if is_host_and_port(name) {
        return Err(Error::invalid(format!(
            "the store looks like a host and its port: give the path of a file (\"./…\" for one of \
             that name){SERVERS}"
        )));
    }
    if insured.is_some() {
        return Err(Error::invalid("insurance is for stores on a server, and this one is a file"));
    }
    open_file(name, policy, options, secret_check).map(AnyStore::Sqlite)
}

fn open_file(
    name: &[u8],
    policy: Arc<Policy>,
    options: &Options,
    secret_check: Option<SecretCheck>,
) -> Result<SqliteStore> {
    match name {
        b":memory:" => SqliteStore::in_memory(policy, options, secret_check),
        path => SqliteStore::open(path, policy, options, secret_check),
    }
}

#[cfg(feature = "redis")]
fn open_on_server(
    name: &[u8],
    (policy, insured): (Arc<Policy>, Option<Arc<Policy>>),
    options: &Options,
    secret_check: Option<SecretCheck>,
) -> Result<AnyStore> {
    let server = RedisStore::open(name, policy, options, secret_check)?;
    let (Some(insured), Some(insurance)) = (insured, &options.insurance) else {
        return Ok(AnyStore::Redis(server));
    };
    let path = insurance.store.as_os_str().as_bytes();
    if path.is_empty() || uri_scheme(path).is_some() {
        return Err(Error::invalid("insurance is not the path of a file"));
    }
    let file = open_file(path, insured, options, secret_check)?;
    Ok(AnyStore::Insured(Box::new(Insured::new(server, file))))
}

/// What else may be given.
#[cfg(feature = "redis")]
const SERVERS: &str = ", or the address of a server as redis://, rediss://, redis+unix://, \
                       redis-cluster:// or redis-sentinel://";
#[cfg(not(feature = "redis"))]
const SERVERS: &str = "";

/// A file of that name would be each machine's own, where one for all was meant.
fn is_host_and_port(name: &[u8]) -> bool {
    let Some(colon) = name.iter().rposition(|&byte| byte == b':') else { return false };
    let (host, port) = (&name[..colon], &name[colon + 1..]);
    let is_of_host = |&byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !host.is_empty()
        && host.iter().all(is_of_host)
        && (1..=5).contains(&port.len())
        && port.iter().all(u8::is_ascii_digit)
}

/// `file:…` and `scheme://…` mean other things to SQLite, and to later versions, than a file name. And so
/// does `redis:/user:password@host`: as a path it would be shown in messages.
fn uri_scheme(name: &[u8]) -> Option<&str> {
    let colon = name.iter().position(|&byte| byte == b':')?;
    let scheme = std::str::from_utf8(&name[..colon]).ok()?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let lower = scheme.to_ascii_lowercase();
    let is_server = ["redis", "valkey"].iter().any(|family| lower.starts_with(family));
    let is_uri = lower == "file" || is_server || name[colon + 1..].starts_with(b"//");
    (is_scheme && is_uri).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_its_port_are_no_file() {
        for name in ["127.0.0.1:6379", "localhost:6379", "[::1]:6379", "a-b.example:1"] {
            assert!(is_host_and_port(name.as_bytes()), "{name}");
        }
        for name in ["./localhost:6379", "limits.db", "a:b.db", ":6379", "a:", "a:123456", "/x:1"] {
            assert!(!is_host_and_port(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn only_uris_are_taken_for_uris() {
        for (name, scheme) in [
            ("file:limits.db", Some("file")),
            ("FILE:limits.db?mode=memory", Some("FILE")),
            ("redis://localhost", Some("redis")),
            ("redis+unix://x", Some("redis+unix")),
            ("Redis:/user:password@host", Some("Redis")),
            ("valkeys:host", Some("valkeys")),
            ("./redis:limits.db", None),
            ("limits.db", None),
            ("./file:limits.db", None),
            ("a:b.db", None),
            ("/srv/a://b", None),
            ("://x", None),
            ("7://x", None),
        ] {
            assert_eq!(uri_scheme(name.as_bytes()), scheme, "{name}");
        }
    }
}
