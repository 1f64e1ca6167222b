//! The first open of a path: in a race, on every kind of file, and refusals that leave no trace.

mod support;

#[path = "locks/kinds.rs"]
mod kinds;
#[path = "locks/patience.rs"]
mod patience;
#[path = "locks/race.rs"]
mod race;
#[path = "locks/refusals.rs"]
mod refusals;
