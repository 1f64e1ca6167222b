//! Which windows the rules on a store have, whoever uses them, and the number that stands for both.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::failure::Failure;
use super::schema;
use crate::error::{Code, Error};
use crate::policy::Rule;
use crate::table::LimitName;

/// What a connection knows of `rate_limit_rules`. Nothing there ever changes or goes.
#[derive(Default)]
pub(super) struct Rules {
    /// Windows and their numbers, by rule.
    windows: RefCell<HashMap<String, Vec<(i64, u32)>>>,
    names: RefCell<HashMap<u32, String>>,
}

impl Rules {
    /// Sees to it that each limit of a rule stands there.
    pub(super) fn register(&self, connection: &Connection, rule: &Rule) -> Result<(), Failure> {
        let windows = || rule.limits().iter().map(|limit| limit.window().code());
        let has_all = |known: &[(i64, u32)]| {
            windows().all(|code| known.iter().any(|(known, _)| *known == code))
        };
        if self.windows.borrow().get(rule.name()).is_some_and(|known| has_all(known)) {
            return Ok(());
        }
        if !has_all(&self.numbers(connection, rule.name())?) {
            let mut add = connection.prepare_cached(schema::ADD_RULE)?;
            for code in windows() {
                add.execute((rule.name(), code))?;
            }
        }
        let standing = self.numbers(connection, rule.name())?;
        self.windows.borrow_mut().insert(rule.name().to_owned(), standing);
        Ok(())
    }

    /// A rule's limit, after [`Rules::register`].
    pub(super) fn number(&self, rule: &str, window_code: i64) -> Result<u32, Failure> {
        let windows = self.windows.borrow();
        let number = windows.get(rule).and_then(|known| {
            known.iter().find(|(code, _)| *code == window_code).map(|(_, number)| *number)
        });
        Ok(number.ok_or_else(|| Error::new(Code::Internal, "a rule has no number"))?)
    }

    /// The windows of a rule and their numbers, as they stand there now.
    pub(super) fn numbers(
        &self,
        connection: &Connection,
        rule: &str,
    ) -> Result<Vec<(i64, u32)>, Failure> {
        let mut statement = connection.prepare_cached(schema::WINDOWS_OF_RULE)?;
        let mut rows = statement.query([rule])?;
        let mut numbers = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(1)?;
            let fits = (0..LimitName::NUMBERS).contains(&number);
            let number = u32::try_from(number).ok().filter(|_| fits);
            let number = number.ok_or_else(|| {
                Error::new(Code::Full, "the store has seen 2 million rules; begin a new one")
            })?;
            numbers.push((row.get(0)?, number));
        }
        Ok(numbers)
    }

    /// The rule of a number; `None` for one that nobody has.
    pub(super) fn with_name<T>(
        &self,
        connection: &Connection,
        number: u32,
        use_name: impl FnOnce(Option<&str>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if !self.names.borrow().contains_key(&number) {
            let mut statement = connection.prepare_cached(schema::RULE_OF_NUMBER)?;
            let name: Option<String> =
                statement.query_row([number], |row| row.get(0)).optional()?;
            let Some(name) = name else { return use_name(None) };
            self.names.borrow_mut().insert(number, name);
        }
        use_name(self.names.borrow().get(&number).map(String::as_str))
    }
}
