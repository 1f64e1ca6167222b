//! The store beside the host's own SQLite, in one process and on one file; and what the host's
//! descriptors and signals have to do with it.

mod support;

#[path = "locks/attack.rs"]
mod attack;
#[path = "locks/descriptors.rs"]
mod descriptors;
#[path = "locks/host_transaction.rs"]
mod host_transaction;
#[path = "locks/kinds_of_locks.rs"]
mod kinds_of_locks;
#[path = "locks/signals.rs"]
mod signals;
#[path = "locks/two_copies.rs"]
mod two_copies;
