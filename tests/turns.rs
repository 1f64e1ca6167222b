//! Processes take turns: what a call leaves locked, the line for the write lock, and the order of
//! the hits.

mod support;

#[path = "turns/fork_in_line.rs"]
mod fork_in_line;
#[path = "turns/left.rs"]
mod left;
#[path = "turns/line.rs"]
mod line;
#[path = "turns/order.rs"]
mod order;
#[path = "turns/stopped.rs"]
mod stopped;
