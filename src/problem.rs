//! The body of a 429 response: problem details in JSON (RFC 9457).

use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::outcome::Outcome;
use crate::policy::Policy;

#[derive(Serialize)]
struct Problem {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    limit: i64,
    remaining: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<i64>,
}

/// The problem details (`application/problem+json`) for an outcome of a limiter of `policy`, on
/// one line, with the members `limit`, `remaining` and `retry_after` (seconds; absent when no wait
/// helps). No key is ever in them. An allowed outcome is no problem: it says so, with status 200.
///
/// # Errors
///
/// [`Code::Invalid`] when the outcome cannot be of this policy.
pub fn problem(policy: &Policy, outcome: &Outcome) -> Result<String> {
    let (_, limit) = outcome.source(policy)?;
    let limit = format!("{} per {}", limit.units(), limit.window());
    let detail = match outcome.retry_after {
        0 => format!("The request is within the limit of {limit}."),
        -1 => format!("The request is above the limit of {limit}; waiting does not help."),
        seconds => format!("The limit of {limit} leaves no room; retry after {seconds} s."),
    };
    let (r#type, title, status) = if outcome.allowed {
        ("about:blank", "OK", 200)
    } else {
        ("rate-limit-exceeded", "Too Many Requests", 429)
    };
    let problem = Problem {
        r#type,
        title,
        status,
        detail,
        limit: outcome.limit,
        remaining: outcome.remaining,
        retry_after: (outcome.retry_after >= 0).then_some(outcome.retry_after),
    };
    serde_json::to_string(&problem)
        .map_err(|error| Error::new(Code::Internal, format!("cannot write JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problem of a key that meets `policy` at time 0.
    fn problem_of(policy: &str, allowed: bool, limit: i64, retry_after: i64) -> String {
        let outcome = Outcome {
            allowed,
            limit,
            count: 4,
            remaining: 0,
            reset_at: 10,
            retry_after,
            window_start_ms: 0,
            window_ms: 10_000,
            now_ms: 0,
            rule: 0,
            limit_index: 0,
            insured: false,
        };
        problem(&Policy::parse(policy.as_bytes()).unwrap(), &outcome).unwrap()
    }

    #[test]
    fn a_denial_says_the_limit_and_the_wait() {
        assert_eq!(
            problem_of("3/10s", false, 3, 10),
            r#"{"type":"rate-limit-exceeded","title":"Too Many Requests","status":429,"#.to_owned()
                + r#""detail":"The limit of 3 per 10s leaves no room; retry after 10 s.","#
                + r#""limit":3,"remaining":0,"retry_after":10}"#
        );
    }

    #[test]
    fn a_denial_that_no_wait_helps_names_no_wait() {
        assert_eq!(
            problem_of("0/10s", false, 0, -1),
            r#"{"type":"rate-limit-exceeded","title":"Too Many Requests","status":429,"#.to_owned()
                + r#""detail":"The request is above the limit of 0 per 10s; waiting does not help.","#
                + r#""limit":0,"remaining":0}"#
        );
    }

    #[test]
    fn an_allowance_is_no_problem() {
        assert_eq!(
            problem_of("3/10s", true, 3, 0),
            r#"{"type":"about:blank","title":"OK","status":200,"#.to_owned()
                + r#""detail":"The request is within the limit of 3 per 10s.","#
                + r#""limit":3,"remaining":0,"retry_after":0}"#
        );
    }
}
