//! One store's connection, shared by every limiter of the process that uses it: opened when it is
//! needed, closed before a fork, opened anew when the file was replaced.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::first_open::{self, Standing};
use super::meta::{Meta, Settings};
use super::session::Session;
use super::tables::{HeldProcesses, Tables};
use super::turn::{Turn, Waiting};
use super::watched_file::{Found, WatchedFile};
use super::{blank, checkpoint, files};
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result, quoted};
use crate::key::SecretCheck;
use crate::os::anchor::Anchor;
use crate::os::call::Call;
use crate::os::fork;
use crate::os::mutex::{Mutex, OwnedGuard};
use crate::os::stat::{self, FileId};
use crate::os::vfs;
use crate::window::Time;

pub(super) struct SharedConnection {
    place: Place,
    name: String,
    state: Arc<Mutex<State>>,
    /// What the connection is open on, for those who must not wait for it.
    open_on: Arc<Mutex<Option<OpenOn>>>,
    /// How many limiters use it; changed under the registry's lock.
    handles: AtomicUsize,
    /// Those of them that are not being closed.
    in_use: AtomicUsize,
    /// When the last limiter of the process wrote out what was counted, in wall-clock milliseconds.
    written_at_close_ms: AtomicI64,
    /// Whether the next use is to see if the file was replaced, however short ago the last look.
    look_at_once: AtomicBool,
}

enum Place {
    Memory,
    File(PathBuf),
}

/// What is behind the lock: at most one connection, so that SQLite's and the kernel's ideas of who
/// holds which lock agree.
pub(super) struct State {
    /// By which the file is made, if it is not there.
    settings: Settings,
    open: Option<Open>,
    anchor: Option<Anchor>,
    turn: Turn,
    /// The shared tables that this process has mapped for the store.
    tables: Arc<Tables>,
    /// The file that was opened last, whether it could be used or not; an empty one only if it
    /// could.
    last_opened: Option<FileId>,
}

struct Open {
    session: Session,
    /// `None` for a store in memory.
    file: Option<(WatchedFile, OpenMark)>,
}

struct OpenOn {
    id: FileId,
    /// `None` while it is being opened.
    meta: Option<Meta>,
}

/// The files of all connections of this process, open or being opened. Two on one file would share a
/// descriptor of its -shm, and the locks on that, without knowing of each other's.
static IN_USE: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

/// Keeps [`SharedConnection::open_on`] and [`IN_USE`] true.
struct OpenMark {
    place: Arc<Mutex<Option<OpenOn>>>,
    id: FileId,
}

impl OpenMark {
    /// `None` while another connection has the file.
    fn set(place: &Arc<Mutex<Option<OpenOn>>>, id: FileId) -> Option<Self> {
        let mut in_use = IN_USE.lock_unbounded();
        if in_use.contains(&id) {
            return None;
        }
        in_use.push(id);
        *place.lock_unbounded() = Some(OpenOn { id, meta: None });
        Some(Self { place: Arc::clone(place), id })
    }

    fn is_open(&self, meta: &Meta) {
        *self.place.lock_unbounded() = Some(OpenOn { id: self.id, meta: Some(meta.clone()) });
    }
}

impl Drop for OpenMark {
    fn drop(&mut self) {
        *self.place.lock_unbounded() = None;
        IN_USE.lock_unbounded().retain(|&id| id != self.id);
    }
}

/// How often a call opens the file anew after a failure of reading or writing it. While somebody
/// moves three files away one by one, a database meets another's log and fails in many ways; one
/// that is damaged fails each time. Nothing was committed, so nothing is counted twice.
const REOPENS: u32 = 2;

/// A failure, and the file that it happened on.
type FailureOn = (Failure, Option<FileId>);

impl SharedConnection {
    pub(super) fn to_file(path: PathBuf, settings: Settings) -> Self {
        Self::new(Place::File(path), settings, None)
    }

    pub(super) fn in_memory(settings: Settings) -> Result<Self> {
        let opened = blank::in_memory(&settings).and_then(|connection| {
            let meta = Meta::read(&connection)?;
            Ok(Open { session: Session::new(connection, meta, Arc::default())?, file: None })
        });
        let open = opened.map_err(|failure| failure.describe(MEMORY))?;
        Ok(Self::new(Place::Memory, settings, Some(open)))
    }

    fn new(place: Place, settings: Settings, open: Option<Open>) -> Self {
        let name = match &place {
            Place::Memory => MEMORY.to_owned(),
            Place::File(path) => quoted(path),
        };
        let state = State {
            settings,
            open,
            anchor: None,
            turn: Turn::default(),
            tables: Arc::default(),
            last_opened: None,
        };
        Self {
            place,
            name,
            state: Arc::new(Mutex::new(state)),
            open_on: Arc::new(Mutex::new(None)),
            handles: AtomicUsize::new(0),
            in_use: AtomicUsize::new(0),
            written_at_close_ms: AtomicI64::new(i64::MIN),
            look_at_once: AtomicBool::new(false),
        }
    }

    /// The store's name as it stands in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Memory => None,
            Place::File(path) => Some(path),
        }
    }

    /// Runs `attempt` on the connection, again and again while others are in its way, until the
    /// deadline. Between two tries the connection is free, for other threads and for a fork.
    ///
    /// With `recover`, a file that turns out to be damaged is moved aside, once, and begun anew.
    pub(super) fn with<T>(
        &self,
        deadline: &Deadline,
        mut recover: bool,
        mut attempt: impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let _call = Call::enter(deadline)?;
        self.give_way(deadline)?;
        let mut reopens_left = REOPENS;
        let mut waiting = None;
        loop {
            let (failure, file) = match self.try_once(deadline, &mut attempt)? {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            if failure.is_busy() && self.wait_for_turn(deadline, &mut waiting) {
                continue;
            }
            if failure.breaks_connection() && reopens_left > 0 && deadline.pause() {
                reopens_left -= 1;
                continue;
            }
            if failure.is_damaged_file() && std::mem::take(&mut recover) {
                self.set_aside(file, deadline)?;
                continue;
            }
            return Err(failure.describe(self.name()));
        }
    }

    /// Lets a process go first that has waited for long.
    fn give_way(&self, deadline: &Deadline) -> Result<()> {
        let mut begin: Option<Instant> = None;
        loop {
            let mut state = self.lock(deadline)?;
            let State { turn, anchor, .. } = &mut *state;
            let waits = match begin {
                None => turn.is_anothers(anchor.as_ref()),
                Some(begin) => turn.is_still_anothers(anchor.as_ref(), begin.elapsed()),
            };
            drop(state);
            if !waits {
                return Ok(());
            }
            begin.get_or_insert_with(Instant::now);
            if !deadline.pause() {
                return Ok(());
            }
        }
    }

    /// Waits until it is worth while to try again. False when the deadline has passed.
    fn wait_for_turn(&self, deadline: &Deadline, waiting: &mut Option<Waiting>) -> bool {
        let waiting = waiting.get_or_insert_with(Waiting::begin);
        waiting.has_tried();
        loop {
            let Ok(mut state) = self.lock(deadline) else { return false };
            if deadline.remaining().is_zero() {
                state.leave_line();
                return false;
            }
            let State { turn, anchor, .. } = &mut *state;
            let Some(anchor) = anchor else {
                drop(state);
                return deadline.pause();
            };
            if turn.has_come(anchor, waiting) {
                return true;
            }
            drop(state);
            deadline.pause();
            waiting.has_paused();
        }
    }

    fn try_once<T>(
        &self,
        deadline: &Deadline,
        attempt: &mut impl FnMut(&Session) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, FailureOn>> {
        let mut state = self.lock(deadline)?;
        vfs::forget_error();
        let outcome = match self.opened(&mut state, deadline) {
            Ok(open) => open.session.work(deadline.patience(), attempt),
            Err(failure) => Err(failure),
        };
        if !matches!(&outcome, Err(failure) if failure.is_busy()) {
            state.leave_line();
        }
        let file = state.last_opened;
        let outcome = outcome.map_err(|failure| (self.unless_replaced(failure, file), file));
        let is_broken = match (&state.open, &outcome) {
            (Some(open), _) if !open.session.connection.is_autocommit() => true,
            (_, Err((failure, _))) => failure.breaks_connection(),
            _ => false,
        };
        if is_broken {
            state.close_file();
        }
        Ok(outcome)
    }

    /// Of a file that was replaced meanwhile, any failure only says so: look again.
    fn unless_replaced(&self, failure: Failure, file: Option<FileId>) -> Failure {
        let (Some(path), Some(file), true) = (self.path(), file, failure.breaks_connection())
        else {
            return failure;
        };
        match stat::lstat(path) {
            Ok(facts) if facts.id == file => failure,
            _ => Failure::Replaced(failure.describe(self.name())),
        }
    }

    /// Moves the damaged file aside, if it still stands at the path.
    fn set_aside(&self, damaged: Option<FileId>, deadline: &Deadline) -> Result<()> {
        let (Some(path), Some(damaged)) = (self.path(), damaged) else { return Ok(()) };
        let mut state = self.lock(deadline)?;
        if state.last_opened == Some(damaged) {
            state.anchor = None;
            state.close_file();
        }
        files::set_aside(path, damaged, deadline).map_err(|failure| failure.describe(self.name()))
    }

    /// The state, once no fork is waiting for it.
    fn lock(&self, deadline: &Deadline) -> Result<crate::os::mutex::Guard<'_, State>> {
        loop {
            if !fork::is_under_way() {
                let state = self.state.lock(deadline).ok_or_else(|| self.busy(deadline))?;
                // A fork may have begun to wait while this thread did.
                if !fork::is_under_way() {
                    return Ok(state);
                }
            }
            if !deadline.pause() {
                return Err(self.busy(deadline));
            }
        }
    }

    fn busy(&self, deadline: &Deadline) -> Error {
        Error::new(
            Code::Busy,
            format!(
                "store {}: this process's other threads, or a fork, kept it for {} ms; raise \
                 busy_timeout_ms",
                self.name(),
                deadline.patience().as_millis()
            ),
        )
    }

    /// An empty file is a new store, but not one that was whole before: that would give everybody a
    /// second budget.
    fn emptied(&self) -> Error {
        let cure = "restore a backup, or delete it to begin anew";
        Error::new(Code::Corrupt, format!("store {} was cut to nothing; {cure}", self.name()))
    }

    fn has_another_name(&self) -> Error {
        let message = "is open in this process under another name; close that first";
        Error::new(Code::NotStore, format!("store {} {message}", self.name()))
    }

    fn opened<'a>(
        &self,
        state: &'a mut State,
        deadline: &Deadline,
    ) -> std::result::Result<&'a Open, Failure> {
        let Place::File(path) = &self.place else {
            return state.open.as_ref().ok_or_else(|| missing().into());
        };
        self.close_if_replaced(state, path, deadline)?;
        if state.open.is_none() {
            self.open(state, path, deadline)?;
        }
        state.open.as_ref().ok_or_else(|| missing().into())
    }

    fn close_if_replaced(
        &self,
        state: &mut State,
        path: &Path,
        deadline: &Deadline,
    ) -> std::result::Result<(), Failure> {
        let at_once = self.look_at_once.swap(false, Ordering::Relaxed);
        let found = state.open_file_mut().map_or(Found::Same, |file| file.look(path, at_once));
        let outcome = match found {
            Found::Same => return Ok(()),
            Found::LogDeleted => {
                state.save_log();
                Ok(())
            }
            Found::DatabaseReplaced => files::remove_log_of_replaced(path, deadline),
            Found::Another => Ok(()),
        };
        state.anchor = None;
        state.close_file();
        outcome
    }

    fn open(
        &self,
        state: &mut State,
        path: &Path,
        deadline: &Deadline,
    ) -> std::result::Result<(), Failure> {
        let Standing { id, is_empty, .. } =
            first_open::ensure_file(path, &state.settings, deadline)?;
        if is_empty {
            // The anchor would be in the way of whoever fills the file, ourselves included.
            state.anchor = None;
            if state.last_opened == Some(id) {
                return Err(Failure::Damaged(self.emptied()));
            }
        } else {
            state.last_opened = Some(id);
        }
        let mark = OpenMark::set(&self.open_on, id).ok_or_else(|| self.has_another_name())?;
        let (connection, meta) = first_open::connect(path, &state.settings, deadline)?;
        let mut file = WatchedFile::new(id);
        // SQLite opened three files by their names, and a replacement in between would leave this
        // database with another's log.
        if file.look(path, true) != Found::Same {
            let message = format!("store {} was replaced while it was opened", self.name());
            return Err(Failure::Replaced(Error::new(Code::Busy, message)));
        }
        state.last_opened = Some(id);
        mark.is_open(&meta);
        let session = Session::new(connection, meta, Arc::clone(&state.tables))?;
        state.open = Some(Open { session, file: Some((file, mark)) });
        if !state.anchor.as_ref().is_some_and(|anchor| anchor.fits(path)) {
            state.anchor = Anchor::take(path);
        }
        Ok(())
    }

    /// Whether the connection is open on this very file. Waits for nobody.
    pub(super) fn is_open_on(&self, id: FileId) -> bool {
        self.open_on.lock_unbounded().as_ref().is_some_and(|open_on| open_on.id == id)
    }

    /// Whether the connection is open on this very file, and this secret is the file's. Waits for
    /// nobody.
    pub(super) fn is_ready(&self, id: FileId, secret_check: Option<&SecretCheck>) -> bool {
        self.open_on.lock_unbounded().as_ref().is_some_and(|open_on| {
            let fits = |meta: &Meta| meta.require_secret(secret_check, self.name()).is_ok();
            open_on.id == id && open_on.meta.as_ref().is_some_and(fits)
        })
    }

    /// Whether the connection is open on a file. Waits for nobody.
    pub(super) fn is_open(&self) -> bool {
        self.open_on.lock_unbounded().is_some()
    }

    /// Lets the next creation of the file go by these settings. For the first limiter on it.
    pub(super) fn use_settings(&self, settings: Settings) {
        self.state.lock_unbounded().settings = settings;
    }

    /// Whether this path leads to the file that the connection is open on, as its own path does.
    pub(super) fn names(&self, path: &Path) -> bool {
        match (self.path().map(stat::stat), stat::stat(path)) {
            (Some(Ok(own)), Ok(other)) => own.id == other.id,
            _ => false,
        }
    }

    /// Lets the next use see whether the file was replaced.
    pub(super) fn look_at_file_again(&self) {
        self.look_at_once.store(true, Ordering::Relaxed);
    }

    /// Whether the last limiter that is closed now should write everything out: the first of the process
    /// does, later ones once an interval.
    pub(super) fn is_due_at_close(&self, now: Time, interval: Duration) -> bool {
        let written_ms = self.written_at_close_ms.load(Ordering::Relaxed);
        let age_ms = now.millis().wrapping_sub(written_ms) as u64;
        let is_due = u128::from(age_ms) >= interval.as_millis();
        if is_due {
            self.written_at_close_ms.store(now.millis(), Ordering::Relaxed);
        }
        is_due
    }

    /// Counts one more limiter on this connection, and says how many there are.
    pub(super) fn add_handle(&self) -> usize {
        self.in_use.fetch_add(1, Ordering::AcqRel);
        self.handles.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many limiters use this connection.
    pub(super) fn handles(&self) -> usize {
        self.handles.load(Ordering::Relaxed)
    }

    /// Before what a limiter does when it is closed; says how many others go on.
    pub(super) fn begin_close(&self) -> usize {
        self.in_use.fetch_sub(1, Ordering::AcqRel) - 1
    }

    /// Counts one limiter less, and says how many are left.
    pub(super) fn remove_handle(&self) -> usize {
        self.handles.fetch_sub(1, Ordering::Relaxed) - 1
    }

    /// Closes as SQLite does when nobody else has the store open: checkpoint, -wal and -shm gone. A
    /// store in memory is gone.
    pub(super) fn close(&self) {
        let mut state = self.state.lock_unbounded();
        state.anchor = None;
        state.open = None;
        state.tables.hold().forget();
    }

    /// Closes the connection and keeps every other thread out until the guard is dropped.
    pub(super) fn suspend_and_hold(&self) -> Suspended {
        let mut state = self.state.lock_owned();
        state.close_file();
        // Whoever waits meanwhile may run out of time, and could not leave the line.
        state.leave_line();
        let processes = state.tables.hold();
        Suspended { processes, state }
    }
}

/// A store while the process forks.
pub(super) struct Suspended {
    processes: HeldProcesses,
    state: OwnedGuard<State>,
}

impl Suspended {
    /// In a child of fork: the anchor's locks are the parent's, and so are the place in line and the
    /// number among the processes on the shared table.
    pub(super) fn forget_parent(&mut self) {
        self.state.turn = Turn::default();
        self.state.anchor = None;
        self.processes.forget();
    }
}

impl State {
    fn open_file_mut(&mut self) -> Option<&mut WatchedFile> {
        Some(&mut self.open.as_mut()?.file.as_mut()?.0)
    }

    /// This process has had its turn, or has given it up.
    fn leave_line(&mut self) {
        self.turn.is_over(self.anchor.as_ref());
    }

    /// Moves into the database what stands only in a log that has no name any more.
    fn save_log(&self) {
        if let Some(open) = &self.open {
            let _ = checkpoint::now(&open.session.connection);
        }
    }

    /// A store in memory stays: closing it would lose its counters.
    fn close_file(&mut self) {
        if self.open_file_mut().is_some() {
            self.open = None;
        }
    }
}

const MEMORY: &str = ":memory:";

fn missing() -> Error {
    Error::new(Code::Internal, "the connection is gone; please report this as a bug")
}
