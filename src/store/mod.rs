//! Where counters live.

mod blank;
mod checkpoint;
mod connection;
mod counters;
mod errno;
mod failure;
mod files;
mod first_open;
mod housekeeping;
mod meta;
mod one_limit;
mod patience;
mod prune;
mod refusal;
mod registry;
mod reset;
mod schema;
mod session;
mod sqlite;
mod transaction;
mod turn;
mod watched_file;

use crate::clock::When;
use crate::error::{Error, Result};
use crate::judge::Question;
use crate::key::{SecretCheck, StoredKey};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::policy::Rule;

pub(crate) use sqlite::SqliteStore;

/// A place that keeps counters, exact for everyone who shares it.
pub(crate) trait Store: Send + Sync {
    /// Answers a question about a key under a rule, which is the `index`-th of its policy, in one
    /// atomic step.
    fn ask(
        &self,
        rule: &Rule,
        index: usize,
        key: &StoredKey,
        question: Question,
        when: When,
    ) -> Result<Outcome>;

    /// Forgets a key under these rules, in slices; returns how many rows went.
    fn reset(&self, rules: &[&Rule], key: &StoredKey) -> Result<u64>;

    /// Removes rows that no limit asks for any more, in slices; returns how many counters went.
    fn prune(&self, when: When) -> Result<u64>;

    /// What is in force, for people and for monitoring.
    fn info(&self) -> Result<Info>;
}

/// What [`Store::info`] tells.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Info {
    pub(crate) store: String,
    pub(crate) engine: &'static str,
    pub(crate) engine_version: &'static str,
    /// `hit`: each hit is committed before it is answered.
    pub(crate) durability: &'static str,
    /// `ofd`, `posix`, or `none` for a store in memory.
    pub(crate) locks: &'static str,
    pub(crate) format: i64,
    pub(crate) keys_hashed: bool,
    pub(crate) auto_prune: bool,
    pub(crate) audit: bool,
    pub(crate) busy_timeout_ms: u64,
    pub(crate) database_bytes: u64,
    pub(crate) wal_bytes: u64,
    /// How many descriptors this process holds on store files, all stores together.
    pub(crate) descriptors: usize,
}

/// Opens the store of this name.
pub(crate) fn open(
    name: &[u8],
    options: &Options,
    secret_check: Option<SecretCheck>,
) -> Result<Box<dyn Store>> {
    if name.is_empty() {
        return Err(Error::invalid("the store is empty: give the path of a file"));
    }
    if name == b":memory:" {
        return Ok(Box::new(SqliteStore::in_memory(options, secret_check)?));
    }
    if let Some(scheme) = uri_scheme(name) {
        return Err(Error::invalid(format!(
            "cannot open a store by \"{scheme}:\": give the path of a file (\"./{scheme}:…\" for \
             one of that name)"
        )));
    }
    Ok(Box::new(SqliteStore::open(name, options, secret_check)?))
}

/// `file:…` and `scheme://…` mean other things to SQLite, and to later versions, than a file name.
fn uri_scheme(name: &[u8]) -> Option<&str> {
    let colon = name.iter().position(|&byte| byte == b':')?;
    let scheme = std::str::from_utf8(&name[..colon]).ok()?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_uri = scheme.eq_ignore_ascii_case("file") || name[colon + 1..].starts_with(b"//");
    (is_scheme && is_uri).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uris_are_taken_for_uris() {
        for (name, scheme) in [
            ("file:limits.db", Some("file")),
            ("FILE:limits.db?mode=memory", Some("FILE")),
            ("redis://localhost", Some("redis")),
            ("redis+unix://x", Some("redis+unix")),
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
