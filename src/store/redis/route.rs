//! Which server answers for a key: the one of the address, the master that sentinels name, or the
//! master of a part of a cluster.

use std::time::{Duration, Instant};

use redis::Value;

use super::address::{Address, Endpoint, Mode};
use super::breaker::Breaker;

/// How often servers are asked anew where things have moved to, at most.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_millis(100);

pub(super) struct Route {
    known: Known,
    /// Whether something told that what is known is old, and when it was last asked about.
    is_stale: bool,
    looked_at: Option<Instant>,
    /// For those who know nothing yet.
    pub(super) breaker: Breaker,
}

enum Known {
    Nothing,
    One(Endpoint),
    Slots(Vec<Slots>),
}

/// A part of a cluster, and its master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    first: u16,
    last: u16,
    master: Endpoint,
}

impl Route {
    pub(super) fn new(address: &Address) -> Self {
        let known = match (&address.mode, address.endpoints.first()) {
            (Mode::Single, Some(endpoint)) => Known::One(endpoint.clone()),
            _ => Known::Nothing,
        };
        Self { known, is_stale: false, looked_at: None, breaker: Breaker::default() }
    }

    /// The server of a slot, if it is known and need not be looked for now.
    pub(super) fn server(&mut self, slot: u16, now: Instant) -> Option<Endpoint> {
        let is_due = |at: Instant| now.saturating_duration_since(at) >= PAUSE_BETWEEN_LOOKS;
        let server = self.known_server(slot)?;
        if self.is_stale && self.looked_at.is_none_or(is_due) {
            self.looked_at = Some(now);
            return None;
        }
        Some(server)
    }

    /// As far as it is known, however old.
    pub(super) fn known_server(&self, slot: u16) -> Option<Endpoint> {
        match &self.known {
            Known::Nothing => None,
            Known::One(endpoint) => Some(endpoint.clone()),
            Known::Slots(slots) => {
                let found = slots.iter().find(|part| (part.first..=part.last).contains(&slot));
                found.map(|part| part.master.clone())
            }
        }
    }

    /// All servers that are known.
    pub(super) fn servers(&self) -> Vec<Endpoint> {
        match &self.known {
            Known::Nothing => Vec::new(),
            Known::One(endpoint) => vec![endpoint.clone()],
            Known::Slots(slots) => {
                let mut servers = Vec::new();
                for part in slots {
                    if !servers.contains(&part.master) {
                        servers.push(part.master.clone());
                    }
                }
                servers
            }
        }
    }

    pub(super) fn is_old(&mut self) {
        self.is_stale = true;
    }

    pub(super) fn found_master(&mut self, master: Endpoint) {
        self.known = Known::One(master);
        self.is_stale = false;
    }

    pub(super) fn found_slots(&mut self, slots: Vec<Slots>) {
        self.known = Known::Slots(slots);
        self.is_stale = false;
    }
}

/// What a sentinel says to SENTINEL GET-MASTER-ADDR-BY-NAME; `None`: it does not know that name.
pub(super) fn master_of(answer: &Value) -> Option<Endpoint> {
    match answer {
        Value::Array(words) => endpoint_of(words.first()?, words.get(1)?, None),
        _ => None,
    }
}

/// What a server of a cluster says to CLUSTER SLOTS. It leaves its own host out if it does not know
/// by what name it is reached: then it is the one that was asked.
pub(super) fn slots_of(answer: &Value, asked: &Endpoint) -> Option<Vec<Slots>> {
    let Value::Array(parts) = answer else { return None };
    let slots: Option<Vec<_>> = parts.iter().map(|part| part_of(part, asked)).collect();
    slots.filter(|slots| !slots.is_empty())
}

fn part_of(part: &Value, asked: &Endpoint) -> Option<Slots> {
    let Value::Array(words) = part else { return None };
    let (Value::Int(first), Value::Int(last), Value::Array(master)) =
        (words.first()?, words.get(1)?, words.get(2)?)
    else {
        return None;
    };
    let master = endpoint_of(master.first()?, master.get(1)?, Some(asked))?;
    Some(Slots { first: u16::try_from(*first).ok()?, last: u16::try_from(*last).ok()?, master })
}

fn endpoint_of(host: &Value, port: &Value, asked: Option<&Endpoint>) -> Option<Endpoint> {
    let port = match port {
        Value::Int(port) => u16::try_from(*port).ok()?,
        Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
        _ => return None,
    };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        Value::Nil => "",
        _ => return None,
    };
    endpoint_at(host, port, asked)
}

fn endpoint_at(host: &str, port: u16, asked: Option<&Endpoint>) -> Option<Endpoint> {
    match (host, asked) {
        ("" | "?", Some(Endpoint::Tcp(host, _))) => Some(Endpoint::Tcp(host.clone(), port)),
        ("" | "?", _) => None,
        (host, _) => Some(Endpoint::Tcp(host.to_owned(), port)),
    }
}

/// Where a redirection (`<slot> <host>:<port>`) points to.
pub(super) fn redirected<'a>(
    mut words: impl Iterator<Item = &'a str>,
    asked: &Endpoint,
) -> Option<Endpoint> {
    let (host, port) = words.nth(1)?.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    endpoint_at(host, port.parse().ok()?, Some(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp(host.into(), port)
    }

    fn of(address: &[u8]) -> Route {
        Route::new(&Address::parse(address).unwrap().0)
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn part(first: i64, last: i64, host: Value, port: i64) -> Value {
        let master = Value::Array(vec![host, Value::Int(port), text("id")]);
        Value::Array(vec![Value::Int(first), Value::Int(last), master])
    }

    #[test]
    fn a_slot_leads_to_its_master() {
        let asked = tcp("seed", 1);
        let answer =
            Value::Array(vec![part(0, 99, text("a"), 7), part(100, 16_383, Value::Nil, 8)]);
        let mut route = of(b"redis-cluster://seed:1");
        let now = Instant::now();
        assert_eq!(route.server(5, now), None);
        route.found_slots(slots_of(&answer, &asked).unwrap());
        assert_eq!(route.server(99, now), Some(tcp("a", 7)));
        assert_eq!(route.server(100, now), Some(tcp("seed", 8)));
        assert_eq!(route.servers(), [tcp("a", 7), tcp("seed", 8)]);
    }

    #[test]
    fn what_is_old_is_looked_for_by_one_at_a_time() {
        let mut route = of(b"redis-sentinel://s/m");
        route.found_master(tcp("a", 1));
        let now = Instant::now();
        route.is_old();
        assert_eq!(route.server(0, now), None);
        assert_eq!(route.server(0, now), Some(tcp("a", 1)));
        assert_eq!(route.server(0, now + PAUSE_BETWEEN_LOOKS), None);
    }

    #[test]
    fn answers_that_make_no_sense_are_no_answers() {
        let asked = tcp("seed", 1);
        for answer in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![Value::Nil]),
            Value::Array(vec![part(0, 70_000, text("a"), 7)]),
            Value::Array(vec![part(0, 1, text("a"), 70_000)]),
        ] {
            assert_eq!(slots_of(&answer, &asked), None, "{answer:?}");
            assert_eq!(master_of(&answer), None, "{answer:?}");
        }
        assert_eq!(master_of(&Value::Array(vec![text("h"), text("9")])), Some(tcp("h", 9)));
    }

    #[test]
    fn a_redirection_says_where() {
        let asked = tcp("seed", 1);
        for (words, endpoint) in [
            ("3999 127.0.0.1:6381", Some(tcp("127.0.0.1", 6381))),
            ("3999 :6381", Some(tcp("seed", 6381))),
            ("3999 ::1:6381", Some(tcp("::1", 6381))),
            ("3999", None),
            ("3999 x", None),
        ] {
            assert_eq!(redirected(words.split(' '), &asked), endpoint, "{words}");
        }
    }
}
