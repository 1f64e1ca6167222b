//! Processes that are killed at random moments lose nothing that was acknowledged, and hold nobody
//! up who comes after them.

mod support;

#[path = "kills/killed.rs"]
mod killed;
#[path = "kills/worker.rs"]
mod worker;
