//! Under a `key_secret` no key can be read from any file of the store.

use ratelite::Limiter;

use crate::{files_with, support};

const NOW: i64 = 1_767_225_645_000;

/// Keys of all the forms that are stored: short, the longest plain one, and those of which a head
/// would be kept.
fn keys() -> Vec<Vec<u8>> {
    let long = |length: usize| b"K3Y-M4RK".iter().copied().cycle().take(length).collect();
    vec![b"K3Y-M4RK".to_vec(), b"192.0.2.77 K3Y-M4RK".to_vec(), long(72), long(73), long(5000)]
}

/// Everything that writes, denials too, and perhaps audit rows; and the files as a crash leaves them.
fn files_that_tell(secret: Option<&str>, audit: bool, needle: &[u8]) -> Vec<String> {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let mut options = support::options();
    options.audit = audit;
    options.key_secret = secret.map(|secret| secret.as_bytes().to_vec());
    let limiter = Limiter::open(store.to_str().unwrap(), "r: 3/min, 9/month", &options).unwrap();
    for key in keys() {
        for hit in 0..5 {
            let outcome = limiter.hit(None, &key, 1, Some(NOW + hit)).unwrap();
            assert_eq!(outcome.allowed, hit < 3);
        }
        limiter.refund(None, &key, 1, Some(NOW)).unwrap();
    }
    limiter.prune(Some(0)).unwrap();
    let connection = support::connect(&store).unwrap();
    let rows = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        connection.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    assert_eq!(rows("rate_limit_windows"), 2 * keys().len());
    assert_eq!(rows("api_calls"), if audit { 3 * keys().len() } else { 0 });
    // Also where the log has been moved to.
    connection.pragma_query(None, "wal_checkpoint", |_| Ok(())).unwrap();
    files_with(directory.path(), needle)
}

#[test]
fn under_a_secret_neither_counters_nor_audit_rows_hold_a_key() {
    for audit in [false, true] {
        assert_eq!(files_that_tell(Some("a secret of the host"), audit, b"K3Y-M4RK"), [""; 0]);
    }
}

#[test]
fn the_secret_itself_is_in_no_file() {
    for audit in [false, true] {
        assert_eq!(files_that_tell(Some("a secret of the host"), audit, b"secret of"), [""; 0]);
    }
}

#[test]
fn without_a_secret_they_would_be_seen() {
    for audit in [false, true] {
        let telling = files_that_tell(None, audit, b"K3Y-M4RK");
        for name in ["limits.db", "limits.db-table"] {
            assert!(telling.iter().any(|file| file == name), "{name} of {telling:?}");
        }
    }
}
