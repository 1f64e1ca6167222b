//! The clients of this process: one an address, whatever the number of limiters.

use std::sync::Arc;

use super::address::Address;
use super::client::{Client, State, Timeouts};
use super::denied::Denied;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::options::MAX_BUSY_TIMEOUT;
use crate::os::call::Call;
use crate::os::fork::{self, AcrossFork, Held};
use crate::os::mutex::{Guard, Mutex, OwnedGuard};

/// Made at compile time: whatever begins lazily can be caught half-begun by a fork.
static REGISTRY: Mutex<Vec<Arc<Client>>> = Mutex::new(Vec::new());

/// The client of an address. Each needs a [`release`].
pub(super) fn acquire(address: Address, timeouts: Timeouts) -> Result<Arc<Client>> {
    let deadline = Deadline::after(MAX_BUSY_TIMEOUT);
    let _call = Call::enter(&deadline)?;
    let is_it = |client: &&Arc<Client>| client.address == address && client.timeouts == timeouts;
    let known = lock(&deadline)?.iter().find(is_it).cloned();
    // Not under the lock, which a fork waits for: files are read.
    let client = match known {
        Some(client) => client,
        None => Arc::new(Client::new(address.clone(), timeouts)?),
    };
    let mut clients = lock(&deadline)?;
    let client = match clients.iter().find(is_it) {
        Some(known) => Arc::clone(known),
        None => {
            clients.push(Arc::clone(&client));
            client
        }
    };
    if client.add_handle() == 1 {
        client.abandon_foreign();
    }
    Ok(client)
}

/// Gives a client back. The last limiter closes its connections, unless they are to be kept open.
pub(super) fn release(client: &Arc<Client>, keep_open: bool) {
    let deadline = Deadline::after(MAX_BUSY_TIMEOUT);
    // In a child of clone() there is nothing to give back; past the deadline it just stays open.
    let Ok(_call) = Call::enter(&deadline) else { return };
    let Ok(mut clients) = lock(&deadline) else { return };
    if client.remove_handle() > 0 || keep_open {
        return;
    }
    client.abandon_foreign();
    clients.retain(|known| !Arc::ptr_eq(known, client));
}

fn lock(deadline: &Deadline) -> Result<Guard<'static, Vec<Arc<Client>>>> {
    fork::register_owner(fork::Kind::Servers, &Owner);
    REGISTRY.lock(deadline).ok_or_else(|| {
        Error::new(Code::Busy, "another thread is opening a store, or a fork is under way")
    })
}

/// Nobody waits for a server while holding one of these locks, so a fork does not wait for one either.
/// A connection that another thread is using at that moment stays open in the child, unused.
struct Owner;

impl AcrossFork for Owner {
    fn close_and_hold(&self) -> Box<dyn Held> {
        let clients = REGISTRY.lock_unbounded();
        let states = clients.iter().map(|client| client.state.lock_owned()).collect();
        let denied = clients.iter().map(|client| client.memory.hold()).collect();
        Box::new(HeldClients { states, denied, clients })
    }
}

struct HeldClients {
    states: Vec<OwnedGuard<State>>,
    /// In the order of the clients; nothing where somebody was in there.
    denied: Vec<Option<OwnedGuard<Denied>>>,
    clients: Guard<'static, Vec<Arc<Client>>>,
}

impl Held for HeldClients {
    fn forget_parent(&mut self) {
        for state in &mut self.states {
            state.forget_connections();
        }
        // The parent tells them.
        for (client, denied) in self.clients.iter().zip(&mut self.denied) {
            match denied {
                Some(denied) => denied.forget_untold(),
                None => client.memory.begin_anew(),
            }
        }
    }
}
