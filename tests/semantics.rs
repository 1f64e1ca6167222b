//! The case files, through the Rust API: the same answers as every other language.

mod support;

use std::path::Path;

use ratelite::{Error, Limiter, Options, Outcome, Policy};
use serde_json::Value;

fn cases(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_case_is_answered_as_expected_on_a_file() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        run(case, &|| open(store.to_str().unwrap(), case, |_| {}), false);
    }
}

#[test]
fn every_case_is_answered_as_expected_in_memory() {
    for case in cases("semantics.json").as_array().unwrap() {
        run(case, &|| open(":memory:", case, |_| {}), false);
    }
}

/// Each step by a limiter of its own, which closes the store for good: nothing may live in a
/// handle.
#[test]
fn every_case_is_answered_as_expected_when_each_step_reopens() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let close_for_good = |options: &mut Options| options.keep_open = false;
        run(case, &|| open(store.to_str().unwrap(), case, close_for_good), true);
    }
}

/// As above, and without the table between two steps: what is asked for is in the rows.
#[test]
fn every_case_is_answered_as_expected_when_each_step_begins_with_an_empty_table() {
    for case in cases("semantics.json").as_array().unwrap() {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let open = || {
            let _ = std::fs::remove_file(directory.path().join("limits.db-table"));
            open(store.to_str().unwrap(), case, |options| {
                options.keep_open = false;
                options.table_slots = Some(16);
            })
        };
        run(case, &open, true);
    }
}

fn open(store: &str, case: &Value, set: impl FnOnce(&mut Options)) -> Limiter {
    let mut options = support::options();
    set(&mut options);
    Limiter::open(store, case["policy"].as_str().unwrap(), &options).unwrap()
}

fn run(case: &Value, open: &dyn Fn() -> Limiter, reopen: bool) {
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

#[test]
fn every_policy_is_accepted_or_refused_as_expected() {
    let policies = cases("policies.json");
    for text in policies["accepted"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        assert!(Policy::parse(text.as_bytes()).is_ok(), "{text:?} is refused");
    }
    for text in policies["refused"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        let error = Policy::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.code(), ratelite::Code::Policy);
        assert!(error.to_string().starts_with("policy line "), "{error}");
    }
}
