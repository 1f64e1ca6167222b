//! Forgetting a key, and what is past.

use super::{InTable, Result};
use crate::deadline::Deadline;
use crate::key::StoredKey;
use crate::os::call::Call;
use crate::policy::Rule;
use crate::store::access::Access;
use crate::store::reset::{self, LimitOf};
use crate::store::written::{Occasion, TableRows};
use crate::table::{KeyWords, LimitName};
use crate::window::{Time, Window};

impl InTable {
    /// Of these rules: everything that was counted for a key.
    pub(in crate::store) fn reset(
        &self,
        access: &Access,
        rules: &[&Rule],
        key: &StoredKey,
    ) -> Result<u64> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        let rows = self.rows(access, &deadline, Occasion::Call);
        let words = KeyWords::new(key, self.secret.key(key.as_bytes()));
        let limits = rows.with(|session| Ok(Some(reset::limits_of(session, rules)?)))?;
        let mut removed = 0;
        for limit in &limits {
            removed += self.reset_limit(&rows, limit, key, &words, &access.patience())?;
        }
        Ok(removed)
    }

    fn reset_limit(
        &self,
        rows: &TableRows<'_>,
        limit: &LimitOf<'_>,
        key: &StoredKey,
        words: &KeyWords<'_>,
        deadline: &Deadline,
    ) -> Result<u64> {
        let Some(window) = Window::from_code(limit.window_code) else { return Ok(0) };
        let name = LimitName::new(limit.number, window, limit.hash);
        let zeroed = self.table.zero(&name, words, deadline)?;
        let mut expire_ms = rows.forget(limit, key, &zeroed.slots)?;
        expire_ms.extend(&zeroed.expire_ms);
        zeroed.free();
        expire_ms.sort_unstable();
        expire_ms.dedup();
        Ok(expire_ms.len() as u64)
    }

    /// Writes everything that is unwritten, after the slots of expired counters were freed.
    pub(in crate::store) fn prune(&self, access: &Access, now: Time) -> Result<u64> {
        let deadline = access.patience();
        let _call = Call::enter(&deadline)?;
        self.must_count()?;
        let removed = self.table.prune(now, &deadline)?;
        self.write_all(access, Occasion::Call, &deadline)?;
        Ok(removed)
    }
}
