//! Processes that see one store in different places, or take it for different ones.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support;

const RL_ENOTSTORE: i64 = -9;
const LONG_MS: &str = "60000";

/// A process that does what it is told to.
struct Teller {
    child: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Teller {
    /// The process, and the code with which it opened the store.
    fn open(store: &Path) -> (Self, i64) {
        let program = support::compile("files/teller.c", &["-lsqlite3"]);
        let mut command = support::command(&program, &support::library_dir(), 60);
        command.args([store.to_str().unwrap(), LONG_MS]);
        Self::start(command)
    }

    /// The same, after a script of the shell has mounted something.
    fn open_mounting(what: &str, script: &str, directory: &Path) -> (Self, i64) {
        let program = support::compile("files/teller.c", &["-lsqlite3"]);
        let script = format!("cd \"$1\"; {script}; exec \"$2\" \"$3\" {LONG_MS}");
        let mut command = support::mounting(what, &script, 60);
        command.args([directory, &program]).arg(directory.join("b/limits.db"));
        Self::start(command)
    }

    fn start(mut command: Command) -> (Self, i64) {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("timeout");
        let (words, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut teller = Self { child, words, answers: BufReader::new(answers) };
        let code = teller.answer();
        (teller, code)
    }

    fn ask(&mut self, word: &str) -> i64 {
        writeln!(self.words, "{word}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> i64 {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("{line:?}"))
    }

    fn asks_within_two_seconds(&mut self, word: &str, wanted: i64) {
        let begin = Instant::now();
        loop {
            let answer = self.ask(word);
            if answer == wanted {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(2), "{word}: {answer}, not {wanted}");
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_store_that_is_mounted_without_its_directory_is_refused() {
    let directory = support::fresh_directory();
    for name in ["a", "b"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let (mut first, code) = Teller::open(&directory.path().join("a/limits.db"));
    assert_eq!((code, first.ask("hit")), (0, 1));
    let script = ": > b/limits.db; mount --bind a/limits.db b/limits.db";
    let (_second, code) = Teller::open_mounting("a file that is mounted", script, directory.path());
    assert_eq!(code, RL_ENOTSTORE);
    assert_eq!(first.ask("hit"), 2);
    assert_eq!(fs::read_dir(directory.path().join("b")).unwrap().count(), 1);
}

/// As containers have it that are given a `boot_id` of their own.
#[test]
fn another_boot_id_is_no_reboot_while_others_count_in_the_table() {
    if support::mode() == support::Mode::Rows {
        return; // there is no table
    }
    let directory = support::fresh_directory();
    fs::create_dir(directory.path().join("b")).unwrap();
    let (mut first, code) = Teller::open(&directory.path().join("b/limits.db"));
    assert_eq!((code, first.ask("hit")), (0, 1));
    let mount = || {
        let script = "echo 01234567-89ab-cdef-0123-456789abcdef >boot_id; \
                      mount --bind boot_id /proc/sys/kernel/random/boot_id";
        Teller::open_mounting("another boot_id", script, directory.path())
    };
    let (_second, code) = mount();
    assert_eq!(code, RL_ENOTSTORE);
    assert_eq!(first.ask("hit"), 2);
    // Nobody is left: it may well be a reboot.
    drop(first);
    let (mut second, code) = mount();
    assert_eq!(code, 0);
    second.ask("hit");
}

#[test]
fn who_is_left_behind_by_a_directory_that_moves_harms_nobody() {
    let directory = support::fresh_directory();
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    fs::create_dir(&a).unwrap();
    let (mut left, code) = Teller::open(&a.join("limits.db"));
    assert_eq!((code, left.ask("hit")), (0, 1));
    fs::rename(&a, &b).unwrap();
    fs::create_dir(&a).unwrap();
    let (mut moved, code) = Teller::open(&b.join("limits.db"));
    assert_eq!(code, 0);
    let mut count = 1;
    // Until it has noticed, the one that is left counts with the other.
    let begin = Instant::now();
    while moved.ask("hit") == count + 1 {
        count += 1;
        assert!(count < 90 && begin.elapsed() < Duration::from_secs(2), "{count}");
        std::thread::sleep(Duration::from_millis(50));
        if left.ask("hit") != count + 1 {
            break;
        }
        count += 1;
    }
    // An attempt of the other may stand there, which it then made elsewhere.
    let after = moved.ask("hit");
    assert!((count..=count + 2).contains(&after), "{after} after {count}");
    count = after;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        count += 1;
        assert_eq!(moved.ask("hit"), count);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_deletion_is_noticed_by_who_only_asks_and_by_who_seldom_writes() {
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let (mut asks, _) = Teller::open(&store);
    let (mut hits, _) = Teller::open(&store);
    assert_eq!((hits.ask("hit"), asks.ask("status")), (1, 99));
    for entry in fs::read_dir(directory.path()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    asks.asks_within_two_seconds("status", 100);
    hits.asks_within_two_seconds("hit", 1);
    assert_eq!((hits.ask("hit"), asks.ask("status")), (2, 98));
}
