//! An open connection, and what belongs to it alone.

use rusqlite::Connection;

use super::failure::Failure;
use super::housekeeping::Debt;
use super::meta::Meta;
use super::one_limit::OneLimit;

pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) meta: Meta,
    pub(super) one_limit: OneLimit,
    pub(super) debt: Debt,
    pub(super) audit_debt: Debt,
}

impl Session {
    pub(super) fn new(connection: Connection, meta: Meta) -> Result<Self, Failure> {
        let one_limit = OneLimit::install(&connection)?;
        Ok(Self { connection, meta, one_limit, debt: Debt::default(), audit_debt: Debt::default() })
    }
}
