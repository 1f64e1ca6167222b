//! What an attacker can make a store grow to.

mod support;

#[path = "growth/crowd.rs"]
mod crowd;
#[path = "growth/house.rs"]
mod house;
#[path = "growth/keys.rs"]
mod keys;
#[path = "growth/log.rs"]
mod log;
