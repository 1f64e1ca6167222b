//! The protocol of the counters under attack, over the C interface: exact to the last answer, whoever
//! calls; and nothing lost, over or stuck, whoever dies or stops. Nothing here knows how a store
//! counts, so a store that commits each hit must pass as well.

mod support;

#[path = "table/check.rs"]
mod check;
#[path = "table/check_itself.rs"]
mod check_itself;
#[path = "table/deaths.rs"]
mod deaths;
#[path = "table/exactness.rs"]
mod exactness;
#[path = "table/host.rs"]
mod host;
#[path = "table/named_points.rs"]
mod named_points;
#[path = "table/own_keys.rs"]
mod own_keys;
