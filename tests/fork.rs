//! Stores over `fork()`: parent and child go on with exact counts, and nobody hangs.

mod support;

#[path = "fork/hosts.rs"]
mod hosts;
#[path = "fork/matrix.rs"]
mod matrix;
#[path = "fork/signals.rs"]
mod signals;
#[path = "fork/storm.rs"]
mod storm;
#[path = "fork/unseen.rs"]
mod unseen;
