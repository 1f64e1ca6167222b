//! The store beside the host's own SQLite, in one process and on one file.

#[path = "locks/attack.rs"]
mod attack;
mod support;
