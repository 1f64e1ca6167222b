//! What every process on a store must agree on, kept in the store itself.

use rusqlite::{Connection, OptionalExtension};

use super::failure::Failure;
use super::schema;
use crate::error::{Code, Error};
use crate::key::SecretCheck;

/// What the creator of a store decides.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) file_mode: u32,
    pub(crate) secret_check: Option<SecretCheck>,
}

/// What stands in a store's `meta` table.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) format: i64,
    secret_check: Option<Vec<u8>>,
}

const FORMAT: &str = "format";
const SECRET_CHECK: &str = "key_secret_check";

impl Meta {
    pub(super) fn read(connection: &Connection) -> Result<Self, Failure> {
        Ok(Self {
            format: format(connection)?,
            secret_check: connection
                .query_row(schema::GET_META, [SECRET_CHECK], |row| row.get(0))
                .optional()?,
        })
    }

    pub(super) fn write(connection: &Connection, settings: &Settings) -> Result<(), Failure> {
        connection.execute(schema::SET_META, (FORMAT, schema::FORMAT))?;
        if let Some(check) = &settings.secret_check {
            connection.execute(schema::SET_META, (SECRET_CHECK, check.as_slice()))?;
        }
        Ok(())
    }

    /// Two hosts that hash keys with different secrets would give one client two budgets.
    pub(super) fn require_secret(
        &self,
        expected: Option<&SecretCheck>,
        store: &str,
    ) -> Result<(), Error> {
        let why = match (self.secret_check.as_deref(), expected) {
            (None, None) => return Ok(()),
            (Some(stored), Some(given)) if stored == given.as_slice() => return Ok(()),
            (Some(_), Some(_)) => "another key_secret; give that one",
            (Some(_), None) => "a key_secret; give that one",
            (None, Some(_)) => "no key_secret; leave it out, or begin a new store",
        };
        Err(Error::new(Code::Invalid, format!("store {store} was made with {why}")))
    }
}

/// The store's format as it stands now.
pub(super) fn format(connection: &Connection) -> Result<i64, Failure> {
    Ok(connection.prepare_cached(schema::GET_META)?.query_one([FORMAT], |row| row.get(0))?)
}

pub(super) fn unknown_format(store: &str, format: i64) -> Error {
    Error::new(
        Code::NotStore,
        format!(
            "store {store} has format {format}, this library knows {}; use a newer library",
            schema::FORMAT
        ),
    )
}
