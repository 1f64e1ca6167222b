//! Hosts that misbehave, or that something happens to. What they share with locks and forks
//! (closed standard descriptors, 10,000 opens and closes, loading and unloading) is there.

mod support;

#[path = "hosts/exit.rs"]
mod exit;
#[path = "hosts/guests.rs"]
mod guests;
#[path = "hosts/python.rs"]
mod python;
