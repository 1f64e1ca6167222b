//! Forgetting a key: its rows, of whatever windows.

use rusqlite::OptionalExtension;

use super::failure::Failure;
use super::schema;
use super::session::Session;
use crate::key::StoredKey;
use crate::policy::Rule;
use crate::table::place::{LimitHash, Place};

/// How many times of expiry one slice looks into under the write lock.
const SLICE_TIMES: usize = 1_000;

pub(super) struct Slice {
    /// When the rows would have expired that are gone.
    pub(super) expired_ms: Vec<i64>,
    /// After which time of expiry the next slice goes on; `None` when all were looked into.
    pub(super) next: Option<i64>,
}

/// A rule's limit, whoever's policy it stands in.
pub(super) struct LimitOf<'a> {
    pub(super) rule: &'a str,
    pub(super) window_code: i64,
    pub(super) number: u32,
    pub(super) hash: LimitHash,
}

/// Removes a key's rows under these limits that expire after `after_ms`.
pub(super) fn slice(
    session: &Session,
    limits: &[LimitOf<'_>],
    key: &StoredKey,
    after_ms: i64,
) -> Result<Slice, Failure> {
    let key_hash = session.meta.place_secret.key(key.as_bytes());
    let mut next_expiry = session.connection.prepare_cached(schema::NEXT_EXPIRY)?;
    let mut delete = session.connection.prepare_cached(schema::DELETE_COUNTER)?;
    let (mut expired_ms, mut at_ms) = (Vec::new(), after_ms);
    for _ in 0..SLICE_TIMES {
        let found = next_expiry.query_row([at_ms], |row| row.get(0)).optional()?;
        let Some(found) = found else { return Ok(Slice { expired_ms, next: None }) };
        at_ms = found;
        for limit in limits {
            let hash = Place::new(limit.hash, key_hash).row_hash();
            let row = (at_ms, hash, limit.rule, limit.window_code, key.as_bytes());
            let removed = delete.execute(row)?;
            expired_ms.extend(std::iter::repeat_n(at_ms, removed));
        }
    }
    Ok(Slice { expired_ms, next: Some(at_ms) })
}

/// Every limit that these rules have or had on the store.
pub(super) fn limits_of<'a>(
    session: &Session,
    rules: &[&'a Rule],
) -> Result<Vec<LimitOf<'a>>, Failure> {
    let mut limits = Vec::new();
    for rule in rules {
        for (window_code, number) in session.rules.numbers(&session.connection, rule.name())? {
            let hash = session.meta.place_secret.limit(rule.name(), window_code);
            limits.push(LimitOf { rule: rule.name(), window_code, number, hash });
        }
    }
    Ok(limits)
}
