//! The grammar of a policy, one function a production.

use std::collections::HashMap;

use super::cursor::{Cursor, Mark};
use super::{Limit, Policy, Rule};
use crate::error::Result;
use crate::route::{Pattern, Route};
use crate::units::MAX_UNITS;
use crate::window::Window;

const MAX_NAME_BYTES: usize = 64;
const MAX_METHOD_BYTES: usize = 32;

/// The name of a sole rule that has none in the text.
const DEFAULT_NAME: &str = "default";

const RULE: &str = "a rule ([name:] [[METHOD] path] limit, with a limit such as 100/60s)";

pub(super) fn policy(text: &[u8]) -> Result<Policy> {
    let mut cursor = Cursor::new(text)?;
    let mut rules = Vec::new();
    let mut by_name = HashMap::new();
    let mut unnamed = None;

    loop {
        skip_empty_rules(&mut cursor)?;
        if cursor.peek().is_none() {
            break;
        }
        let start = cursor.mark();
        let rule = match name(&mut cursor)? {
            Some(name) => rule(&mut cursor, name)?,
            None => {
                unnamed.get_or_insert(start);
                rule(&mut cursor, DEFAULT_NAME)?
            }
        };
        if let Some(mark) = unnamed
            && !rules.is_empty()
        {
            return Err(cursor.expected_at(mark, "a name (only a sole rule may be unnamed)"));
        }
        if by_name.insert(rule.name.clone(), rules.len()).is_some() {
            return Err(cursor.expected_at(start, "a name that no other rule has"));
        }
        rules.push(rule);
    }

    if rules.is_empty() { Err(cursor.expected(RULE)) } else { Ok(Policy { rules, by_name }) }
}

/// Passes what may stand between two rules.
fn skip_empty_rules(cursor: &mut Cursor) -> Result<()> {
    loop {
        cursor.blanks();
        comment(cursor);
        if !(cursor.accept(";") || cursor.accept("\n") || cursor.accept("\r\n")) {
            break;
        }
    }
    match cursor.peek() {
        // Old line ends would hide the rules that follow a comment.
        Some(b'\r') => Err(cursor.expected("a line feed after the carriage return")),
        _ => Ok(()),
    }
}

fn comment(cursor: &mut Cursor) {
    if cursor.accept("#") {
        cursor.take_while(|c| c != '\r' && c != '\n');
    }
}

fn rule(cursor: &mut Cursor, name: &str) -> Result<Rule> {
    let route = route(cursor)?;
    let mut limits = Vec::new();
    loop {
        cursor.blanks();
        limits.push(limit(cursor, &limits)?);
        cursor.blanks();
        if !cursor.accept(",") {
            break;
        }
    }
    match cursor.peek() {
        None | Some(b';' | b'#' | b'\n' | b'\r') => {
            Ok(Rule { name: name.to_owned(), route, limits })
        }
        Some(_) => Err(cursor.expected("\",\" and a limit, or the end of the rule")),
    }
}

/// `name ":"`, if a colon follows.
fn name<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>> {
    let start = cursor.mark();
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    cursor.blanks();
    if !cursor.accept(":") {
        cursor.rewind(start);
        return Ok(None);
    }
    if (1..=MAX_NAME_BYTES).contains(&name.len()) {
        Ok(Some(name))
    } else {
        Err(cursor.expected_at(start, "a name of 1 to 64 of A-Z a-z 0-9 _ . - before the \":\""))
    }
}

/// `[ [ METHOD ] path ]`
fn route(cursor: &mut Cursor) -> Result<Option<Route>> {
    cursor.blanks();
    match cursor.peek() {
        Some(b'0'..=b'9') => Ok(None),
        Some(b'/' | b'*') => Ok(Some(Route::new(None, path(cursor)?))),
        _ => {
            let method = method(cursor)?;
            cursor.blanks();
            Ok(Some(Route::new(Some(method.to_owned()), path(cursor)?)))
        }
    }
}

fn method<'t>(cursor: &mut Cursor<'t>) -> Result<&'t str> {
    let start = cursor.mark();
    let method = cursor.word();
    let is_method = (1..=MAX_METHOD_BYTES).contains(&method.len())
        && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if is_method {
        Ok(method)
    } else {
        Err(cursor.expected_at(start, "a METHOD in capitals, a path or a limit such as 100/60s"))
    }
}

fn path(cursor: &mut Cursor) -> Result<Pattern> {
    let start = cursor.mark();
    let path = cursor.word();
    if path == "*" {
        return Ok(Pattern::All);
    }
    let (literal, pattern): (&str, fn(String) -> Pattern) = match path.strip_suffix('*') {
        Some(prefix) if prefix.ends_with('/') => (prefix, Pattern::Prefix),
        _ => (path, Pattern::Exact),
    };
    let problem = if !path.starts_with('/') {
        "a path (\"/...\", \"/.../*\" or \"*\")"
    } else if literal.contains('*') {
        "a path with \"*\" only as its last segment"
    } else if literal.contains('?') {
        // A target is cut at "?": such a rule could never match, and would guard nothing.
        "a path without \"?\" (a query is not matched)"
    } else if literal.chars().any(|c| c.is_control() || c.is_whitespace()) {
        "a path without control characters and blanks"
    } else {
        return Ok(pattern(literal.to_owned()));
    };
    Err(cursor.expected_at(start, problem))
}

/// `N "/" duration | N " per " duration`, with a window that `others` do not have.
fn limit(cursor: &mut Cursor, others: &[Limit]) -> Result<Limit> {
    let start = cursor.mark();
    let digits = digits(cursor);
    if digits.is_empty() {
        return Err(cursor.expected("a limit such as 100/60s"));
    }
    let units = match digits.parse() {
        Ok(units @ 0..=MAX_UNITS) => units,
        _ => return Err(cursor.expected_at(start, &format!("a number of 0 to {MAX_UNITS} units"))),
    };
    if !cursor.accept("/") {
        per(cursor)?;
    }
    let start = cursor.mark();
    let window = duration(cursor, start)?;
    if others.iter().any(|other| other.window == window) {
        return Err(cursor.expected_at(start, "a window that no other limit of the rule has"));
    }
    Ok(Limit { units, window })
}

fn per(cursor: &mut Cursor) -> Result<()> {
    let blanks_before = cursor.blanks();
    let start = cursor.mark();
    if blanks_before && cursor.word() == "per" && cursor.blanks() {
        Ok(())
    } else {
        Err(cursor.expected_at(start, "\"/\" right after the number, or \" per \""))
    }
}

/// `[ count ] unit`
fn duration(cursor: &mut Cursor, start: Mark) -> Result<Window> {
    let count = digits(cursor);
    let unit_start = cursor.mark();
    let unit_ms: i64 = match cursor.word() {
        "month" if count.is_empty() => return Ok(Window::Month),
        "month" => return Err(cursor.expected_at(start, "\"month\" without a count")),
        "ms" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return Err(cursor.expected_at(unit_start, "a unit (ms, s, m, h, d or month)")),
    };
    let count = if count.is_empty() { Some(1) } else { count.parse().ok() };
    count
        .and_then(|count: i64| count.checked_mul(unit_ms))
        .and_then(Window::from_millis)
        .ok_or_else(|| cursor.expected_at(start, "a window of 1 ms to 366 d"))
}

fn digits<'t>(cursor: &mut Cursor<'t>) -> &'t str {
    cursor.take_while(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::error::Code;

    fn parse(text: &str) -> Policy {
        policy(text.as_bytes()).unwrap()
    }

    fn error(text: &[u8]) -> String {
        let error = policy(text).unwrap_err();
        assert_eq!(error.code(), Code::Policy);
        error.to_string()
    }

    /// `(name, route, limits)` of each rule, the limits as `N/window`.
    fn rules(text: &str) -> Vec<(String, Option<Route>, Vec<String>)> {
        let limits = |rule: &Rule| {
            rule.limits.iter().map(|limit| format!("{}/{}", limit.units, limit.window)).collect()
        };
        let policy = parse(text);
        policy.rules.iter().map(|r| (r.name.clone(), r.route.clone(), limits(r))).collect()
    }

    #[test]
    fn every_case_is_accepted_or_refused() {
        let cases: Value =
            serde_json::from_str(include_str!("../../tests/cases/policies.json")).unwrap();
        for text in cases["accepted"].as_array().unwrap() {
            parse(text.as_str().unwrap());
        }
        for text in cases["refused"].as_array().unwrap() {
            error(text.as_str().unwrap().as_bytes());
        }
    }

    #[test]
    fn every_error_says_where_and_what_was_expected() {
        let cases: Value =
            serde_json::from_str(include_str!("../../tests/cases/policy_errors.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            assert_eq!(error(text.as_bytes()), case["message"], "{text:?}");
        }
    }

    #[test]
    fn a_policy_means_what_it_says() {
        let route = |method: Option<&str>, path| Some(Route::new(method.map(Into::into), path));
        assert_eq!(
            rules("login: POST /login  3/10s\r\napi :* 10/10s , 1000 per\tday # all\nv1:/v1/* 5/s"),
            [
                (
                    "login".into(),
                    route(Some("POST"), Pattern::Exact("/login".into())),
                    vec!["3/10s".into()]
                ),
                ("api".into(), route(None, Pattern::All), vec!["10/10s".into(), "1000/1d".into()]),
                ("v1".into(), route(None, Pattern::Prefix("/v1/".into())), vec!["5/1s".into()]),
            ]
        );
        assert_eq!(rules("100/min"), [("default".into(), None, vec!["100/1m".into()])]);
    }

    #[test]
    fn every_unit_is_understood_and_no_other() {
        for (unit, window) in [
            ("ms", "1ms"),
            ("s", "1s"),
            ("sec", "1s"),
            ("second", "1s"),
            ("seconds", "1s"),
            ("m", "1m"),
            ("min", "1m"),
            ("minute", "1m"),
            ("minutes", "1m"),
            ("h", "1h"),
            ("hour", "1h"),
            ("hours", "1h"),
            ("d", "1d"),
            ("day", "1d"),
            ("days", "1d"),
            ("month", "month"),
        ] {
            let policy = parse(&format!("1/{unit}"));
            assert_eq!(policy.rules[0].limits[0].window.to_string(), window, "{unit}");
        }
        for unit in ["", "S", "secs", "mins", "hr", "hrs", "w", "week", "y", "months", "sx", "s1"] {
            assert!(error(format!("1/{unit}").as_bytes()).contains("expected a unit"), "{unit}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_wherever_they_stand() {
        for (text, message) in [
            (&b"\xff"[..], "policy line 1, column 1: expected UTF-8 text, found the byte 0xff"),
            (b"1/s\n# \xe4", "policy line 2, column 3: expected UTF-8 text, found the byte 0xe4"),
            (b"/\xc3 1/s", "policy line 1, column 2: expected UTF-8 text, found the byte 0xc3"),
        ] {
            assert_eq!(error(text), message);
        }
        assert!(error(b"1/s\0").contains("found \"s\\u{0}\""));
    }
}
