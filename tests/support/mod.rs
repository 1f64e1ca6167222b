//! Compiles C programs against the built library and runs them, against whichever build of it.

// Each test crate uses a part of this.
#![allow(dead_code)]

pub mod cases;

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

use ratelite::{Durability, Limiter, Options};

/// The root of the source tree.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo builds, and what the tests make beside that.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// 1 for `make test`; the long forms of `make soak` do this many times as much.
pub fn scale() -> u32 {
    if std::env::var_os("RATELITE_SOAK").is_some_and(|value| value == "1") { 10 } else { 1 }
}

/// A new directory, removed when the value is dropped. In memory where the system has a place for
/// that: on a disk that others keep busy, one fsync may take longer than any deadline here.
pub fn fresh_directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return fresh_directory_on_disk();
    }
    tempfile::tempdir_in(memory).expect("a temporary directory")
}

/// As [`fresh_directory`], on the disk that holds the source tree.
pub fn fresh_directory_on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

/// How the tests are run: `make test` runs them in each of these ways, by RATELITE_TEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the library is: hits are counted in the shared table, and written at an interval.
    Interval,
    /// RATELITE_TEST=hit: each hit is written before it is answered, unless a test says otherwise.
    Hit,
    /// RATELITE_TEST=rows: there is no shared table, as on a system that cannot have one. Only for
    /// programs that load the shared library.
    Rows,
}

pub fn mode() -> Mode {
    match std::env::var("RATELITE_TEST").as_deref() {
        Err(_) => Mode::Interval,
        Ok("hit") => Mode::Hit,
        Ok("rows") => Mode::Rows,
        Ok(other) => panic!("RATELITE_TEST is {other:?}, not \"hit\" or \"rows\""),
    }
}

/// The default options of a limiter in this process, in the mode of the tests.
pub fn options() -> Options {
    let mut options = Options::default();
    if mode() == Mode::Hit {
        options.durability = Durability::Hit;
    }
    options
}

/// A connection of a program that looks into a store. Here it is of the library's own SQLite, whose
/// locks are of another kind from the library's first call on: one that was taken before, in another
/// test's thread, would stay for ever.
pub fn connect(file: impl AsRef<Path>) -> rusqlite::Result<rusqlite::Connection> {
    static IS_IN_USE: OnceLock<()> = OnceLock::new();
    IS_IN_USE.get_or_init(|| drop(Limiter::open(":memory:", "1/s", &Options::default()).unwrap()));
    rusqlite::Connection::open(file)
}

/// Has everything written into the file that was counted until now: in the mode of an interval, a
/// file is up to date only then. Removes nothing: no window ended before 1970.
pub fn write_out(store: &Path) {
    let limiter = Limiter::open(store.to_str().unwrap(), "write-out: 1/s", &Options::default());
    assert_eq!(limiter.unwrap().prune(Some(0)).unwrap(), 0);
}

/// Where the release build of the shared library is, in the mode of the tests.
pub fn library_dir() -> PathBuf {
    match mode() {
        Mode::Interval => release_dir(),
        Mode::Hit => library_without("durable-hit"),
        Mode::Rows => library_without("no-table"),
    }
}

/// The crate and the library as they are, whatever the mode.
pub fn release_dir() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let _lock = lock("release.lock");
        succeed(cargo_build(&[]));
        target().join("release")
    };
    BUILT.get_or_init(build).clone()
}

/// Where a build of the shared library is that goes without something: see src/switches.rs, whose
/// switches these are, with commas between them. One build serves all. In the mode of the tests,
/// unless it is a mode itself.
pub fn library_without(switches: &str) -> PathBuf {
    let switches = match (mode(), switches) {
        (_, "durable-hit" | "no-table") | (Mode::Interval, _) => switches.to_owned(),
        (Mode::Hit, _) => format!("durable-hit,{switches}"),
        (Mode::Rows, _) => format!("no-table,{switches}"),
    };
    static BUILT: Once<String> = Once::new();
    BUILT.get_or_make(switches.clone(), || build_without(&switches))
}

fn build_without(switches: &str) -> PathBuf {
    let attack = target().join("attack");
    let _lock = lock("attack.lock");
    let own = attack.join(switches);
    let (stamp, sources) = (own.join("sources"), hash_of_sources());
    if fs::read_to_string(&stamp).is_ok_and(|built| built == sources) {
        return own;
    }
    if !attack.join("release").exists() {
        take_dependencies(&release_dir(), &attack.join("release"));
    }
    let to = [OsStr::new("--target-dir"), attack.as_os_str()];
    succeed(cargo_build(&[&to[..], &["--features".as_ref(), "test-switches".as_ref()]].concat()));
    let mut library = fs::read(attack.join("release/libratelite.so")).unwrap();
    for switch in switches.split(',').filter(|switch| !switch.is_empty()) {
        turn_on(&mut library, switch);
    }
    fs::create_dir_all(&own).unwrap();
    // Not in place: some process may have it mapped.
    let _ = fs::remove_file(own.join("libratelite.so"));
    fs::write(own.join("libratelite.so"), library).unwrap();
    if !own.join("libratelite.so.1").exists() {
        std::os::unix::fs::symlink("libratelite.so", own.join("libratelite.so.1")).unwrap();
    }
    fs::write(stamp, sources).unwrap();
    own
}

/// Of the library: cargo finds them made, so that SQLite and all the rest is not compiled again.
fn take_dependencies(from: &Path, to: &Path) {
    let is_dependency = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default();
        ["rlib", "rmeta", "d", "so"].iter().any(|it| ending == *it)
    };
    let entries = fs::read_dir(from.join("deps")).unwrap().map(|entry| entry.unwrap().path());
    let copy = |paths: Vec<PathBuf>, to: &Path| {
        fs::create_dir_all(to).unwrap();
        let mut command = Command::new("cp");
        command.arg("-a").args(paths).arg(to);
        succeed(command);
    };
    copy(entries.filter(is_dependency).collect(), &to.join("deps"));
    // Last, since without these the copies above mean nothing to cargo.
    copy(vec![from.join("build"), from.join(".fingerprint")], to);
}

fn turn_on(library: &mut [u8], switch: &str) {
    const NAME_BYTES: usize = 47;
    let mut name = format!("ratelite switch {switch}").into_bytes();
    name.resize(NAME_BYTES, 0);
    let mut found = library.windows(NAME_BYTES).enumerate().filter(|(_, bytes)| *bytes == name);
    let (Some((at, _)), None) = (found.next(), found.next()) else {
        panic!("no switch {switch}, or more than one");
    };
    let state = &mut library[at + NAME_BYTES];
    assert_eq!(*state, b'-', "{switch}");
    *state = b'+';
}

/// Compiles a C program (a path below `tests/`) against the header and the library. The result is
/// kept until the program, a header, or the flags change. Libraries go into the flags (`-lm`).
pub fn compile(source: impl AsRef<Path>, extra_flags: &[&str]) -> PathBuf {
    static COMPILED: Once<(PathBuf, String)> = Once::new();
    let source = root().join("tests").join(source);
    let key = (source.clone(), extra_flags.join(" "));
    COMPILED.get_or_make(key, || compile_now(&source, extra_flags))
}

fn compile_now(source: &Path, extra_flags: &[&str]) -> PathBuf {
    let folder = target().join("ctests");
    let stem = source.file_stem().expect("a file name").to_string_lossy().into_owned();
    let program = folder.join(format!("{stem}-{}", hash_of_program(source, extra_flags)));
    let _lock = lock(&format!("compile-{stem}.lock"));
    if program.exists() {
        return program;
    }
    fs::create_dir_all(&folder).unwrap();
    let unfinished = program.with_extension("new");
    let output = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg("-I")
        .arg(root().join("include"))
        .arg("-I")
        .arg(root().join("tests/support"))
        .arg(source)
        .arg("-o")
        .arg(&unfinished)
        .arg("-L")
        .arg(library_dir())
        .arg("-lratelite")
        .args(extra_flags)
        .output()
        .expect("cc, the C compiler: apt-get install gcc libc6-dev");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        !complaint.contains("sqlite3.h: No such file") && !complaint.contains("find -lsqlite3"),
        "the host's own SQLite is needed: apt-get install libsqlite3-dev"
    );
    assert!(output.status.success(), "{} does not compile:\n{complaint}", source.display());
    fs::rename(unfinished, &program).unwrap();
    program
}

/// A command that finds the library in `library`, and is killed with all its children after
/// `seconds`: nothing that is tested here may hang.
pub fn command(program: impl AsRef<OsStr>, library: &Path, seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", &seconds.to_string()]).arg(program);
    command.env("LD_LIBRARY_PATH", library);
    command
}

/// As [`command`], for a shell's script that mounts, in a namespace of its own: the mounts go with
/// the process. `what` is for the message where that is not allowed.
pub fn mounting(what: &str, script: &str, seconds: u32) -> Command {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let namespace = if is_root { "-m" } else { "-Urm" };
    let may_mount = Command::new("unshare").args([namespace, "true"]).status();
    assert!(
        may_mount.is_ok_and(|status| status.success()),
        "{what}: run this as root, or allow namespaces with: sudo sysctl \
         kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
    );
    let mut command = command("unshare", &library_dir(), seconds);
    command.args([namespace, "sh", "-ec", script, "sh"]);
    command
}

/// What a program printed, and how it ended.
pub struct Report {
    pub text: String,
    pub succeeded: bool,
    pub ending: String,
}

impl Report {
    pub fn of(output: &Output) -> Self {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        Self {
            text: String::from_utf8_lossy(&text).into_owned(),
            succeeded: output.status.success(),
            ending: output.status.to_string(),
        }
    }

    /// The number that the program printed as `name=number`.
    pub fn number(&self, name: &str) -> i64 {
        self.word(name).parse().unwrap_or_else(|_| panic!("{name} is no number in {self}"))
    }

    /// The word that the program printed as `name=word`.
    pub fn word(&self, name: &str) -> &str {
        let words = self.text.split_whitespace();
        let value = words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name);
        value.unwrap_or_else(|| panic!("no {name} in {self}")).1
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}) {}", self.ending, self.text.trim_end())
    }
}

/// Runs a program to its end, whatever that is.
pub fn run<S: AsRef<OsStr>>(program: &Path, library: &Path, seconds: u32, args: &[S]) -> Report {
    let output = command(program, library, seconds).args(args).output();
    Report::of(&output.expect("timeout, of the coreutils"))
}

/// Runs a program that must succeed.
pub fn run_well<S: AsRef<OsStr>>(
    program: &Path,
    library: &Path,
    seconds: u32,
    args: &[S],
) -> Report {
    let report = run(program, library, seconds, args);
    let words: Vec<_> = args.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    assert!(report.succeeded, "{} {}: {report}", program.display(), words.join(" "));
    report
}

/// What this process has made, so that it looks once whether that is up to date.
struct Once<K>(Mutex<Vec<(K, PathBuf)>>);

impl<K: PartialEq> Once<K> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn get_or_make(&self, key: K, make: impl FnOnce() -> PathBuf) -> PathBuf {
        let made = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = made().iter().find(|(known, _)| *known == key) {
            return path.clone();
        }
        // Others may make other things meanwhile; the same thing is found made by a lock of files.
        let path = make();
        made().push((key, path.clone()));
        path
    }
}

fn cargo_build(extra: &[&OsStr]) -> Command {
    let mut command = without_package(env!("CARGO"));
    command.args(["build", "--release", "--lib", "--quiet"]).args(extra).current_dir(root());
    command
}

/// A command that does not hear what cargo tells a test of its own package. Else `ring` would be compiled
/// anew by it, and once more by the next `cargo build` from a shell.
pub fn without_package(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told == "OUT_DIR"
            || told.starts_with("CARGO_MANIFEST_")
            || told.starts_with("CARGO_PKG_")
        {
            command.env_remove(&name);
        }
    }
    command
}

fn succeed(mut command: Command) {
    let output = command.output().expect("cargo");
    assert!(output.status.success(), "{}", Report::of(&output));
}

/// One test process at a time; given back when the file is closed.
fn lock(name: &str) -> File {
    let folder = target().join("ctests");
    fs::create_dir_all(&folder).unwrap();
    let file = File::create(folder.join(name)).unwrap();
    file.lock().unwrap();
    file
}

fn hash_of_sources() -> String {
    let mut hasher = DefaultHasher::new();
    for file in ["Cargo.toml", "Cargo.lock", "build.rs"] {
        fs::read(root().join(file)).unwrap().hash(&mut hasher);
    }
    hash_files(&root().join("src"), "", &mut hasher);
    format!("{:016x}", hasher.finish())
}

fn hash_of_program(source: &Path, flags: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    fs::read(source)
        .unwrap_or_else(|error| panic!("{}: {error}", source.display()))
        .hash(&mut hasher);
    hash_files(&root().join("include"), ".h", &mut hasher);
    hash_files(&root().join("tests"), ".h", &mut hasher);
    flags.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn hash_files(folder: &Path, ending: &str, hasher: &mut DefaultHasher) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_files(&path, ending, hasher);
        } else if path.to_string_lossy().ends_with(ending) {
            path.hash(hasher);
            fs::read(&path).unwrap().hash(hasher);
        }
    }
}
