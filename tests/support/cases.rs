//! The case files, against whichever store.

use std::path::Path;

use ratelite::{Error, Limiter, Options, Outcome};
use serde_json::Value;

/// A file of `tests/cases`.
pub fn cases(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A limiter by a case's policy.
pub fn open(store: &str, case: &Value, set: impl FnOnce(&mut Options)) -> Limiter {
    let mut options = super::options();
    set(&mut options);
    Limiter::open(store, case["policy"].as_str().unwrap(), &options).unwrap()
}

/// Every step of a case, each by a limiter of its own if `reopen`.
pub fn run(case: &Value, open: &dyn Fn() -> Limiter, reopen: bool) {
    let mut limiter = open();
    for step in case["steps"].as_array().unwrap() {
        if reopen {
            drop(limiter);
            limiter = open();
        }
        let found = answer(&limiter, step);
        let wanted = match step.get("error") {
            Some(code) => code.clone(),
            None => step["expect"].clone(),
        };
        assert_eq!(found, wanted, "case {}, step {step}", case["name"]);
    }
}

fn answer(limiter: &Limiter, step: &Value) -> Value {
    let rule = step["rule"].as_str();
    let key = step["key"].as_str().unwrap_or_default().as_bytes();
    let cost = step["cost"].as_i64().unwrap_or(1);
    let now = step["now_ms"].as_i64();
    let outcome = match step["op"].as_str().unwrap() {
        "hit" => limiter.hit(rule, key, cost, now),
        "status" => limiter.status(rule, key, now),
        "refund" => limiter.refund(rule, key, cost, now),
        "route" => {
            let text = |name: &str| step[name].as_str().unwrap().as_bytes();
            return limiter.route(text("method"), text("target")).into();
        }
        other => panic!("unknown operation {other}"),
    };
    outcome.map_or_else(|error| code(&error).into(), described)
}

fn described(outcome: Outcome) -> Value {
    serde_json::json!({
        "allowed": i64::from(outcome.allowed),
        "limit": outcome.limit,
        "count": outcome.count,
        "remaining": outcome.remaining,
        "reset_at": outcome.reset_at,
        "retry_after": outcome.retry_after,
        "window_start_ms": outcome.window_start_ms,
        "window_ms": outcome.window_ms,
        "rule": outcome.rule,
        "limit_index": outcome.limit_index,
    })
}

fn code(error: &Error) -> &'static str {
    match error.code() {
        ratelite::Code::Invalid => "RL_EINVAL",
        ratelite::Code::Policy => "RL_EPOLICY",
        ratelite::Code::NoRule => "RL_ENORULE",
        other => panic!("unexpected {other:?}: {error}"),
    }
}
