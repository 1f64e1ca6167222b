//! `rl_last_error` of every failure that can be brought about here, with a marked key and secret.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

use ratelite::capi::*;
use rusqlite::Connection;

use crate::support::{self, Mode, mode};

const KEY: &[u8] = b"K3Y-M4RK of a client";
const SECRET: &[u8] = b"S3CR3T-M4RK of the host";
const NOW: i64 = 1_767_225_645_000;

/// What somebody does to the store with SQL.
const DAMAGE: [&str; 19] = [
    "UPDATE rate_limit_windows SET attempts = 'many'",
    "UPDATE rate_limit_windows SET attempts = CAST(key AS TEXT), admitted = key",
    "UPDATE rate_limit_windows SET admitted = attempts + 1",
    "DROP TABLE rate_limit_windows",
    "DROP TABLE api_calls",
    "DROP VIEW rate_limit_status; ALTER TABLE rate_limit_windows RENAME COLUMN key TO client",
    "CREATE UNIQUE INDEX one_a_rule ON api_calls (rule)",
    "CREATE TRIGGER never BEFORE INSERT ON api_calls BEGIN SELECT RAISE(ABORT, 'never'); END",
    "UPDATE meta SET value = 4 WHERE name = 'format'",
    "UPDATE meta SET value = x'00' WHERE name = 'place_secret'",
    "UPDATE meta SET value = 'many' WHERE name = 'format'",
    "DELETE FROM meta",
    "DROP TABLE rate_limit_rules",
    "DELETE FROM rate_limit_rules",
    "UPDATE rate_limit_rules SET rule = x'00', id = 9000000000",
    "DROP TABLE shared_table",
    "DELETE FROM shared_table",
    "UPDATE shared_table SET id = 'none', sequence = x'00'",
    "UPDATE shared_table SET slots = 3",
];

fn open(store: &Path, secret: Option<&[u8]>, audit: bool, said: &mut Said) -> *mut rl_limiter {
    let store = CString::new(store.to_str().unwrap()).unwrap();
    // SAFETY: numbers and a pointer, for all of which zero is a value.
    let mut options: rl_options = unsafe { std::mem::zeroed() };
    options.struct_size = size_of::<rl_options>() as u64;
    options.busy_timeout_ms = 20;
    options.keep_open = RL_OFF;
    options.table_slots = 256;
    options.audit = if audit { RL_ON } else { RL_OFF };
    options.durability = if mode() == Mode::Hit { RL_DURABLE_HIT } else { RL_DURABLE_INTERVAL };
    options.key_secret = secret.map_or(null(), |secret| secret.as_ptr().cast());
    options.key_secret_len = secret.map_or(0, <[u8]>::len) as u64;
    let mut limiter = null_mut();
    // SAFETY: two texts, options whose secret is as long as they say, and a place.
    said.note(unsafe { rl_open(store.as_ptr(), c"r: 9/min".as_ptr(), &options, &mut limiter) });
    limiter
}

/// The codes that came, each with a text that tells neither key nor secret.
#[derive(Default)]
struct Said(BTreeSet<c_int>);

impl Said {
    fn note(&mut self, code: c_int) {
        self.0.insert(code);
        // SAFETY: the text lives until this thread's next call.
        let text = unsafe { CStr::from_ptr(rl_last_error()) }.to_str().unwrap();
        assert_eq!(text.is_empty(), code == RL_OK, "{code}: {text}");
        // As they are, in hexadecimal, and as a list of bytes.
        for told in ["M4RK", "4D34524B", "4d34524b", "77, 52, 82"] {
            assert!(!text.contains(told), "{code}: {text}");
        }
    }

    /// Every call that takes a key, rightly and wrongly.
    fn ask_everything(&mut self, limiter: *mut rl_limiter) {
        let (key, length) = (KEY.as_ptr().cast::<c_char>(), KEY.len());
        for (rule, length, cost, now) in [
            (null(), length, 1, NOW),
            (null(), length, 0, NOW),
            (null(), usize::MAX, 1, NOW),
            (null(), length, -1, NOW),
            (null(), length, 1, -2),
            (c"no such rule".as_ptr(), length, 1, NOW),
        ] {
            let (mut result, mut removed) = (std::mem::MaybeUninit::uninit(), 0);
            let place = result.as_mut_ptr();
            // SAFETY: a live limiter, a text or NULL, a key of its length or of an impossible one,
            // and places for the answers.
            unsafe {
                self.note(rl_hit(limiter, rule, key, length, cost, now, place));
                self.note(rl_status(limiter, rule, key, length, now, place));
                self.note(rl_refund(limiter, rule, key, length, cost, now, place));
                self.note(rl_hit(limiter, rule, key, length, cost, now, null_mut()));
                self.note(rl_prune(limiter, now, &mut removed));
                self.note(rl_reset(limiter, rule, key, length, null_mut()));
            }
        }
    }

    fn reset(&mut self, limiter: *mut rl_limiter) {
        let mut removed = 0;
        // SAFETY: a live limiter, a key of its length, and a place.
        self.note(unsafe {
            rl_reset(limiter, null(), KEY.as_ptr().cast(), KEY.len(), &mut removed)
        });
    }
}

/// A store that holds our key, something that is done to it, and every call. It is done under a
/// limiter; or while nobody has the store open, and whoever opens it then finds no table.
fn after(said: &mut Said, harm: impl Fn(&Path) -> Option<Connection>) {
    for (secret, audit, in_use) in [
        (None, true, true),
        (None, false, false),
        (Some(SECRET), true, false),
        (Some(SECRET), false, true),
    ] {
        let directory = support::fresh_directory();
        let store = directory.path().join("limits.db");
        let mut limiter = open(&store, secret, audit, said);
        said.ask_everything(limiter);
        if !in_use {
            // SAFETY: open, and not used afterwards.
            unsafe { rl_close(limiter) };
            std::fs::remove_file(directory.path().join("limits.db-table")).unwrap();
        }
        let _held = harm(&store);
        if !in_use {
            limiter = open(&store, secret, audit, said);
        }
        if !limiter.is_null() {
            said.ask_everything(limiter);
            said.reset(limiter);
        }
        for other in [None, Some(SECRET), Some(&b"an0ther S3CR3T-M4RK"[..])] {
            let limiter = open(&store, other, audit, said);
            if !limiter.is_null() {
                said.ask_everything(limiter);
            }
            // SAFETY: NULL, or just opened.
            unsafe { rl_close(limiter) };
        }
        // SAFETY: NULL, or open and not used afterwards.
        unsafe { rl_close(limiter) };
    }
}

#[test]
fn no_message_of_any_failure_tells_a_key_or_a_secret() {
    let mut said = Said::default();
    for sql in DAMAGE {
        println!("{sql}");
        after(&mut said, |store| {
            // What a damaged page can hold, SQLite refuses to write into a STRICT table.
            let any_type = "UPDATE sqlite_schema SET sql = \
                            replace(replace(sql, 'STRICT, ', ''), 'STRICT', '')";
            let all = format!("PRAGMA writable_schema = ON; {any_type};");
            support::connect(store).unwrap().execute_batch(&all).unwrap();
            let host = support::connect(store).unwrap();
            let all = format!("PRAGMA ignore_check_constraints = ON; {sql};");
            host.execute_batch(&all).unwrap();
            None
        });
    }
    after(&mut said, |store| {
        let host = support::connect(store).unwrap();
        host.execute_batch("BEGIN IMMEDIATE").unwrap();
        Some(host)
    });
    for (name, content) in [("garbage", &[0xA5; 9_000][..]), ("a text", b"K3Y-M4RK")] {
        println!("{name}");
        after(&mut said, |store| {
            std::fs::write(store, content).unwrap();
            None
        });
    }
    after(&mut said, |store| {
        std::fs::remove_file(store).unwrap();
        std::fs::create_dir(store).unwrap();
        None
    });
    let codes = [RL_EINVAL, RL_ENORULE, RL_EBUSY, RL_ECORRUPT, RL_ENOTSTORE];
    assert!(said.0.is_superset(&codes.into()), "too few failures: {:?}", said.0);
    assert!(!said.0.contains(&RL_EINTERNAL), "a bug");
}
