//! A Redis or Valkey as the store. Each test starts servers of its own, on free ports of this machine.

mod support;

#[path = "redis/cases.rs"]
mod cases;
#[path = "redis/server.rs"]
mod server;
