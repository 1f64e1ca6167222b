//! What the store keeps, what it lets go, and what it refuses.

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ratelite::{Code, Durability, Error, Limiter, Options};
use support::{Mode, mode};
use tempfile::TempDir;

const NOW: i64 = 1_767_225_645_000;
const MINUTE: i64 = 60_000;

fn fresh() -> (TempDir, PathBuf) {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    (directory, store)
}

fn try_open(store: &Path, policy: &str, set: impl FnOnce(&mut Options)) -> Result<Limiter, Error> {
    let mut options = support::options();
    set(&mut options);
    Limiter::open(store.to_str().unwrap(), policy, &options)
}

fn open(store: &Path, policy: &str) -> Limiter {
    try_open(store, policy, |_| {}).unwrap()
}

fn refusal(store: &Path) -> Error {
    try_open(store, "1/s", |_| {}).err().expect("the store is refused")
}

/// The store as somebody with the sqlite3 shell sees it, once everything is written.
fn sql(store: &Path, statement: &str) -> String {
    if mode() != Mode::Hit {
        write_out(store);
    }
    shell(store, statement)
}

/// As [`support::write_out`], and removes nothing by itself either.
fn write_out(store: &Path) {
    let limiter = try_open(store, "write-out: 1/s", |options| options.auto_prune = false);
    assert_eq!(limiter.unwrap().prune(Some(0)).unwrap(), 0);
}

/// The file as it stands.
fn shell(store: &Path, statement: &str) -> String {
    let output = Command::new("sqlite3").arg(store).arg(statement).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn rows(store: &Path, table: &str) -> u64 {
    sql(store, &format!("SELECT count(*) FROM {table}")).parse().unwrap()
}

/// The file of the shared table.
fn table_of(store: &Path) -> PathBuf {
    store.with_file_name(format!("{}-table", store.file_name().unwrap().to_str().unwrap()))
}

fn info(limiter: &Limiter) -> serde_json::Value {
    serde_json::from_str(&limiter.info().unwrap()).unwrap()
}

/// Writes at each millisecond, so that a test need not wait for it.
fn at_once(options: &mut Options) {
    options.flush_interval = Duration::from_millis(1);
}

/// Hits of a key until they have written everything: not as [`support::write_out`] does, which
/// writes what has expired too.
fn hit_until_written(limiter: &Limiter, key: &[u8], now: i64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        limiter.hit(None, key, 1, Some(now)).unwrap();
        if mode() == Mode::Hit || info(limiter)["table"]["lag"]["unwritten"] == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{}", info(limiter));
    }
}

#[test]
fn a_person_can_read_the_counters_with_the_sqlite3_shell() {
    let (_directory, store) = fresh();
    let limiter = open(&store, "api: 2/min, 9/month");
    for _ in 0..3 {
        limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    }
    assert_eq!(
        sql(&store, "SELECT * FROM rate_limit_status ORDER BY window"),
        "api|alice|60 s|2026-01-01T00:00:00.000Z|2026-01-01T00:01:00.000Z|3|2\n\
         api|alice|month|2026-01-01T00:00:00.000Z|2026-02-01T00:00:00.000Z|3|2"
    );
}

#[test]
fn prune_keeps_the_current_and_the_previous_window_of_each_length() {
    let (_directory, store) = fresh();
    let limiter =
        try_open(&store, "r: 9/min, 9/h, 9/month", |options| options.auto_prune = false).unwrap();
    for minutes_ago in 0..5 {
        limiter.hit(None, b"alice", 1, Some(NOW - minutes_ago * MINUTE)).unwrap();
    }
    // Minutes 0 to 4; the hours and the months of 2026-01-01T00:00 and of the minutes before it.
    assert_eq!(rows(&store, "rate_limit_windows"), 5 + 2 + 2);
    assert_eq!(limiter.prune(Some(NOW)).unwrap(), 3);
    assert_eq!(limiter.prune(Some(NOW)).unwrap(), 0);
    assert_eq!(rows(&store, "rate_limit_windows WHERE window_ms = 60000"), 2);
    // Two hours later only the months are left, two months later nothing is.
    assert_eq!(limiter.prune(Some(NOW + 120 * MINUTE)).unwrap(), 4);
    assert_eq!(limiter.prune(Some(NOW + 62 * 24 * 60 * MINUTE)).unwrap(), 2);
    assert_eq!(rows(&store, "rate_limit_windows"), 0);
}

#[test]
fn prune_tells_of_every_row_that_it_removes_and_takes_its_time_literally() {
    let (_directory, store) = fresh();
    let keeping = try_open(&store, "r: 9/min", |options| {
        options.auto_prune = false;
        options.flush_interval = Duration::from_secs(60);
    })
    .unwrap();
    let pruning = open(&store, "r: 9/min");
    for key in 0..20u8 {
        keeping.hit(None, &[key], 1, Some(NOW - 10 * MINUTE)).unwrap();
    }
    write_out(&store);
    // What pruning writes first does not remove any row, as a hit that adds one may.
    for key in 20..25u8 {
        keeping.hit(None, &[key], 1, Some(NOW)).unwrap();
    }
    assert_eq!(pruning.prune(Some(0)).unwrap(), 0);
    assert_eq!(rows(&store, "rate_limit_windows"), 25);
    for key in 25..30u8 {
        keeping.hit(None, &[key], 1, Some(NOW)).unwrap();
    }
    assert_eq!(pruning.prune(Some(NOW)).unwrap(), 20);
    assert_eq!(rows(&store, "rate_limit_windows"), 10);
}

#[test]
fn hits_go_on_while_a_prune_is_at_work() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 1000000/min", |options| {
        options.auto_prune = false;
        // Each is in the way of the prune, and the prune in its way.
        options.durability = Durability::Hit;
    })
    .unwrap();
    shell(
        &store,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
         INSERT INTO rate_limit_windows SELECT 120000, i, 'r', 60000, CAST(i AS BLOB), 1, 1 FROM n",
    );
    let (done, hits) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
                hits.fetch_add(1, Ordering::Relaxed);
            }
        });
        while hits.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let before = hits.load(Ordering::Relaxed);
        let removed = limiter.prune(Some(NOW));
        let during = hits.load(Ordering::Relaxed) - before;
        done.store(true, Ordering::Relaxed);
        assert_eq!(removed.unwrap(), 60_000);
        // 60 slices: one transaction for all of it would let at most one hit in.
        assert!(during >= 10, "only {during} hits during the prune");
    });
}

#[test]
fn a_store_with_no_cron_job_does_not_grow_for_ever() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 9/min", at_once).unwrap();
    let count = "SELECT count(*) FROM rate_limit_windows";
    for minute in 0..40 {
        let now = NOW + (minute - 200) * MINUTE;
        for key in 0..10u8 {
            limiter.hit(None, &[key], 1, Some(now)).unwrap();
        }
        hit_until_written(&limiter, &[0], now);
        // The current and the previous minute, and at most one more that is being paid off.
        let rows: u64 = shell(&store, count).parse().unwrap();
        assert!((10..=30).contains(&rows), "{rows} in minute {minute}");
    }
}

#[test]
fn automatic_pruning_takes_only_what_is_past_by_the_wall_clock_too() {
    // Neither from the file nor on the way there.
    for is_written_at_once in [true, false] {
        let (_directory, store) = fresh();
        let limiter = try_open(&store, "r: 9/min", at_once).unwrap();
        let wall_clock_ms =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
                as i64;
        for ahead in [0, 10, 20, 30] {
            let now = wall_clock_ms + ahead * MINUTE;
            limiter.hit(None, b"alice", 1, Some(now)).unwrap();
            if is_written_at_once || ahead == 30 {
                hit_until_written(&limiter, b"alice", now);
            }
        }
        assert_eq!(rows(&store, "rate_limit_windows"), 4);
    }
}

#[test]
fn closing_takes_nothing_from_a_caller_with_a_clock_of_his_own() {
    const INTERVAL: Duration = Duration::from_millis(20);
    let (_directory, store) = fresh();
    let hit = |key: &str| {
        let limiter = try_open(&store, "r: 9/min", |options| {
            options.durability = Durability::Interval;
            options.flush_interval = INTERVAL;
        });
        let limiter = limiter.unwrap();
        limiter.hit(None, key.as_bytes(), 1, Some(NOW)).unwrap();
        limiter
    };
    for round in 0..10 {
        // The second is closed soon after the first, but an interval after something was written.
        let begin = Instant::now();
        let await_part = |part: f32| {
            while begin.elapsed() < INTERVAL.mul_f32(part) {
                std::thread::yield_now();
            }
        };
        let first = hit(&format!("first {round}"));
        await_part(0.8);
        drop(first);
        let second = hit(&format!("second {round}"));
        await_part(1.2);
        drop(second);
        await_part(3.0);
    }
    write_out(&store);
    assert_eq!(shell(&store, "SELECT count(*) FROM rate_limit_windows"), "20");
}

#[test]
fn automatic_pruning_can_be_turned_off() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 9/min", |options| {
        options.auto_prune = false;
        at_once(options);
    })
    .unwrap();
    for minute in 0..20 {
        limiter.hit(None, b"alice", 1, Some(minute * MINUTE)).unwrap();
        hit_until_written(&limiter, b"alice", minute * MINUTE);
    }
    assert_eq!(rows(&store, "rate_limit_windows"), 20);
}

#[test]
fn each_allowed_hit_is_one_audit_row_and_no_other_call_is() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "api: 3/min", |options| options.audit = true).unwrap();
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    limiter.hit(None, b"alice", 2, Some(NOW + 1)).unwrap();
    assert!(!limiter.hit(None, b"alice", 1, Some(NOW + 2)).unwrap().allowed);
    limiter.hit(None, b"alice", 0, Some(NOW)).unwrap();
    limiter.status(None, b"alice", Some(NOW)).unwrap();
    limiter.refund(None, b"alice", 1, Some(NOW)).unwrap();
    // Committed with the count, whatever the interval.
    assert_eq!(
        shell(&store, "SELECT time_ms, rule, CAST(key AS TEXT), cost FROM api_calls"),
        format!("{NOW}|api|alice|1\n{}|api|alice|2", NOW + 1)
    );
}

#[test]
fn audit_rows_have_a_retention_of_their_own() {
    let (_directory, store) = fresh();
    let day = 86_400_000;
    let audited = try_open(&store, "r: 9/min", |options| {
        options.audit = true;
        options.auto_prune = false;
    })
    .unwrap();
    for days_ago in [0, 29, 30, 31] {
        audited.hit(None, b"alice", 1, Some(NOW - days_ago * day)).unwrap();
    }
    // A limiter that audits nothing leaves the rows of others alone.
    open(&store, "r: 9/min").prune(Some(NOW)).unwrap();
    assert_eq!(rows(&store, "api_calls"), 4);
    // Nor are they counted: all counters went with the prune before.
    assert_eq!(audited.prune(Some(NOW)).unwrap(), 0);
    assert_eq!(rows(&store, "api_calls"), 2);
    let week = std::time::Duration::from_secs(7 * 86_400);
    try_open(&store, "r: 9/min", |options| options.audit_retention = Some(week))
        .unwrap()
        .prune(Some(NOW))
        .unwrap();
    assert_eq!(rows(&store, "api_calls"), 1);
}

#[test]
fn reset_forgets_one_key_in_one_rule_or_in_all_of_this_policy() {
    for is_written_before in [false, true] {
        let (_directory, store) = fresh();
        let limiter = open(&store, "a: 9/min, 9/h; b: 9/min");
        let other = open(&store, "c: 9/min");
        for key in [&b"alice"[..], b"bob"] {
            for rule in ["a", "b"] {
                limiter.hit(Some(rule), key, 1, Some(NOW)).unwrap();
            }
            other.hit(None, key, 1, Some(NOW)).unwrap();
        }
        if is_written_before {
            write_out(&store);
        }
        assert_eq!(limiter.reset(Some("b"), b"alice").unwrap(), 1);
        assert_eq!(limiter.reset(None, b"alice").unwrap(), 2);
        assert_eq!(limiter.reset(None, b"alice").unwrap(), 0);
        assert_eq!(
            sql(
                &store,
                "SELECT rule, window_ms, CAST(key AS TEXT) FROM rate_limit_windows ORDER BY 3, 1, 2"
            ),
            "c|60000|alice\na|60000|bob\na|3600000|bob\nb|60000|bob\nc|60000|bob"
        );
        assert_eq!(limiter.reset(Some("c"), b"bob").unwrap_err().code(), Code::NoRule);
    }
}

#[test]
fn a_damaged_row_is_an_error_and_never_an_allowance() {
    let (_directory, store) = fresh();
    let open = || try_open(&store, "r: 9/min", |options| options.keep_open = false).unwrap();
    drop(open());
    // What a damaged page can hold, SQLite refuses to write.
    let any_type = "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT, ', '')";
    shell(&store, &format!("PRAGMA writable_schema = ON; {any_type}"));
    for damage in [
        "attempts = 'many'",
        "attempts = 1.5",
        "attempts = x'00'",
        "attempts = -1, admitted = -1",
        "admitted = -5",
        "admitted = attempts + 1",
        "attempts = 9007199254740992",
    ] {
        open().hit(None, b"alice", 1, Some(NOW)).unwrap();
        let changes = shell(
            &store,
            &format!(
                "PRAGMA ignore_check_constraints = 1; UPDATE rate_limit_windows SET {damage} \
                 WHERE CAST(key AS TEXT) = 'alice'; SELECT changes()"
            ),
        );
        assert_eq!(changes, "1", "{damage}");
        // A new table holds nothing, so that the rows are read.
        std::fs::remove_file(table_of(&store)).unwrap();
        let limiter = open();
        for _ in 0..2 {
            let error = limiter.hit(None, b"alice", 1, Some(NOW)).expect_err(damage);
            assert_eq!(error.code(), Code::Corrupt);
            assert!(error.to_string().contains("rule \"r\""), "{error}");
            assert!(!error.to_string().contains("alice"), "{error}");
        }
        assert_eq!(limiter.status(None, b"alice", Some(NOW)).unwrap_err().code(), Code::Corrupt);
        assert!(limiter.hit(None, b"bob", 1, Some(NOW)).unwrap().allowed);
        // The cure that the message names.
        assert_eq!(limiter.reset(None, b"alice").unwrap(), 1);
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 1);
        assert_eq!(limiter.reset(None, b"alice").unwrap(), 1);
    }
}

#[test]
fn a_row_that_is_edited_under_a_live_counter_is_overwritten() {
    let (_directory, store) = fresh();
    let limiter = open(&store, "r: 9/min");
    limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
    sql(&store, "UPDATE rate_limit_windows SET attempts = 1, admitted = 1");
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 6);
    assert_eq!(sql(&store, "SELECT attempts, admitted FROM rate_limit_windows"), "6|6");
}

#[test]
fn the_schema_refuses_what_no_counter_can_be() {
    let (_directory, store) = fresh();
    drop(open(&store, "r: 9/min"));
    for values in ["'many', 0", "1.5, 0", "-1, -1", "1, 2", "9007199254740992, 0", "NULL, 0"] {
        let insert = format!(
            "INSERT INTO rate_limit_windows VALUES (120000, 0, 'r', 60000, x'61', {values})"
        );
        let output = Command::new("sqlite3").arg(&store).arg(insert).output().unwrap();
        assert!(!output.status.success(), "{values} was accepted");
    }
}

#[test]
fn a_store_that_was_upgraded_meanwhile_fails_instead_of_being_miscounted() {
    let (_directory, store) = fresh();
    let limiter = open(&store, "r: 9/min");
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    sql(&store, "UPDATE meta SET value = 4 WHERE name = 'format'");
    if mode() != Mode::Hit {
        // At the next round of writing: it has counted in the table until then, and nowhere else.
        let deadline = Instant::now() + Duration::from_secs(1);
        while limiter.hit(None, b"alice", 1, Some(NOW)).is_ok() {
            assert!(Instant::now() < deadline, "it goes on counting");
        }
    }
    for outcome in [
        limiter.hit(None, b"alice", 1, Some(NOW)).map(drop),
        limiter.hit(None, b"bob", 1, Some(NOW)).map(drop),
        limiter.refund(None, b"alice", 1, Some(NOW)).map(drop),
        limiter.reset(None, b"alice").map(drop),
        limiter.prune(Some(NOW)).map(drop),
        limiter.status(None, b"alice", Some(NOW)).map(drop),
    ] {
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), Code::NotStore);
        assert!(error.to_string().contains("format 4"), "{error}");
    }
    assert_eq!(shell(&store, "SELECT attempts FROM rate_limit_windows"), "1");
}

#[test]
fn keys_under_a_secret_cannot_be_read_from_the_file() {
    let (directory, store) = fresh();
    let with = |secret: &str| {
        try_open(&store, "r: 2/min", |options| options.key_secret = Some(secret.into()))
    };
    let limiter = with("first-secret").unwrap();
    for count in 1..=3 {
        let outcome = limiter.hit(None, b"192.0.2.7", 1, Some(NOW)).unwrap();
        assert_eq!((outcome.count, outcome.allowed), (count, count <= 2));
    }
    assert_eq!(limiter.prune(Some(0)).unwrap(), 0);
    assert_eq!(shell(&store, "SELECT attempts FROM rate_limit_windows"), "3");
    for name in ["limits.db", "limits.db-wal", "limits.db-table"] {
        let bytes = std::fs::read(directory.path().join(name)).unwrap();
        assert!(!bytes.windows(9).any(|window| window == b"192.0.2.7"), "{name}");
    }
    // Another secret would give the same client a second budget.
    for other in [with("second-secret"), try_open(&store, "r: 2/min", |_| {})] {
        let error = other.err().unwrap();
        assert_eq!(error.code(), Code::Invalid);
        assert!(error.to_string().contains("key_secret"), "{error}");
        assert!(!error.to_string().contains("-secret"), "{error}");
    }
    assert!(with("first-secret").is_ok());
}

#[test]
fn new_files_have_the_mode_of_the_option_whatever_the_umask() {
    let (directory, store) = fresh();
    let modes = |name: &str| {
        ["", "-wal", "-shm", "-table"].map(|suffix| {
            let file = std::fs::metadata(directory.path().join(format!("{name}{suffix}")));
            file.unwrap().permissions().mode() & 0o777
        })
    };
    let _limiter = open(&store, "r: 9/min");
    assert_eq!(modes("limits.db"), [0o600; 4]);
    let shared = directory.path().join("shared.db");
    let _limiter = try_open(&shared, "r: 9/min", |options| options.file_mode = 0o666).unwrap();
    assert_eq!(modes("shared.db"), [0o666; 4]);
    for mode in [0o400, 0o700, 0o1600, 0] {
        let error = try_open(&shared, "r: 9/min", |options| options.file_mode = mode).err();
        assert_eq!(error.unwrap().code(), Code::Invalid, "{mode:o}");
    }
}

#[test]
fn without_keep_open_the_last_close_leaves_the_database_alone() {
    let (directory, store) = fresh();
    let files = || {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let close_for_good = |options: &mut Options| options.keep_open = false;
    let one = try_open(&store, "r: 9/min", close_for_good).unwrap();
    let two = try_open(&store, "r: 9/min", close_for_good).unwrap();
    one.hit(None, b"alice", 1, Some(NOW)).unwrap();
    drop(one);
    assert_eq!(files(), ["limits.db", "limits.db-shm", "limits.db-table", "limits.db-wal"]);
    drop(two);
    // But for the table, which is the dearest to make, and of which everything is written.
    assert_eq!(files(), ["limits.db", "limits.db-table"]);
    assert_eq!(shell(&store, "SELECT attempts FROM rate_limit_windows"), "1");
    assert_eq!(open(&store, "r: 9/min").status(None, b"alice", Some(NOW)).unwrap().count, 1);
}

#[test]
fn what_is_no_store_name_is_refused() {
    for (name, says) in [
        ("", "empty"),
        ("file:limits.db", "file:"),
        ("postgres://localhost/0", "postgres:"),
        ("localhost:6379", "host and its port"),
        ("redis:/user:sesame@host", "://"),
        ("redis-foo:user:sesame@host", "redis-foo:"),
        ("/nonexistent-directory/limits.db", "directory"),
    ] {
        let error = Limiter::open(name, "1/s", &support::options()).err().unwrap();
        assert_eq!(error.code(), Code::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
}

#[test]
fn symbolic_links_lead_to_one_store_and_hard_links_are_refused() {
    let (directory, store) = fresh();
    let limiter = open(&store, "r: 9/min");
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    let link = directory.path().join("link.db");
    symlink("limits.db", &link).unwrap();
    assert_eq!(open(&link, "r: 9/min").hit(None, b"alice", 1, Some(NOW)).unwrap().count, 2);
    assert!(!directory.path().join("link.db-wal").exists());
    let dangling = directory.path().join("dangling.db");
    symlink("nowhere.db", &dangling).unwrap();
    assert_eq!(refusal(&dangling).code(), Code::NotStore);

    let other = directory.path().join("other.db");
    std::fs::copy(&store, &other).unwrap();
    std::fs::hard_link(&other, directory.path().join("second-name.db")).unwrap();
    assert_eq!(refusal(&other).code(), Code::NotStore);
}

#[test]
fn a_backup_that_is_put_in_the_place_of_its_store_is_used() {
    let (directory, store) = fresh();
    let limiter = open(&store, "r: 1000000000/min");
    limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
    let backup = directory.path().join("backup.db");
    sql(&store, &format!(".backup {}", backup.display()));
    // What the backup lacks, until the database says that more was written.
    let of_backup = shell(&backup, "SELECT sequence FROM shared_table");
    let deadline = Instant::now() + Duration::from_secs(10);
    while sql(&store, "SELECT sequence FROM shared_table") == of_backup {
        assert!(Instant::now() < deadline);
        limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    }

    // As a restore must: the old -wal belongs to the old database.
    std::fs::rename(&backup, &store).unwrap();
    for name in ["limits.db-wal", "limits.db-shm"] {
        std::fs::remove_file(directory.path().join(name)).unwrap();
    }
    // Opening it looks at once; a limiter in use looks twice a second.
    let newcomer = open(&store, "r: 1000000000/min");
    assert_eq!(newcomer.status(None, b"alice", Some(NOW)).unwrap().count, 5);
    assert_eq!(limiter.status(None, b"alice", Some(NOW)).unwrap().count, 5);
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 6);
    assert_eq!(sql(&store, "SELECT attempts FROM rate_limit_windows"), "6");
}

#[test]
fn a_store_that_is_deleted_is_begun_anew() {
    let (directory, store) = fresh();
    let limiter = open(&store, "r: 9/min");
    limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
    for name in ["limits.db", "limits.db-wal", "limits.db-shm"] {
        std::fs::remove_file(directory.path().join(name)).unwrap();
    }
    assert_eq!(open(&store, "r: 9/min").status(None, b"alice", Some(NOW)).unwrap().count, 0);
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 1);
    assert_eq!(sql(&store, "SELECT attempts FROM rate_limit_windows"), "1");
}

/// A store in a directory that can be taken away, and where that is put.
fn movable() -> (TempDir, PathBuf, [PathBuf; 2]) {
    let directory = support::fresh_directory();
    let (place, elsewhere) = (directory.path().join("data"), directory.path().join("moved"));
    std::fs::create_dir(&place).unwrap();
    let store = place.join("limits.db");
    (directory, store, [place, elsewhere])
}

#[test]
fn a_directory_that_is_taken_away_is_a_failure_and_its_return_is_enough() {
    let (_directory, store, [place, elsewhere]) = movable();
    let each_hit = |options: &mut Options| options.durability = Durability::Hit;
    let limiter = try_open(&store, "r: 1000000000/min", each_hit).unwrap();
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    std::fs::rename(&place, &elsewhere).unwrap();
    assert_eq!(refusal(&store).code(), Code::Invalid);
    // Until the next look, hits go on being counted in the file that was opened.
    let mut counted = 1;
    let error = loop {
        match limiter.hit(None, b"alice", 1, Some(NOW)) {
            Ok(_) => counted += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Code::Io);
    std::fs::rename(&elsewhere, &place).unwrap();
    let outcome = limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    // What failed has spent nothing; as an attempt it may be counted.
    assert_eq!(outcome.limit - outcome.remaining, counted + 1);
    assert!((counted + 1..=counted + 2).contains(&outcome.count), "{}", outcome.count);
    let stored = shell(&store, "SELECT attempts, admitted FROM rate_limit_windows");
    assert_eq!(stored, format!("{}|{}", outcome.count, counted + 1));
}

fn at_an_interval(options: &mut Options) {
    options.durability = Durability::Interval;
    at_once(options);
}

/// Hits, each of which must be told the next count, until the lag has a cause or has none and is
/// over. Returns the last count.
fn hit_until_cause(limiter: &Limiter, mut count: i64, is_told: bool) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        count += 1;
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, count);
        let lag = info(limiter)["table"]["lag"].clone();
        let is_over = lag["cause"].is_null() && lag["unwritten"] == 0;
        if if is_told { lag["cause"].is_string() } else { is_over } {
            return count;
        }
        assert!(Instant::now() < deadline, "{lag}");
    }
}

#[test]
fn at_an_interval_a_directory_that_is_taken_away_is_no_failure_of_a_live_key() {
    let (_directory, store, [place, elsewhere]) = movable();
    let limiter = try_open(&store, "r: 1000000000/min", at_an_interval).unwrap();
    let before = hit_until_cause(&limiter, 0, false);
    std::fs::rename(&place, &elsewhere).unwrap();
    let count = hit_until_cause(&limiter, before, true);
    std::fs::rename(&elsewhere, &place).unwrap();
    let count = hit_until_cause(&limiter, count, false);
    assert_eq!(shell(&store, "SELECT attempts FROM rate_limit_windows"), count.to_string());
}

#[test]
fn at_an_interval_a_write_transaction_of_the_host_holds_up_no_live_key() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 1000000000/min", at_an_interval).unwrap();
    let before = hit_until_cause(&limiter, 0, false);
    let host = support::connect(&store).unwrap();
    host.execute_batch("BEGIN IMMEDIATE").unwrap();
    let count = hit_until_cause(&limiter, before, true);
    host.execute_batch("COMMIT").unwrap();
    let count = hit_until_cause(&limiter, count, false);
    assert_eq!(shell(&store, "SELECT attempts FROM rate_limit_windows"), count.to_string());
}

fn before_the_answer(options: &mut Options) {
    options.durability = Durability::Hit;
    options.busy_timeout = Duration::from_millis(300);
}

#[test]
fn a_refund_that_cannot_be_written_gives_nothing_back() {
    let (_directory, store) = fresh();
    for policy in ["r: 5/min", "r: 5/min, 9/h"] {
        let limiter = try_open(&store, policy, before_the_answer).unwrap();
        limiter.reset(None, b"k").unwrap();
        let hit = || limiter.hit(None, b"k", 1, Some(NOW));
        (0..5).for_each(|_| assert!(hit().unwrap().allowed));
        let host = support::connect(&store).unwrap();
        host.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..3 {
            let refund = limiter.refund(None, b"k", 1, Some(NOW));
            assert_eq!(refund.unwrap_err().code(), Code::Busy);
        }
        host.execute_batch("COMMIT").unwrap();
        assert!(!hit().unwrap().allowed, "{policy}");
        assert_eq!(limiter.refund(None, b"k", 2, Some(NOW)).unwrap().remaining, 2);
    }
}

/// To take it back would be to let somebody over the limit.
#[test]
fn a_refund_that_somebody_has_used_stands() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 5/min", before_the_answer).unwrap();
    let other = try_open(&store, "r: 5/min", at_an_interval).unwrap();
    let hit = || other.hit(None, b"k", 1, Some(NOW)).unwrap();
    if other.info().unwrap().contains("\"table\":null") {
        return; // there each hit waits for the file
    }
    (0..5).for_each(|_| assert!(hit().allowed));
    write_out(&store);
    let host = support::connect(&store).unwrap();
    host.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refund = std::thread::scope(|scope| {
        let refund = scope.spawn(|| limiter.refund(None, b"k", 1, Some(NOW)));
        while !hit().allowed {}
        refund.join().unwrap()
    });
    host.execute_batch("COMMIT").unwrap();
    refund.unwrap();
    assert!(!hit().allowed);
}

#[test]
fn opening_a_store_writes_what_waits_in_the_table() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 9/min", |options| {
        options.durability = Durability::Interval;
        options.flush_interval = Duration::from_secs(60);
    });
    let limiter = limiter.unwrap();
    for key in [b"first", b"later"] {
        limiter.hit(None, key, 1, Some(NOW)).unwrap();
    }
    drop(try_open(&store, "r: 9/min", at_an_interval).unwrap());
    assert_eq!(shell(&store, "SELECT count(*) FROM rate_limit_windows"), "2");
}

#[test]
fn a_log_that_is_deleted_under_a_running_process_loses_nothing() {
    for name in ["limits.db-wal", "limits.db-shm"] {
        let (directory, store) = fresh();
        let limiter = open(&store, "r: 9/min");
        limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
        let deleted = directory.path().join(name);
        std::fs::remove_file(&deleted).unwrap();
        let mut count = 5;
        // It is looked for twice a second.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !deleted.exists() {
            assert!(Instant::now() < deadline, "{name}");
            count += 1;
            let hit = limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
            assert_eq!(hit.count, count, "{name}");
        }
        let attempts = sql(&store, "SELECT attempts FROM rate_limit_windows");
        assert_eq!(attempts, count.to_string(), "{name}");
        assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, count + 1, "{name}");
    }
}

#[test]
fn the_log_of_a_database_that_was_deleted_alone_is_not_replayed_into_a_new_one() {
    let (directory, store) = fresh();
    let copies = tempfile::tempdir().unwrap();
    let limiter = open(&store, "r: 9/min");
    for key in 0..200u8 {
        limiter.hit(None, &[key], 1, Some(NOW)).unwrap();
    }
    if mode() != Mode::Hit {
        write_out(&store);
    }
    // What a crash leaves, without its database.
    std::fs::copy(&store, copies.path().join("whole.db")).unwrap();
    std::fs::copy(directory.path().join("limits.db-wal"), copies.path().join("limits.db-wal"))
        .unwrap();
    let new = copies.path().join("limits.db");
    let limiter = open(&new, "r: 9/min");
    assert_eq!(limiter.status(None, &[7], Some(NOW)).unwrap().count, 0);
    assert_eq!(limiter.hit(None, &[7], 1, Some(NOW)).unwrap().count, 1);
    assert_eq!(sql(&new, "PRAGMA integrity_check"), "ok");
}

#[test]
fn another_programs_journal_is_never_played_into_a_store_nor_lost() {
    let (directory, store) = fresh();
    // What a crash leaves of another program: a database and its hot journal.
    let foreign = directory.path().join("foreign.db");
    let writer = support::connect(&foreign).unwrap();
    writer
        .execute_batch(
            "PRAGMA cache_size = 1; CREATE TABLE t (x); BEGIN;
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO t SELECT hex(randomblob(200)) FROM n;",
        )
        .unwrap();
    let journal = directory.path().join("limits.db-journal");
    std::fs::copy(directory.path().join("foreign.db-journal"), &journal).unwrap();
    let bytes = std::fs::read(&journal).unwrap();
    assert!(bytes.len() > 512);

    // Beside an absent store, and beside one that is there.
    let short = |options: &mut Options| options.busy_timeout = std::time::Duration::from_millis(30);
    assert_eq!(try_open(&store, "1/s", short).err().unwrap().code(), Code::NotStore);
    assert!(!store.exists() && !table_of(&store).exists());
    std::fs::remove_file(&journal).unwrap();
    try_open(&store, "1/s", |options| options.keep_open = false)
        .unwrap()
        .hit(None, b"alice", 1, Some(NOW))
        .unwrap();
    std::fs::write(&journal, &bytes).unwrap();
    let error = try_open(&store, "1/s", short).err().unwrap();
    assert_eq!(error.code(), Code::NotStore);
    assert!(error.to_string().contains("-journal"), "{error}");
    assert_eq!(std::fs::read(&journal).unwrap(), bytes);

    std::fs::remove_file(&journal).unwrap();
    assert_eq!(open(&store, "1/s").status(None, b"alice", Some(NOW)).unwrap().count, 1);
}

#[test]
fn a_log_without_its_database_is_kept_under_another_name() {
    let (directory, store) = fresh();
    std::fs::write(directory.path().join("limits.db-wal"), "perhaps somebody needs it").unwrap();
    assert!(open(&store, "1/s").hit(None, b"alice", 1, Some(NOW)).unwrap().allowed);
    let kept = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("limits.db.orphan-"))
        .expect("the log is kept");
    assert_eq!(std::fs::read(kept).unwrap(), b"perhaps somebody needs it");
}

#[test]
fn whoever_creates_the_file_anew_decides_for_it() {
    let (_directory, store) = fresh();
    let secret = |options: &mut Options| options.key_secret = Some(b"a secret".to_vec());
    drop(try_open(&store, "1/s", secret).unwrap());
    std::fs::remove_file(&store).unwrap();
    let open_mode = |options: &mut Options| options.file_mode = 0o644;
    try_open(&store, "1/s", open_mode).unwrap().hit(None, b"alice", 1, Some(NOW)).unwrap();
    for file in [&store, &table_of(&store)] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o644);
    }
}

#[test]
fn a_path_that_sqlite_cannot_take_is_refused_before_anything_is_made() {
    let (directory, _) = fresh();
    let mut place = directory.path().to_path_buf();
    for _ in 0..3 {
        place.push("d".repeat(200));
    }
    std::fs::create_dir_all(&place).unwrap();
    assert_eq!(refusal(&place.join("limits.db")).code(), Code::Invalid);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    for name in ["limits.db/", "limits.db/."] {
        assert_eq!(refusal(&directory.path().join(name)).code(), Code::Invalid, "{name}");
    }
}

/// Overwrites the pages after the first, as a failing disk does.
fn damage(store: &Path) {
    let mut bytes = std::fs::read(store).unwrap();
    bytes[4096..].fill(0xA5);
    std::fs::write(store, bytes).unwrap();
}

#[test]
fn a_damaged_store_is_an_error_unless_the_option_has_it_moved_aside() {
    let (directory, store) = fresh();
    let close_for_good = |options: &mut Options| options.keep_open = false;
    let limiter = try_open(&store, "r: 9/min", close_for_good).unwrap();
    limiter.hit(None, b"alice", 5, Some(NOW)).unwrap();
    drop(limiter);
    damage(&store);
    let damaged = std::fs::read(&store).unwrap();

    let outcome = try_open(&store, "r: 9/min", close_for_good)
        .and_then(|limiter| limiter.hit(None, b"alice", 1, Some(NOW)));
    assert_eq!(outcome.unwrap_err().code(), Code::Corrupt);
    assert_eq!(std::fs::read(&store).unwrap(), damaged);

    let recover = |options: &mut Options| options.recover_corrupt = true;
    let limiter = try_open(&store, "r: 9/min", recover).unwrap();
    assert_eq!(limiter.hit(None, b"alice", 1, Some(NOW)).unwrap().count, 1);
    let aside: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".db.corrupt-"))
        .collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(std::fs::read(&aside[0]).unwrap(), damaged);

    // A file that is not ours is never moved.
    let foreign = directory.path().join("foreign.db");
    std::fs::write(&foreign, "not a database").unwrap();
    let error = try_open(&foreign, "r: 9/min", recover).err().unwrap();
    assert_eq!(error.code(), Code::NotStore);
    assert_eq!(std::fs::read(&foreign).unwrap(), b"not a database");
}

#[test]
fn long_keys_are_kept_apart_by_their_hash_and_stay_recognisable() {
    let (_directory, store) = fresh();
    let limiter = open(&store, "r: 1/min");
    let keys = [72, 73, 100, 1_000_000].map(|length| vec![b'k'; length]);
    for key in &keys {
        assert!(limiter.hit(None, key, 1, Some(NOW)).unwrap().allowed);
        assert!(!limiter.hit(None, key, 1, Some(NOW)).unwrap().allowed);
    }
    assert_eq!(
        sql(&store, "SELECT length(key) FROM rate_limit_windows ORDER BY 1"),
        "72\n73\n73\n73"
    );
}

#[test]
fn info_says_what_is_in_force() {
    let (_directory, store) = fresh();
    let limiter = try_open(&store, "r: 1/min", |options| {
        options.audit = true;
        options.table_slots = Some(100);
        options.flush_interval = Duration::from_millis(70);
    })
    .unwrap();
    let said = info(&limiter);
    assert_eq!(said["version"], ratelite::VERSION);
    // Audit rows are committed with their hit.
    assert_eq!(said["durability"], "hit");
    assert_eq!(said["flush_interval_ms"], 70);
    assert_eq!(said["locks"], "ofd");
    assert_eq!(said["audit"], true);
    assert_eq!(said["store"], store.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(said["format"], 3);
    assert_eq!(said["table"]["slots"], 112);
    assert_eq!(said["table"]["bytes"], std::fs::metadata(table_of(&store)).unwrap().len());

    let durability = info(&open(&store, "r: 1/min"))["durability"].clone();
    assert_eq!(durability, if mode() == Mode::Hit { "hit" } else { "interval" });
    let said = info(&open(":memory:".as_ref(), "r: 1/min"));
    assert_eq!((said["durability"].as_str(), said["format"].as_i64()), (Some("hit"), Some(2)));
    assert!(said["table"].is_null());
}

#[test]
fn the_lag_is_what_is_not_in_the_file() {
    let (_directory, store) = fresh();
    let a_minute = |options: &mut Options| {
        options.durability = Durability::Interval;
        options.flush_interval = Duration::from_secs(60);
    };
    let limiter = try_open(&store, "r: 9/min", a_minute).unwrap();
    let lag = || info(&limiter)["table"]["lag"].clone();
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    limiter.prune(Some(0)).unwrap();
    assert_eq!(lag(), serde_json::json!({ "unwritten": 0, "ms": 0, "cause": null }));
    for key in 0..5u8 {
        limiter.hit(None, &[key], 1, Some(NOW)).unwrap();
    }
    assert_eq!(lag()["unwritten"], 5);
    assert_eq!(lag()["cause"], serde_json::Value::Null);
    let ms = lag()["ms"].as_u64().unwrap();
    assert!(ms < 60_000, "{ms}");
}

#[test]
fn what_each_hit_has_written_is_no_lag() {
    let (_directory, store) = fresh();
    let each_hit = |options: &mut Options| options.durability = Durability::Hit;
    let limiter = try_open(&store, "r: 9/min", each_hit).unwrap();
    limiter.hit(None, b"alice", 1, Some(NOW)).unwrap();
    let none = serde_json::json!({ "unwritten": 0, "ms": 0, "cause": null });
    assert_eq!(info(&limiter)["table"]["lag"], none);
}
