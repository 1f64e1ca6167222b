//! The ABI stays: what the committed snapshot (abi/snapshot.txt) says may be added to, and changed
//! only with a new ABI number.
//!
//! `RATELITE_RENEW=1 cargo test --test abi_snapshot` writes the snapshot anew, where that is allowed.

mod support;

#[path = "abi/compare.rs"]
mod compare;
#[path = "abi/describe.rs"]
mod describe;

use std::fs;
use std::path::PathBuf;

use compare::Verdict;

fn snapshot() -> PathBuf {
    support::root().join("tests/abi/snapshot.txt")
}

#[test]
fn the_abi_is_that_of_the_snapshot() {
    let now = describe::abi();
    let committed = fs::read_to_string(snapshot()).unwrap_or_default();
    let verdict = compare::compare(&committed, &now);
    let is_renewal = std::env::var_os("RATELITE_RENEW").is_some_and(|value| value == "1");
    match verdict {
        Verdict::Same => {}
        Verdict::Compatible(_) if is_renewal => fs::write(snapshot(), now).unwrap(),
        Verdict::Compatible(changes) => panic!(
            "the ABI has grown, which older programs do not mind; renew the snapshot with \
             RATELITE_RENEW=1 and commit it:\n{changes}"
        ),
        Verdict::Incompatible(changes) => panic!(
            "programs that were built against the committed ABI would break: take this back, or \
             raise RL_ABI_VERSION:\n{changes}"
        ),
    }
}

#[test]
fn the_snapshot_holds_every_kind_of_fact() {
    let committed = fs::read_to_string(snapshot()).unwrap();
    for kind in ["abi ", "symbol rl_", "function ", "constant RL_", "size ", "field "] {
        assert!(committed.lines().any(|line| line.starts_with(kind)), "no {kind}");
    }
}
