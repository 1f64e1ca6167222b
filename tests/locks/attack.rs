//! One process hits in one thread and uses its own SQLite on the same file in another; a second
//! process hits; a `sqlite3` shell writes. Afterwards every acknowledged hit is in the file, every
//! commit of the host and of the shell too, and the file is sound.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{self, Mode, Report};

const MANNERS: [&str; 3] = ["stays", "closes", "forks"];
const MILLISECONDS: u32 = 400;

#[test]
fn a_host_that_reads_loses_no_hit() {
    every_manner_is_sound("reads");
}

#[test]
fn a_host_that_writes_loses_no_hit() {
    every_manner_is_sound("writes");
}

#[test]
fn a_host_that_opens_and_closes_the_files_loses_no_hit() {
    every_manner_is_sound("plain");
}

#[test]
fn a_host_that_checkpoints_loses_no_hit() {
    every_manner_is_sound("checkpoints");
}

#[test]
fn a_host_that_does_all_of_it_loses_no_hit() {
    every_manner_is_sound("mix");
}

#[test]
fn a_host_that_stays_and_writes_loses_no_hit() {
    every_manner_is_sound("writer");
}

#[test]
fn without_the_defence_a_host_that_reads_loses_hits() {
    the_undefended_breaks("reads");
}

#[test]
fn without_the_defence_a_host_that_writes_loses_hits() {
    the_undefended_breaks("writes");
}

#[test]
fn without_the_defence_a_host_that_opens_and_closes_the_files_loses_hits() {
    the_undefended_breaks("plain");
}

fn every_manner_is_sound(host: &str) {
    // When a hit is in the file. A store without a table knows the first only.
    let durabilities: &[&str] = match support::mode() {
        Mode::Rows => &["hit"],
        Mode::Interval | Mode::Hit => &["hit", "interval"],
    };
    for manner in MANNERS {
        for durability in durabilities {
            let milliseconds = MILLISECONDS * support::scale();
            let library = support::library_dir();
            let outcome = attack(&library, host, manner, durability, milliseconds);
            let what = format!("{host} × {manner}, {durability}");
            println!("{what}: {}", outcome.clone().unwrap_or_else(|loss| loss));
            outcome.unwrap_or_else(|loss| panic!("{what}: {loss}"));
        }
    }
}

fn the_undefended_breaks(host: &str) {
    let library = support::library_without("undefended");
    let survived = (0..20).all(|round| match attack(&library, host, "stays", "hit", 1_000) {
        Ok(_) => true,
        Err(loss) => {
            println!("{host}, undefended, round {round}: {loss}");
            false
        }
    });
    assert!(!survived, "20 s of a host that {host} did no harm: this attack proves nothing");
}

/// `Ok` says how much was acknowledged; `Err` what is not as it should be.
fn attack(
    library: &Path,
    host: &str,
    manner: &str,
    durability: &str,
    milliseconds: u32,
) -> Result<String, String> {
    let program = support::compile("locks/attack.c", &["-lsqlite3"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("store.db");
    let mut attack = support::command(program, library, 60 + milliseconds / 1_000)
        .arg(&store)
        .args([host, manner, durability, &milliseconds.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("timeout, of the coreutils");

    let mut output = BufReader::new(attack.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let has_ended = AtomicBool::new(line != "ready\n");
    let noted_by_shell = std::thread::scope(|scope| {
        let shell = scope.spawn(|| write_in_shell(&store, &has_ended));
        output.read_to_string(&mut line).unwrap();
        has_ended.store(true, Ordering::Relaxed);
        shell.join().unwrap()
    });
    let mut report = Report::of(&attack.wait_with_output().unwrap());
    report.text.insert_str(0, &line);
    if !report.succeeded {
        return Err(report.to_string());
    }
    compare(&store, &report, noted_by_shell)
}

fn compare(store: &Path, report: &Report, noted_by_shell: i64) -> Result<String, String> {
    let in_file = shell(store)
        .arg(
            "SELECT 'stored=' || total(attempts) FROM rate_limit_windows;
             SELECT 'host_notes=' || count(*) FROM host_notes;
             SELECT 'shell_notes=' || count(*) FROM shell_notes;
             SELECT 'integrity=' || group_concat(integrity_check) FROM pragma_integrity_check;",
        )
        .output()
        .unwrap();
    let in_file = Report::of(&in_file);
    let facts = format!("{report} shell_commits={noted_by_shell}; {}", in_file).replace('\n', " ");
    let is_sound = in_file.succeeded
        && in_file.text.contains("integrity=ok")
        && report.number("failed") == 0
        && report.number("hung") == 0
        && report.number("host_code") == 0
        && in_file.word("stored") == format!("{}.0", report.number("acknowledged"))
        && in_file.number("host_notes") == report.number("host_commits")
        && in_file.number("shell_notes") == noted_by_shell;
    if is_sound { Ok(facts) } else { Err(facts) }
}

/// Inserts rows in a `sqlite3` shell of its own until the attack has ended; how many it committed.
fn write_in_shell(store: &Path, has_ended: &AtomicBool) -> i64 {
    let mut shell = shell(store).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut noted = 0;
    while !has_ended.load(Ordering::Relaxed) {
        match write_one(&mut shell) {
            Some(total) => noted = total,
            None => break,
        }
    }
    drop(shell.stdin.take());
    shell.wait().unwrap();
    noted
}

fn write_one(shell: &mut Child) -> Option<i64> {
    let order = b"INSERT INTO shell_notes VALUES (1);\nSELECT total_changes();\n.print end\n";
    shell.stdin.as_mut()?.write_all(order).ok()?;
    let mut answer = String::new();
    // One byte at a time: a buffer would be lost between two calls, and there are few bytes.
    while !answer.ends_with("end\n") {
        let mut byte = [0];
        shell.stdout.as_mut()?.read_exact(&mut byte).ok()?;
        answer.push(byte[0].into());
    }
    answer.lines().next()?.parse().ok()
}

fn shell(store: &Path) -> Command {
    let mut shell = Command::new("sqlite3");
    shell.args(["-batch", "-cmd", ".timeout 20000"]).arg(store).stdout(Stdio::piped());
    shell
}
