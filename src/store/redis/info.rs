//! What is in force on a server, for people and for monitoring.

use redis::Value;

use super::RedisStore;
use super::failure::Fault;

/// What [`Store::info`](crate::store::Store::info) tells of a server.
#[derive(Debug, serde::Serialize)]
pub(crate) struct RedisInfo {
    store: String,
    /// `redis` or `valkey`; `redis` too while the server is away.
    engine: &'static str,
    /// Null while the server is away, or does not tell.
    engine_version: Option<String>,
    /// `single`, `unix`, `cluster` or `sentinel`.
    mode: &'static str,
    tls: bool,
    reachable: bool,
    /// Why it is not; null if it is.
    cause: Option<String>,
    /// Where the counters are, as far as that is known.
    servers: Vec<String>,
    idle_connections: usize,
    /// Whether calls fail at once, since a server has failed a moment ago.
    resting: bool,
    prefix: String,
    /// What the server does when its memory is full; null if it does not tell. Anything but
    /// `noeviction` may take counters away, and with them what was spent.
    maxmemory_policy: Option<String>,
    keys_hashed: bool,
    connect_timeout_ms: u64,
    command_timeout_ms: u64,
    remember_denied: bool,
    /// How many denied clients this process remembers.
    denied_remembered: usize,
}

/// Asks the server; that it cannot be reached is an answer, too.
pub(super) fn of(store: &RedisStore) -> RedisInfo {
    let client = &store.client;
    let asked = client.ask(redis::cmd("INFO").arg("server"));
    let mut policy = redis::cmd("CONFIG");
    policy.arg("GET").arg("maxmemory-policy");
    // Often neither is permitted, which is no failure.
    let policy = asked.as_ref().ok().and_then(|_| client.ask(&policy).ok());
    let away = asked.as_ref().err().filter(|fault| !fault.is_of_rights());
    let cause = away.map(|fault| client.described(fault).to_string());
    let server = Server::of(asked);
    let timeouts = client.timeouts;
    RedisInfo {
        store: client.address.shown.clone(),
        engine: if server.is_valkey { "valkey" } else { "redis" },
        engine_version: server.version,
        mode: client.address.mode_name(),
        tls: client.address.tls.is_some(),
        reachable: cause.is_none(),
        cause,
        servers: client.servers().iter().map(ToString::to_string).collect(),
        idle_connections: client.idle(),
        resting: client.is_resting(),
        prefix: store.prefix.clone(),
        maxmemory_policy: policy.and_then(second_text),
        keys_hashed: store.options.key_secret.is_some(),
        connect_timeout_ms: timeouts.connect.as_millis() as u64,
        command_timeout_ms: timeouts.command.as_millis() as u64,
        remember_denied: store.options.remember_denied,
        denied_remembered: client.memory.lock().map_or(0, |denied| denied.len()),
    }
}

struct Server {
    is_valkey: bool,
    version: Option<String>,
}

impl Server {
    /// Of the answer to INFO server: lines of `name:value`.
    fn of(answer: Result<Value, Fault>) -> Self {
        let text = answer.ok().and_then(text).unwrap_or_default();
        let field = |name| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(known, _)| *known == name).map(|(_, value)| value.trim().to_owned())
        };
        // Valkey gives the version of Redis that it is like as redis_version.
        let valkey = field("valkey_version");
        Self {
            is_valkey: valkey.is_some() || field("server_name").as_deref() == Some("valkey"),
            version: valkey.or_else(|| field("redis_version")),
        }
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

fn second_text(value: Value) -> Option<String> {
    match value {
        Value::Array(mut values) if values.len() == 2 => text(values.pop()?),
        _ => None,
    }
}
