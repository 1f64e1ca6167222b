//! Response headers: three styles of telling a client about its limit.

use crate::error::Result;
use crate::outcome::Outcome;
use crate::policy::{Limit, Policy, Rule};

/// Which header fields to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` (epoch seconds): what most clients know.
    X,
    /// GitHub's, in lower case: those of [`Style::X`], then `x-ratelimit-used` and
    /// `x-ratelimit-resource` (the rule).
    GitHub,
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10. A limit is
    /// named by its rule (`api`), in a rule of several by rule and window (`api:10s`). The
    /// draft's `w` is left out where a window is a month or no whole number of seconds.
    Ietf,
}

/// The largest integer of a structured field (RFC 9651, section 3.3.1).
const MAX_STRUCTURED_INTEGER: i64 = 999_999_999_999_999;

/// The header lines for an outcome of a limiter of `policy`, each ended by CR LF. The last is
/// `Retry-After`, on a denial that a wait helps. No key is ever in them.
///
/// # Errors
///
/// [`Code::Invalid`](crate::error::Code::Invalid) when the outcome cannot be of this policy.
pub fn headers(policy: &Policy, outcome: &Outcome, style: Style) -> Result<String> {
    let (rule, limit) = outcome.source(policy)?;
    let Outcome { remaining, reset_at, retry_after, .. } = *outcome;
    let mut lines = match style {
        Style::X => vec![
            ("X-RateLimit-Limit", outcome.limit.to_string()),
            ("X-RateLimit-Remaining", remaining.to_string()),
            ("X-RateLimit-Reset", reset_at.to_string()),
        ],
        Style::GitHub => vec![
            ("x-ratelimit-limit", outcome.limit.to_string()),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", reset_at.to_string()),
            ("x-ratelimit-used", (outcome.limit - remaining).to_string()),
            ("x-ratelimit-resource", rule.name().to_owned()),
        ],
        Style::Ietf => vec![
            ("RateLimit-Policy", quota_policies(rule)),
            ("RateLimit", service_limit(rule, limit, outcome)),
        ],
    };
    if retry_after > 0 {
        let name = if style == Style::GitHub { "retry-after" } else { "Retry-After" };
        lines.push((name, retry_after.to_string()));
    }
    Ok(lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect())
}

/// All limits of a rule: `"api:10s";q=10;w=10, "api:1d";q=1000;w=86400`.
fn quota_policies(rule: &Rule) -> String {
    let quota_policy = |limit: &Limit| {
        let window = limit.window().whole_seconds().map(|seconds| format!(";w={seconds}"));
        format!(
            "{};q={}{}",
            quoted_name(rule, limit),
            structured_integer(limit.units()),
            window.unwrap_or_default()
        )
    };
    rule.limits().iter().map(quota_policy).collect::<Vec<_>>().join(", ")
}

/// The deciding limit, with seconds until its window ends, rounded up: `"api:10s";r=9;t=5`.
fn service_limit(rule: &Rule, limit: &Limit, outcome: &Outcome) -> String {
    let ms_left = outcome.window_start_ms + outcome.window_ms - outcome.now_ms;
    format!(
        "{};r={};t={}",
        quoted_name(rule, limit),
        structured_integer(outcome.remaining),
        (ms_left + 999) / 1_000
    )
}

/// A structured-field string. Names and windows hold no character that it would have to escape.
fn quoted_name(rule: &Rule, limit: &Limit) -> String {
    match rule.limits() {
        [_] => format!("\"{}\"", rule.name()),
        _ => format!("\"{}:{}\"", rule.name(), limit.window()),
    }
}

fn structured_integer(value: i64) -> i64 {
    value.min(MAX_STRUCTURED_INTEGER)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_case_comes_out_byte_for_byte() {
        let cases: Value =
            serde_json::from_str(include_str!("../tests/cases/headers.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let number = |field: &str| case["outcome"][field].as_i64().unwrap();
            let outcome = Outcome {
                allowed: number("allowed") == 1,
                limit: number("limit"),
                count: number("count"),
                remaining: number("remaining"),
                reset_at: number("reset_at"),
                retry_after: number("retry_after"),
                window_start_ms: number("window_start_ms"),
                window_ms: number("window_ms"),
                now_ms: number("now_ms"),
                rule: number("rule") as usize,
                limit_index: number("limit_index") as usize,
                insured: false,
            };
            let style = match case["style"].as_str().unwrap() {
                "X" => Style::X,
                "GITHUB" => Style::GitHub,
                "IETF" => Style::Ietf,
                other => panic!("no style {other}"),
            };
            let policy = Policy::parse(case["policy"].as_str().unwrap().as_bytes()).unwrap();
            let text = headers(&policy, &outcome, style).unwrap();
            assert_eq!(text, case["expect"], "{}", case["name"]);
        }
    }
}
