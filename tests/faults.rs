//! Calls of the system that fail, and disks that are full.

mod support;

#[path = "faults/disk_full.rs"]
mod disk_full;
#[path = "faults/housekeeping.rs"]
mod housekeeping;
#[path = "faults/nth.rs"]
mod nth;
