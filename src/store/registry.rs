//! The stores that this process has open: one connection a file, whatever the number of limiters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::connection::{SharedConnection, Suspended};
use super::first_open;
use super::meta::Settings;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result, quoted};
use crate::os::call::Call;
use crate::os::fork::{self, AcrossFork, Held};
use crate::os::mutex::{Guard, Mutex};
use crate::os::parked;
use crate::os::stat::{self, FileFacts, FileId};

/// Made at compile time: whatever begins lazily can be caught half-begun by a fork.
static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { files: BTreeMap::new(), in_memory: Vec::new() });

struct Registry {
    /// By resolved path. Two paths of one file (a bind mount) lead to one connection.
    files: BTreeMap<PathBuf, Arc<SharedConnection>>,
    /// Stores in memory belong to their limiter, but must hold still over a fork.
    in_memory: Vec<Weak<SharedConnection>>,
}

/// The connection to the store at this path; its first use will tell whether it fits these settings.
/// Each needs a [`release`].
pub(super) fn acquire(
    path: &Path,
    settings: Settings,
    deadline: &Deadline,
) -> Result<Arc<SharedConnection>> {
    let _call = Call::enter(deadline)?;
    let mut registry = lock(deadline)?;
    // Known under this very name, and no symbolic link by now: no need to resolve it.
    let known = registry.files.get(path).cloned();
    let facts = known.as_ref().and_then(|_| stat::lstat(path).ok()).filter(FileFacts::is_regular);
    let connection = match (known, facts) {
        (Some(known), Some(_)) => known,
        _ => registry.find_or_add(first_open::resolve(path)?, &settings)?,
    };
    let secret_check = settings.secret_check;
    if connection.add_handle() == 1 {
        if !parked::all_intact() {
            registry.abandon_connections();
        }
        connection.use_settings(settings);
    }
    let is_ready = facts.is_some_and(|facts| {
        facts.links == 1 && connection.is_ready(facts.id, secret_check.as_ref())
    });
    if !is_ready {
        connection.look_at_file_again();
    }
    Ok(connection)
}

/// Gives a connection back. The last handle closes it, unless the process is to keep it open.
pub(super) fn release(connection: &Arc<SharedConnection>, keep_open: bool) {
    let deadline = Deadline::after(crate::options::MAX_BUSY_TIMEOUT);
    // In a child of clone() there is nothing to give back; past the deadline it just stays open.
    let Ok(_call) = Call::enter(&deadline) else { return };
    let Ok(mut registry) = lock(&deadline) else { return };
    let may_stay = keep_open && connection.path().is_some() && connection.is_open();
    if connection.remove_handle() > 0 || may_stay {
        return;
    }
    connection.close();
    registry.files.retain(|_, known| !Arc::ptr_eq(known, connection));
    registry.in_memory.retain(|known| known.as_ptr() != Arc::as_ptr(connection));
}

/// A store in this process's memory, for one limiter.
pub(super) fn in_memory(settings: Settings, deadline: &Deadline) -> Result<Arc<SharedConnection>> {
    let _call = Call::enter(deadline)?;
    let mut registry = lock(deadline)?;
    let connection = Arc::new(SharedConnection::in_memory(settings)?);
    connection.add_handle();
    registry.in_memory.push(Arc::downgrade(&connection));
    Ok(connection)
}

fn lock(deadline: &Deadline) -> Result<Guard<'static, Registry>> {
    fork::register_owner(fork::Kind::Files, &Owner);
    REGISTRY.lock(deadline).ok_or_else(|| {
        Error::new(Code::Busy, "another thread is opening a store, or a fork is under way")
    })
}

impl Registry {
    fn find_or_add(&mut self, path: PathBuf, settings: &Settings) -> Result<Arc<SharedConnection>> {
        if let Some(known) = self.files.get(&path) {
            return Ok(known.clone());
        }
        let same_file = match stat::stat(&path) {
            Ok(facts) => self.open_on(facts.id).or_else(|| self.named_as(&path)),
            Err(_) => None,
        };
        let connection = match same_file {
            Some(known) if known.names(&path) => known.clone(),
            Some(known) => {
                return Err(Error::new(
                    Code::NotStore,
                    format!(
                        "store {} is open in this process as {}, from which it was moved; \
                         close those limiters first",
                        quoted(&path),
                        known.name()
                    ),
                ));
            }
            None => Arc::new(SharedConnection::to_file(path.clone(), settings.clone())),
        };
        self.forget_deleted();
        self.files.insert(path, connection.clone());
        Ok(connection)
    }

    /// Lets go of stores that nobody uses any more and whose file was deleted: a process that
    /// makes one store after the other (a test suite) would else keep the descriptors of all.
    fn forget_deleted(&mut self) {
        self.files.retain(|path, known| {
            let stays = known.handles() > 0 || stat::lstat(path).is_ok();
            if !stays {
                known.close();
            }
            stays
        });
    }

    fn open_on(&self, id: FileId) -> Option<&Arc<SharedConnection>> {
        self.files.values().find(|known| known.is_open_on(id))
    }

    /// One that is closed, by a fork or a failure, and would open the same file.
    fn named_as(&self, path: &Path) -> Option<&Arc<SharedConnection>> {
        self.files.values().find(|known| known.names(path))
    }

    /// The host closed descriptors of ours, as a daemon does: closes every connection without
    /// touching what stands behind those numbers now.
    fn abandon_connections(&self) {
        parked::abandon_all();
        for connection in self.files.values() {
            connection.close();
        }
    }
}

struct Owner;

impl AcrossFork for Owner {
    fn close_and_hold(&self) -> Box<dyn Held> {
        let registry = REGISTRY.lock_unbounded();
        if !parked::all_intact() {
            registry.abandon_connections();
        }
        let in_memory = registry.in_memory.iter().filter_map(Weak::upgrade);
        let mut connections: Vec<_> = registry.files.values().cloned().chain(in_memory).collect();
        // An alias would be locked twice.
        connections.sort_by_key(|connection| Arc::as_ptr(connection).addr());
        connections.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let stores = connections.iter().map(|known| known.suspend_and_hold()).collect();
        Box::new(HeldStores { stores, _registry: registry })
    }
}

struct HeldStores {
    stores: Vec<Suspended>,
    _registry: Guard<'static, Registry>,
}

impl Held for HeldStores {
    fn forget_parent(&mut self) {
        for store in &mut self.stores {
            store.forget_parent();
        }
    }
}
