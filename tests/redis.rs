//! A Redis or Valkey as the store. Each test starts servers of its own, on free ports of this machine.

#[path = "support/agreement.rs"]
mod agreement;
mod support;

#[path = "redis/cases.rs"]
mod cases;
#[path = "redis/cluster.rs"]
mod cluster;
#[path = "redis/denied.rs"]
mod denied;
#[path = "redis/exactness.rs"]
mod exactness;
#[path = "redis/faults.rs"]
mod faults;
#[path = "redis/hosts.rs"]
mod hosts;
#[path = "redis/insurance.rs"]
mod insurance;
#[path = "redis/model.rs"]
mod model;
#[path = "redis/secrets.rs"]
mod secrets;
#[path = "redis/sentinel.rs"]
mod sentinel;
#[path = "redis/server.rs"]
mod server;
#[path = "redis/strange.rs"]
mod strange;
#[path = "redis/switch.rs"]
mod switch;
#[path = "redis/tls.rs"]
mod tls;
