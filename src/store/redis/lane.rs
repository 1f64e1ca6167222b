//! The ways to the servers that are in use: idle connections, and who is kept away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::address::Endpoint;
use super::breaker::Breaker;
use super::failure::Fault;
use super::wire::Connection;

/// How many idle connections to a server are kept. As many as there are calls at once are made.
const MOST_IDLE: usize = 64;

/// What a server is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Counters,
    /// A sentinel: who the master is.
    Masters,
}

/// Known to those whom it has answered.
pub(super) struct Server {
    pub(super) endpoint: Endpoint,
    is_resting: AtomicBool,
}

impl Server {
    pub(super) fn new(endpoint: Endpoint) -> Arc<Self> {
        Arc::new(Self { endpoint, is_resting: AtomicBool::new(false) })
    }

    /// Whether calls are kept away from it.
    pub(super) fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Relaxed)
    }
}

struct Lane {
    server: Arc<Server>,
    purpose: Purpose,
    idle: Vec<Connection>,
    breaker: Breaker,
    /// Whether its server has left the route: then only its breaker is of use, for who is sent there.
    has_left: bool,
}

/// One lane a server and purpose. Of a server that has left the route no connection is kept, and nothing at
/// all once calls are no longer kept away from it.
#[derive(Default)]
pub(super) struct Lanes(Vec<Lane>);

impl Lanes {
    /// Lets a call through or tells why not, as [`Breaker::admit`].
    pub(super) fn admit(
        &mut self,
        to: (&Endpoint, Purpose),
        now: Instant,
        probe: Duration,
    ) -> Result<(), Fault> {
        if self.find(to).is_none() {
            let (server, breaker) = (Server::new(to.0.clone()), Breaker::default());
            self.0.push(Lane { server, purpose: to.1, idle: Vec::new(), breaker, has_left: false });
        }
        self.find(to).map_or(Ok(()), |lane| lane.breaker.admit(now, probe))
    }

    pub(super) fn take(&mut self, to: (&Endpoint, Purpose)) -> Option<Connection> {
        self.find(to)?.idle.pop()
    }

    /// A call was answered, over a connection that may be used again, or as a sign that none may.
    pub(super) fn succeeded(
        &mut self,
        to: (&Endpoint, Purpose),
        connection: Option<Connection>,
    ) -> Arc<Server> {
        let Some(lane) = self.find(to) else { return Server::new(to.0.clone()) };
        lane.breaker.succeeded(Instant::now());
        lane.note();
        match connection {
            Some(connection) if lane.idle.len() < MOST_IDLE && !lane.has_left => {
                lane.idle.push(connection);
            }
            Some(_) => {}
            None => lane.idle.clear(),
        }
        Arc::clone(&lane.server)
    }

    /// It could not be connected to.
    pub(super) fn failed(&mut self, to: (&Endpoint, Purpose), begun: Instant, fault: &Fault) {
        if let Some(lane) = self.find(to) {
            lane.breaker.failed(begun, Instant::now(), fault);
            lane.note();
        }
    }

    /// A connection got no answer, which tells of the server if it was new.
    pub(super) fn broke(
        &mut self,
        to: (&Endpoint, Purpose),
        begun: Instant,
        fault: &Fault,
        is_of_server: bool,
    ) {
        self.drop_idle(to);
        if is_of_server || self.find(to).is_some_and(|lane| lane.breaker.is_tripped()) {
            self.failed(to, begun, fault);
        }
    }

    /// They are as old as one that failed, and may be as dead: a probe is to meet a new one.
    pub(super) fn drop_idle(&mut self, to: (&Endpoint, Purpose)) {
        if let Some(lane) = self.find(to) {
            lane.idle.clear();
        }
    }

    /// Nothing is asked of other servers any more.
    pub(super) fn leave_others(&mut self, servers: &[Endpoint]) {
        self.abandon_foreign();
        let now = Instant::now();
        for lane in &mut self.0 {
            let stays = servers.contains(&lane.server.endpoint);
            lane.has_left = lane.purpose == Purpose::Counters && !stays;
            if lane.has_left {
                lane.idle.clear();
            }
        }
        self.0.retain(|lane| !lane.has_left || lane.breaker.is_of_late(now));
    }

    pub(super) fn idle(&self) -> usize {
        self.of_counters().map(|lane| lane.idle.len()).sum()
    }

    /// Whether calls are kept away from some server.
    pub(super) fn is_any_resting(&self) -> bool {
        self.of_counters().any(|lane| !lane.has_left && lane.breaker.is_tripped())
    }

    /// Lets go of connections whose descriptors the host has closed, without closing what stands
    /// behind those numbers now.
    pub(super) fn abandon_foreign(&mut self) {
        for lane in &mut self.0 {
            for connection in lane.idle.extract_if(.., |connection| !connection.is_intact()) {
                std::mem::forget(connection);
            }
        }
    }

    /// In a child: the connections are its parent's. They are closed here, and nothing is sent.
    pub(super) fn forget_connections(&mut self) {
        self.abandon_foreign();
        for lane in &mut self.0 {
            lane.idle.clear();
        }
    }

    fn find(&mut self, (endpoint, purpose): (&Endpoint, Purpose)) -> Option<&mut Lane> {
        self.0.iter_mut().find(|lane| lane.purpose == purpose && lane.server.endpoint == *endpoint)
    }

    fn of_counters(&self) -> impl Iterator<Item = &Lane> {
        self.0.iter().filter(|lane| lane.purpose == Purpose::Counters)
    }
}

impl Lane {
    fn note(&self) {
        self.server.is_resting.store(self.breaker.is_tripped(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Duration = Duration::from_millis(200);

    #[test]
    fn a_server_that_left_is_not_told_of() {
        let (stays, leaves) = (Endpoint::Tcp("a".into(), 1), Endpoint::Tcp("b".into(), 1));
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        let fault = Fault::Nowhere("gone");
        for endpoint in [&stays, &leaves] {
            assert!(lanes.admit((endpoint, Purpose::Counters), now, PROBE).is_ok());
        }
        lanes.failed((&leaves, Purpose::Counters), now, &fault);
        assert!(lanes.is_any_resting());
        lanes.leave_others(std::slice::from_ref(&stays));
        assert!(!lanes.is_any_resting());
        // The end of a call that was under way.
        lanes.failed((&leaves, Purpose::Counters), now, &fault);
        assert!(!lanes.is_any_resting());
        // Who is sent there all the same does not wait for it.
        assert!(lanes.admit((&leaves, Purpose::Counters), now, PROBE).is_err());
    }

    #[test]
    fn whoever_was_answered_sees_whether_its_server_rests() {
        let endpoint = Endpoint::Tcp("a".into(), 1);
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        let to = (&endpoint, Purpose::Counters);
        assert!(lanes.admit(to, now, PROBE).is_ok());
        let server = lanes.succeeded(to, None);
        assert!(!server.is_resting());
        lanes.failed(to, Instant::now(), &Fault::Nowhere("gone"));
        assert!(server.is_resting());
        assert!(Arc::ptr_eq(&server, &lanes.succeeded(to, None)) && !server.is_resting());
    }
}
