//! A process that hits until it is killed, and the words that all of them left.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support;

const SIGKILL: i32 = 9;

/// Language or manner of worker.c, and whether jemalloc is preloaded.
pub type Kind = (&'static str, bool);

pub struct Worker {
    kind: Kind,
    child: Child,
    complaints: PathBuf,
}

impl Worker {
    pub fn start(kind: Kind, directory: &Path, number: usize) -> Self {
        let (store, word) = (directory.join("store.db"), directory.join(format!("{number}.word")));
        let script = |name: &str| support::root().join("tests/kills").join(name);
        let mut command = match kind.0 {
            "python" => Command::new("python3"),
            "php" => Command::new("php"),
            _ => Command::new(support::compile("kills/worker.c", &["-lsqlite3"])),
        };
        match kind.0 {
            "python" => command.arg(script("worker.py")),
            // Its other extensions do not get over an allocator that is preloaded.
            "php" => command
                .args(["-n", "-d", "extension=ffi", "-d", "ffi.enable=1"])
                .arg(script("worker.php")),
            _ => &mut command,
        };
        let complaints = directory.join(format!("{number}.complaints"));
        let to = fs::File::create(&complaints).unwrap();
        command.arg(store).arg(word).arg(kind.0);
        command.env("LD_LIBRARY_PATH", support::library_dir());
        command.env("RATELITE_LIBRARY", support::library_dir().join("libratelite.so"));
        command.env("PYTHONPATH", support::root().join("bindings/python"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        if kind.1 {
            command.env("LD_PRELOAD", "libjemalloc.so.2");
        }
        command.stdout(to.try_clone().unwrap()).stderr(to).stdin(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        Self { kind, child, complaints }
    }

    /// Kills it, and checks that it had nothing to complain of until then.
    pub fn kill(mut self) -> Kind {
        self.child.kill().unwrap();
        let ending = self.child.wait().unwrap();
        let text = fs::read_to_string(&self.complaints).unwrap();
        let was_killed = ending.signal() == Some(SIGKILL);
        assert!(was_killed && text.is_empty(), "{:?}: {ending}: {text}", self.kind);
        self.kind
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a byte stands in the words of all workers.
pub fn said(directory: &Path, byte: u8) -> i64 {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let words = entries.filter(|path| path.extension().is_some_and(|ending| ending == "word"));
    words
        .map(|word| fs::read(word).unwrap().iter().filter(|said| **said == byte).count() as i64)
        .sum()
}
