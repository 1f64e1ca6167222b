//! Where counters live.

mod access;
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
mod meta;
mod one_limit;
mod patience;
mod prune;
mod refusal;
mod registry;
mod reset;
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

use std::sync::Arc;

use crate::clock::When;
use crate::error::{Error, Result};
use crate::judge::Question;
use crate::key::{SecretCheck, StoredKey};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::policy::Policy;

pub(crate) use sqlite::SqliteStore;

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
pub(crate) struct Info {
    pub(crate) store: String,
    pub(crate) engine: &'static str,
    pub(crate) engine_version: &'static str,
    /// `hit`: each hit is committed before it is answered; `interval`: after it.
    pub(crate) durability: &'static str,
    pub(crate) flush_interval_ms: u64,
    /// The shared table in which hits are counted; null where they are counted in rows.
    pub(crate) table: Option<TableInfo>,
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

/// Of a shared table.
#[derive(Debug, serde::Serialize)]
pub(crate) struct TableInfo {
    pub(crate) slots: u64,
    pub(crate) bytes: u64,
    pub(crate) lag: LagInfo,
}

/// How far the file lags behind the table.
#[derive(Debug, serde::Serialize)]
pub(crate) struct LagInfo {
    /// About how many counters are not in the file yet.
    pub(crate) unwritten: u64,
    /// Since when, at most.
    pub(crate) ms: u64,
    /// Why the last try to write them failed; null if it did not.
    pub(crate) cause: Option<&'static str>,
}

/// Opens the store of this name for a policy.
pub(crate) fn open(
    name: &[u8],
    policy: Arc<Policy>,
    options: &Options,
    secret_check: Option<SecretCheck>,
) -> Result<SqliteStore> {
    if name.is_empty() {
        return Err(Error::invalid("the store is empty: give the path of a file"));
    }
    if name == b":memory:" {
        return SqliteStore::in_memory(policy, options, secret_check);
    }
    if let Some(scheme) = uri_scheme(name) {
        return Err(Error::invalid(format!(
            "cannot open a store by \"{scheme}:\": give the path of a file (\"./{scheme}:…\" for \
             one of that name)"
        )));
    }
    SqliteStore::open(name, policy, options, secret_check)
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
