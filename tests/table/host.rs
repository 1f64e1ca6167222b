//! The programs of this folder, with a library and what its named points do.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::check::{self, Answer};
use crate::support::{self, Report};

/// Longer than anything here may take, in seconds.
const DEADLINE: u32 = 60;

pub struct Host {
    library: PathBuf,
    points: String,
}

impl Host {
    pub fn plain() -> Self {
        Self { library: support::library_dir(), points: String::new() }
    }

    pub fn with_points(points: &str) -> Self {
        Self { library: support::library_without(""), points: points.to_owned() }
    }

    /// Runs a program on a new store, which must succeed. `words` stand behind the store and the
    /// folder of the answers.
    pub fn run(&self, program: &str, words: &[&str]) -> Played {
        let directory = support::fresh_directory();
        let folder = directory.path().join("answers");
        std::fs::create_dir(&folder).unwrap();
        let compiled = support::compile(format!("table/{program}.c"), &["-lsqlite3"]);
        let mut command = support::command(&compiled, &self.library, DEADLINE);
        command.env("RATELITE_POINTS", &self.points);
        command.arg(directory.path().join("store.db")).arg(folder).args(words);
        let report = Report::of(&command.output().expect("timeout, of the coreutils"));
        let points = &self.points;
        assert!(report.succeeded, "{program} {}, points {points:?}: {report}", words.join(" "));
        Played { directory, report }
    }
}

/// A program's run, and what it left.
pub struct Played {
    directory: TempDir,
    pub report: Report,
}

impl Played {
    pub fn answers(&self) -> Vec<Answer> {
        check::read(&self.directory.path().join("answers"))
    }

    pub fn store(&self) -> PathBuf {
        self.path().join("store.db")
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}
