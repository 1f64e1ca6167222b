//! What every process on a store must agree on, kept in the store itself.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::failure::Failure;
use super::refusal::open_error;
use super::schema;
use crate::error::{Code, Error};
use crate::key::SecretCheck;
use crate::os::random;
use crate::table::life;
use crate::table::place::PlaceSecret;

/// What the creator of a store decides.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) file_mode: u32,
    /// Of the shared table; `None`: as many as usual.
    pub(crate) table_slots: Option<u64>,
    pub(crate) secret_check: Option<SecretCheck>,
}

/// What stands in a store's `meta` table.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) format: i64,
    pub(super) place_secret: PlaceSecret,
    secret_check: Option<Vec<u8>>,
}

const FORMAT: &str = "format";
const PLACE_SECRET: &str = "place_secret";
const SECRET_CHECK: &str = "key_secret_check";

impl Meta {
    pub(super) fn read(connection: &Connection) -> Result<Self, Failure> {
        let place_secret = connection
            .query_one(schema::GET_META, [PLACE_SECRET], |row| row.get(0))
            .map(PlaceSecret::new)?;
        Ok(Self {
            format: format(connection)?,
            place_secret,
            secret_check: connection
                .query_row(schema::GET_META, [SECRET_CHECK], |row| row.get(0))
                .optional()?,
        })
    }

    pub(super) fn write(
        connection: &Connection,
        settings: &Settings,
        counting: Counting,
    ) -> Result<(), Failure> {
        set_counting(connection, settings, counting, i64::MIN)?;
        add_place_secret(connection)?;
        if let Some(check) = &settings.secret_check {
            connection.execute(schema::SET_META, (SECRET_CHECK, check.as_slice()))?;
        }
        Ok(())
    }

    pub(super) fn counts_in_rows(&self) -> bool {
        self.format == schema::FORMAT_ROWS
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

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// The rows alone.
    Rows,
    /// The shared table beside them.
    Table,
}

impl Counting {
    /// What a store that is made at this path can have.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let obstacle = life::obstacle(path.parent().unwrap_or(Path::new("/")))
            .map_err(|error| open_error(path, &error, "whether it can have a shared table"))?;
        Ok(if obstacle.is_none() { Self::Table } else { Self::Rows })
    }
}

/// Decides who counts. `highest_start_ms`: the latest start of a row that there is.
pub(super) fn set_counting(
    connection: &Connection,
    settings: &Settings,
    counting: Counting,
    highest_start_ms: i64,
) -> Result<(), Failure> {
    let format = match counting {
        Counting::Rows => schema::FORMAT_ROWS,
        Counting::Table => {
            let slots = life::round_up(settings.table_slots.unwrap_or(life::DEFAULT_SLOTS));
            connection.execute(schema::ADD_TABLE, (highest_start_ms, slots as i64))?;
            schema::FORMAT_TABLE
        }
    };
    connection.pragma_update(None, "user_version", format)?;
    connection.execute(schema::SET_META, (FORMAT, format))?;
    Ok(())
}

pub(super) fn add_place_secret(connection: &Connection) -> Result<PlaceSecret, Failure> {
    let secret = random::bytes().map_err(|error| {
        Error::new(Code::Io, format!("the system has no random bytes for a new store: {error}"))
    })?;
    connection.execute(schema::SET_META, (PLACE_SECRET, secret))?;
    Ok(PlaceSecret::new(secret))
}

/// The store's format as it stands now.
pub(super) fn format(connection: &Connection) -> Result<i64, Failure> {
    Ok(connection.prepare_cached(schema::GET_META)?.query_one([FORMAT], |row| row.get(0))?)
}

pub(super) fn unknown_format(store: &str, format: i64) -> Error {
    Error::new(
        Code::NotStore,
        format!(
            "store {store} has format {format}, this library knows {} to {}; use a newer library",
            schema::FIRST_FORMAT,
            schema::NEWEST_FORMAT
        ),
    )
}
