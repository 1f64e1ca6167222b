//! A place in the text of a policy, and the errors that point at it.

use crate::error::{Code, Error, Result};

/// The most characters of a policy that an error quotes.
const QUOTED_CHARS: usize = 24;

/// Walks through a text, byte by byte and never back but by [`Cursor::rewind`].
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// A place that was passed, for errors that come to light later.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl<'t> Cursor<'t> {
    /// Starts at the beginning. Text that is not UTF-8 is an error at its first bad byte.
    pub(super) fn new(text: &'t [u8]) -> Result<Self> {
        let error = match std::str::from_utf8(text) {
            Ok(text) => return Ok(Self { text, at: 0 }),
            Err(error) => error,
        };
        let (good, bad) = text.split_at(error.valid_up_to());
        let byte = bad.first().map_or_else(String::new, |byte| format!("0x{byte:02x}"));
        Err(error_after(good, format!("expected UTF-8 text, found the byte {byte}")))
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.at)
    }

    pub(super) fn rewind(&mut self, mark: Mark) {
        self.at = mark.0;
    }

    /// The byte ahead, `None` at the end of the text.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes `token` if it stands ahead, and says whether it did.
    pub(super) fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Passes all characters up to the first that is not `wanted`.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// Passes blanks, and says whether there were any.
    pub(super) fn blanks(&mut self) -> bool {
        !self.take_while(is_blank).is_empty()
    }

    /// Passes everything up to a blank, a separator or a comment.
    pub(super) fn word(&mut self) -> &'t str {
        self.take_while(is_word)
    }

    /// "expected …, found …" at the place ahead.
    pub(super) fn expected(&self, what: &str) -> Error {
        self.expected_at(self.mark(), what)
    }

    /// "expected …, found …" at a place that was passed.
    pub(super) fn expected_at(&self, mark: Mark, what: &str) -> Error {
        let (passed, rest) = self.text.split_at(mark.0);
        error_after(passed.as_bytes(), format!("expected {what}, found {}", quoted(rest)))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

fn is_word(c: char) -> bool {
    !is_blank(c) && !matches!(c, ',' | ';' | '#' | '\r' | '\n')
}

/// An error at the place that follows `passed`. Lines and columns count from 1, columns in bytes.
fn error_after(passed: &[u8], what: String) -> Error {
    let line_start = passed.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = passed.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = passed.len() - line_start + 1;
    Error::new(Code::Policy, format!("policy line {line}, column {column}: {what}"))
}

/// The word or the separator ahead, as an error shows it: in ASCII, on one line, not too long.
fn quoted(rest: &str) -> String {
    let first = match rest.chars().next() {
        None => return "the end of the text".into(),
        Some('\n') => return "the end of the line".into(),
        Some(first) => first,
    };
    let word = match rest.find(|c| !is_word(c)) {
        Some(0) => &rest[..first.len_utf8()],
        Some(end) => &rest[..end],
        None => rest,
    };
    match word.char_indices().nth(QUOTED_CHARS) {
        None => format!("\"{}\"", word.escape_default()),
        Some((cut, _)) => format!("\"{}...\"", word[..cut].escape_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_line_and_a_byte_of_it() {
        for (passed, line, column) in
            [("", 1, 1), ("abc", 1, 4), ("a\n", 2, 1), ("\r\n\n x", 3, 3), ("a\n\u{e4}", 2, 3)]
        {
            let message = error_after(passed.as_bytes(), "x".into()).to_string();
            assert_eq!(message, format!("policy line {line}, column {column}: x"), "{passed:?}");
        }
    }

    #[test]
    fn what_was_found_is_short_and_printable() {
        for (rest, shown) in [
            ("", "the end of the text"),
            ("\nabc", "the end of the line"),
            ("x, y", "\"x\""),
            (", y", "\",\""),
            (" y", "\" \""),
            ("\r", "\"\\r\""),
            ("a\u{1b}[31m\"b", "\"a\\u{1b}[31m\\\"b\""),
            ("\u{e4}\u{20ac}", "\"\\u{e4}\\u{20ac}\""),
            ("123456789012345678901234", "\"123456789012345678901234\""),
            ("1234567890123456789012345", "\"123456789012345678901234...\""),
        ] {
            assert_eq!(quoted(rest), shown);
        }
    }
}
