//! What the limiters of this process that use one address share: connections, and what is known of the
//! servers. They stay after the last limiter, for the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redis::Value;
use rustls::ClientConfig;

use super::address::{Address, Endpoint, Mode};
use super::failure::{Cause, Fault, Refusal, Word};
use super::lane::{Lanes, Purpose, Server};
use super::memory::Memory;
use super::route::{self, Route};
use super::scheme::Scheme;
use super::script::{RuleScripts, Script, Scripts};
use super::wire::Connection;
use super::{slot, tls};
use crate::error::{Error, Result};
use crate::key::SecretCheck;
use crate::os::mutex::Mutex;
use crate::policy::Rule;

/// How often one call follows a cluster's redirections.
const MOST_REDIRECTIONS: u32 = 5;

pub(super) struct Client {
    pub(super) address: Address,
    pub(super) timeouts: Timeouts,
    pub(super) scripts: Scripts,
    tls: Option<Arc<ClientConfig>>,
    /// Nobody waits for a server while holding it, so it is soon free, at a fork too.
    pub(super) state: Arc<Mutex<State>>,
    pub(super) memory: Memory,
    /// How many limiters use it; changed under the registry's lock.
    handles: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Timeouts {
    pub(super) connect: Duration,
    pub(super) command: Duration,
}

pub(super) struct State {
    lanes: Lanes,
    route: Route,
    schemes: Vec<Arc<Scheme>>,
    /// By prefix, the secret under which the server's keys are known to be hashed.
    pub(super) agreed: Vec<(String, SecretCheck)>,
}

impl Client {
    /// Reads the files that the address names.
    pub(super) fn new(address: Address, timeouts: Timeouts) -> Result<Self> {
        let tls = address.tls.as_ref().map(tls::config).transpose()?;
        let state = State {
            lanes: Lanes::default(),
            route: Route::new(&address),
            schemes: Vec::new(),
            agreed: Vec::new(),
        };
        Ok(Self {
            address,
            timeouts,
            scripts: Scripts::new(),
            tls,
            state: Arc::new(Mutex::new(state)),
            memory: Memory::default(),
            handles: AtomicUsize::new(0),
        })
    }

    /// Runs a script on a client's counters; the answer's integers, and who gave it.
    pub(super) fn run(
        &self,
        script: &Script,
        key: &[u8],
        arguments: &[i64],
    ) -> std::result::Result<(Vec<i64>, Arc<Server>), Fault> {
        let (answer, server) = self.try_run(script, key, arguments)?;
        Ok((integers(answer)?, server))
    }

    /// Made when a store is opened: whatever begins lazily can be caught half-begun by a fork.
    pub(super) fn scheme_of(&self, prefix: &str, rule: &Rule) -> Arc<Scheme> {
        let schemes = &mut self.state.lock_unbounded().schemes;
        if let Some(known) = schemes.iter().find(|it| it.is_of(prefix, rule)) {
            return Arc::clone(known);
        }
        let limits = rule.limits().len();
        let scripts = schemes.iter().find(|it| it.has_limits(limits));
        let scripts = scripts
            .map_or_else(|| Arc::new(RuleScripts::new(limits)), |it| Arc::clone(&it.scripts));
        let scheme = Arc::new(Scheme::new(schemes.len(), prefix, rule, scripts));
        schemes.push(Arc::clone(&scheme));
        scheme
    }

    /// The numbers of all under which counters stand in the same places of the server.
    pub(super) fn schemes_beside(&self, scheme: &Scheme) -> Vec<usize> {
        let state = self.state.lock_unbounded();
        let beside = state.schemes.iter().filter(|it| it.is_beside(scheme));
        beside.map(|it| it.number).collect()
    }

    pub(super) fn scheme(&self, number: usize) -> Option<Arc<Scheme>> {
        self.state.lock_unbounded().schemes.get(number).cloned()
    }

    pub(super) fn described(&self, fault: &Fault) -> Error {
        fault.describe(&self.address.shown, self.address.secrets())
    }

    /// At most twice, and only if it cannot have run before; redirections are followed besides.
    fn try_run(
        &self,
        script: &Script,
        key: &[u8],
        arguments: &[i64],
    ) -> std::result::Result<(Value, Arc<Server>), Fault> {
        let slot = slot::of(key);
        let mut server = self.server_of(slot)?;
        let (mut is_asking, mut is_second, mut redirections) = (false, false, 0);
        loop {
            let fault = match self.run_at(&server, is_asking, script, key, arguments) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if let Some(redirected) = self.redirected(&fault, &server)
                && redirections < MOST_REDIRECTIONS
            {
                redirections += 1;
                is_asking = matches!(&fault, Fault::Refused(refusal) if refusal.word == Word::Ask);
                server = redirected;
                continue;
            }
            match self.moved_meanwhile(&fault, &server, slot) {
                Some(other) if !is_second => (server, is_asking, is_second) = (other, false, true),
                _ => return Err(fault),
            }
        }
    }

    fn run_at(
        &self,
        server: &Endpoint,
        is_asking: bool,
        script: &Script,
        key: &[u8],
        arguments: &[i64],
    ) -> std::result::Result<(Value, Arc<Server>), Fault> {
        let timeout = self.timeouts.command;
        self.with(server, Purpose::Counters, |connection| {
            let mut ask = |call: Vec<u8>| {
                if !is_asking {
                    return connection.ask(&call, timeout);
                }
                let asking = redis::cmd("ASKING").get_packed_command();
                connection.ask(&[asking, call].concat(), timeout)?;
                connection.read()
            };
            match ask(script.by_hash(key, arguments))? {
                Value::ServerError(error) if Refusal::of(&error).word == Word::NoScript => {
                    ask(script.by_text(key, arguments))
                }
                answer => Ok(answer),
            }
        })
    }

    /// Asks one command of any server that has counters.
    pub(super) fn ask(&self, command: &redis::Cmd) -> std::result::Result<Value, Fault> {
        let (first, begun) = (self.server_of(0), Instant::now());
        let mut answer = first.and_then(|server| self.ask_at(&server, command));
        for server in self.servers() {
            if answer.is_ok() || begun.elapsed() > self.timeouts.connect + self.timeouts.command {
                break;
            }
            answer = self.ask_at(&server, command).or(answer);
        }
        answer
    }

    fn ask_at(&self, server: &Endpoint, command: &redis::Cmd) -> std::result::Result<Value, Fault> {
        let answer = self.with(server, Purpose::Counters, |connection| {
            connection.ask(&command.get_packed_command(), self.timeouts.command)
        });
        Ok(answer?.0)
    }

    /// Sends calls to a server in one go; the answer to each.
    pub(super) fn run_all(
        &self,
        server: &Endpoint,
        calls: &[Vec<u8>],
    ) -> std::result::Result<Vec<Value>, Fault> {
        let (answers, _) = self.with(server, Purpose::Counters, |connection| {
            let first = connection.ask(&calls.concat(), self.timeouts.command)?;
            let others = calls.iter().skip(1).map(|_| connection.read());
            std::iter::once(Ok(first))
                .chain(others)
                .collect::<std::io::Result<_>>()
                .map(Value::Array)
        })?;
        match answers {
            Value::Array(answers) => Ok(answers),
            _ => Err(Fault::Senseless),
        }
    }

    /// How many connections stand idle.
    pub(super) fn idle(&self) -> usize {
        self.state.lock_unbounded().lanes.idle()
    }

    /// Whether calls are kept away from some server, or from looking for one.
    pub(super) fn is_resting(&self) -> bool {
        let state = self.state.lock_unbounded();
        state.route.breaker.is_tripped() || state.lanes.is_any_resting()
    }

    /// The servers that are known to have counters.
    pub(super) fn servers(&self) -> Vec<Endpoint> {
        self.state.lock_unbounded().route.servers()
    }

    /// Where a cluster sends a call, by its refusal.
    fn redirected(&self, fault: &Fault, asked: &Endpoint) -> Option<Endpoint> {
        let Fault::Refused(refusal) = fault else { return None };
        let is_redirection = matches!(refusal.word, Word::Moved | Word::Ask);
        if !is_redirection || self.address.mode != Mode::Cluster {
            return None;
        }
        if refusal.word == Word::Moved {
            self.state.lock_unbounded().route.is_old();
        }
        route::redirected(refusal.words(), asked)
    }

    /// After a failure: another server that has the slot by now, if the call cannot have run.
    fn moved_meanwhile(&self, fault: &Fault, server: &Endpoint, slot: u16) -> Option<Endpoint> {
        if self.address.mode == Mode::Single {
            // Its name may lead to another server by now, which a new connection finds.
            let is_replica = matches!(fault, Fault::Refused(it) if it.word == Word::ReadOnly);
            return is_replica.then(|| server.clone());
        }
        if !fault.is_of_place() {
            return None;
        }
        {
            let mut state = self.state.lock_unbounded();
            state.route.is_old();
            state.lanes.drop_idle((server, Purpose::Counters));
        }
        if fault.may_have_run() {
            return None;
        }
        self.server_of(slot).ok().filter(|other| other != server)
    }

    /// The server that has a slot; looks for it where that is not known, or no longer true.
    fn server_of(&self, slot: u16) -> std::result::Result<Endpoint, Fault> {
        let (known, now) = {
            let (mut state, now) = (self.state.lock_unbounded(), Instant::now());
            if let Some(server) = state.route.server(slot, now) {
                return Ok(server);
            }
            let known = state.route.known_server(slot);
            if known.is_none() {
                state.route.breaker.admit(now, self.probe())?;
            }
            (known, now)
        };
        let found = self.look_for_servers(now);
        let mut state = self.state.lock_unbounded();
        match (found, known) {
            (Ok(()), _) => {
                state.route.breaker.succeeded(Instant::now());
                let nobody = Fault::Nowhere("no server of the cluster has this part of the keys");
                state.route.known_server(slot).ok_or(nobody)
            }
            // The old one may be back, or never have been away.
            (Err(_), Some(known)) => Ok(known),
            (Err(fault), None) => {
                state.route.breaker.failed(now, Instant::now(), &fault);
                Err(fault)
            }
        }
    }

    /// Asks one after the other of those who should know, and not much longer than a call takes.
    fn look_for_servers(&self, begun: Instant) -> std::result::Result<(), Fault> {
        let mut to_ask = match self.address.mode {
            Mode::Cluster => self.servers(),
            _ => Vec::new(),
        };
        to_ask.extend(self.address.endpoints.iter().cloned());
        let mut last = Fault::Nowhere("nobody was asked");
        for server in to_ask {
            match self.look_at(&server) {
                Ok(()) => return Ok(()),
                Err(fault) => last = fault,
            }
            if begun.elapsed() > self.timeouts.connect + self.timeouts.command {
                break;
            }
        }
        Err(last)
    }

    fn look_at(&self, server: &Endpoint) -> std::result::Result<(), Fault> {
        let timeout = self.timeouts.command;
        let ask = |purpose, command: &mut redis::Cmd| {
            let command = command.get_packed_command();
            let answer =
                self.with(server, purpose, |connection| connection.ask(&command, timeout))?;
            Ok(answer.0)
        };
        match &self.address.mode {
            Mode::Single => {}
            Mode::Cluster => {
                let answer = ask(Purpose::Counters, redis::cmd("CLUSTER").arg("SLOTS"))?;
                let slots = route::slots_of(&answer, server)
                    .ok_or(Fault::Nowhere("a server of the cluster knows of no other"))?;
                let state = &mut *self.state.lock_unbounded();
                state.route.found_slots(slots);
                state.lanes.leave_others(&state.route.servers());
            }
            Mode::Sentinel(name) => {
                let mut command = redis::cmd("SENTINEL");
                command.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
                let answer = ask(Purpose::Masters, &mut command)?;
                let master = route::master_of(&answer)
                    .ok_or(Fault::Nowhere("a sentinel knows no master of that name"))?;
                let state = &mut *self.state.lock_unbounded();
                state.lanes.leave_others(std::slice::from_ref(&master));
                state.route.found_master(master);
            }
        }
        Ok(())
    }

    /// Runs one exchange on a connection to a server.
    fn with(
        &self,
        server: &Endpoint,
        purpose: Purpose,
        exchange: impl FnOnce(&mut Connection) -> std::io::Result<Value>,
    ) -> std::result::Result<(Value, Arc<Server>), Fault> {
        let begun = Instant::now();
        let (mut connection, is_new) = self.take(server, purpose)?;
        let answer = match exchange(&mut connection) {
            Ok(answer) => answer,
            Err(error) => {
                let cause = Cause::from(error);
                // That an old one was closed tells nothing: the next call will see whether it can connect.
                let is_of_server = is_new || cause.is_timeout();
                let fault = Fault::NoAnswer(cause);
                let lanes = &mut self.state.lock_unbounded().lanes;
                lanes.broke((server, purpose), begun, &fault, is_of_server);
                return Err(fault);
            }
        };
        let refusal = match &answer {
            Value::ServerError(error) => Some(Refusal::of(error)),
            _ => None,
        };
        let is_good = !refusal.as_ref().is_some_and(Refusal::is_of_connection);
        let connection = is_good.then_some(connection);
        let server = self.state.lock_unbounded().lanes.succeeded((server, purpose), connection);
        refusal.map_or(Ok((answer, server)), |refusal| Err(Fault::Refused(refusal)))
    }

    /// An idle connection that is still good, else a new one, and which of both it is.
    fn take(
        &self,
        server: &Endpoint,
        purpose: Purpose,
    ) -> std::result::Result<(Connection, bool), Fault> {
        let mut is_admitted = false;
        loop {
            let idle = {
                let lanes = &mut self.state.lock_unbounded().lanes;
                if !is_admitted {
                    lanes.admit((server, purpose), Instant::now(), self.probe())?;
                    is_admitted = true;
                }
                lanes.take((server, purpose))
            };
            match idle {
                // Seen before anything is sent: afterwards nobody could say whether it ran.
                Some(connection) if connection.is_quiet() => return Ok((connection, false)),
                Some(_) => {}
                None => break,
            }
        }
        let begun = Instant::now();
        let connection = self.connect(server, purpose);
        let connection = connection.inspect_err(|fault| {
            self.state.lock_unbounded().lanes.failed((server, purpose), begun, fault);
        })?;
        Ok((connection, true))
    }

    fn connect(
        &self,
        server: &Endpoint,
        purpose: Purpose,
    ) -> std::result::Result<Connection, Fault> {
        let login = match purpose {
            Purpose::Counters => &self.address.login,
            Purpose::Masters => &self.address.sentinel_login,
        };
        let mut connection =
            Connection::open(server, login, self.tls.as_ref(), self.timeouts.connect)?;
        if purpose == Purpose::Counters && matches!(self.address.mode, Mode::Sentinel(_)) {
            // A master of before answers questions long after it is none.
            let role = redis::cmd("ROLE").get_packed_command();
            let role = connection
                .ask(&role, self.timeouts.command)
                .map_err(|error| Fault::NotReached(error.into()))?;
            if is_replica(&role) {
                return Err(Fault::Nowhere("the sentinels name a master that is none"));
            }
        }
        Ok(connection)
    }

    /// The longest that a probe takes.
    fn probe(&self) -> Duration {
        self.timeouts.connect + 2 * self.timeouts.command
    }

    pub(super) fn add_handle(&self) -> usize {
        self.handles.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(super) fn remove_handle(&self) -> usize {
        self.handles.fetch_sub(1, Ordering::AcqRel) - 1
    }

    /// Lets go of connections whose descriptors the host has closed, without closing what stands
    /// behind those numbers now.
    pub(super) fn abandon_foreign(&self) {
        self.state.lock_unbounded().lanes.abandon_foreign();
    }
}

impl State {
    /// In a child: the connections are its parent's. They are closed here, and nothing is sent.
    pub(super) fn forget_connections(&mut self) {
        self.lanes.forget_connections();
    }
}

pub(super) fn integers(answer: Value) -> std::result::Result<Vec<i64>, Fault> {
    let of = |value| match value {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let numbers = match answer {
        Value::ServerError(error) => return Err(Fault::Refused(Refusal::of(&error))),
        Value::Array(values) => values.into_iter().map(of).collect(),
        single => of(single).map(|number| vec![number]),
    };
    numbers.ok_or(Fault::Senseless)
}

fn is_replica(role: &Value) -> bool {
    let Value::Array(words) = role else { return false };
    matches!(words.first(), Some(Value::BulkString(role)) if role != b"master")
}
