//! Forgetting a key.

use rusqlite::Connection;

use super::failure::Failure;
use super::schema;
use crate::key::StoredKey;
use crate::policy::Rule;

/// How many groups of rows one slice looks into under the write lock.
const SLICE_GROUPS: usize = 1_000;

/// Rows that share a window and a rule.
pub(super) struct Group {
    expires_ms: i64,
    rule: String,
    window_ms: i64,
}

impl Group {
    pub(super) fn before_all() -> Self {
        Self { expires_ms: i64::MIN, rule: String::new(), window_ms: i64::MIN }
    }
}

pub(super) struct Slice {
    pub(super) removed: usize,
    /// Where the next slice goes on; `None` when all groups were looked into.
    pub(super) next: Option<Group>,
}

pub(super) fn slice(
    connection: &Connection,
    rules: &[&Rule],
    key: &StoredKey,
    start: &Group,
) -> Result<Slice, Failure> {
    let mut next_group = connection.prepare_cached(schema::NEXT_GROUP)?;
    let mut delete = connection.prepare_cached(schema::DELETE_COUNTER)?;
    let mut removed = 0;
    let mut at = Group { rule: start.rule.clone(), ..*start };
    for _ in 0..SLICE_GROUPS {
        let mut rows = next_group.query((at.expires_ms, &at.rule, at.window_ms))?;
        let Some(row) = rows.next()? else {
            return Ok(Slice { removed, next: None });
        };
        at = Group { expires_ms: row.get(0)?, rule: row.get(1)?, window_ms: row.get(2)? };
        if rules.iter().any(|rule| rule.name() == at.rule) {
            removed += delete.execute((at.expires_ms, &at.rule, at.window_ms, key.as_bytes()))?;
        }
    }
    Ok(Slice { removed, next: Some(at) })
}
