//! A store on a server: Redis or Valkey, one, a cluster, or one that sentinels watch.
//!
//! * Each call is one script on one key, so it is one atomic step, and in a cluster concerns one server.
//!   The key holds all counters of one client under one rule: of each limit the current window and the
//!   one before it, as fields of a hash. So what [`Store::reset`] forgets is what stands there, of
//!   whatever policy, and nobody ever has to search.
//! * The script decides who is admitted, and answers with the counters as they were before; [`judge`](crate::judge::judge)
//!   makes the outcome of them, as for every other store.
//! * The server's clock decides, unless the caller gives the time.

mod address;
mod ask;
mod breaker;
mod client;
mod denied;
mod failure;
mod info;
mod lane;
mod memory;
mod registry;
mod route;
mod scheme;
mod script;
mod slot;
mod tell;
mod tls;
mod wire;

use std::sync::Arc;

use self::address::Address;
use self::client::{Client, Timeouts};
use self::scheme::Scheme;
use super::{Info, Store};
use crate::clock::When;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::judge::Question;
use crate::key::{SecretCheck, StoredKey};
use crate::options::{Durability, MAX_BUSY_TIMEOUT, Options};
use crate::os::call::Call;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::switches;

pub(in crate::store) use self::address::is_meant;
pub(crate) use self::info::RedisInfo;

/// Of a rule: a script has 200 variables at most, six of them for each limit.
const MOST_LIMITS: usize = 24;

/// One limiter's use of a server.
pub(crate) struct RedisStore {
    client: Arc<Client>,
    /// What every key begins with.
    prefix: String,
    policy: Arc<Policy>,
    /// Of each rule.
    schemes: Vec<Arc<Scheme>>,
    options: Options,
    secret_check: Option<SecretCheck>,
}

impl RedisStore {
    /// Nothing is sent yet: a host must be able to start while its server is away.
    pub(super) fn open(
        name: &[u8],
        policy: Arc<Policy>,
        options: &Options,
        secret_check: Option<SecretCheck>,
    ) -> Result<Self> {
        let (address, prefix) = Address::parse(name)?;
        if policy.rules().iter().any(|rule| rule.limits().len() > MOST_LIMITS) {
            return Err(Error::invalid(format!(
                "a rule of a store on a server has {MOST_LIMITS} limits at most"
            )));
        }
        refuse_options_of_files(options)?;
        let timeouts =
            Timeouts { connect: options.connect_timeout, command: options.command_timeout };
        let client = registry::acquire(address, timeouts)?;
        let _call = enter()?;
        let schemes = policy.rules().iter().map(|rule| client.scheme_of(&prefix, rule)).collect();
        Ok(Self { client, prefix, policy, schemes, options: options.clone(), secret_check })
    }

    /// Makes sure, once a process, that all who hash keys on the server do so under one secret. Those who
    /// hash none are not asked, so that they pay nothing for it.
    fn agree_on_secret(&self) -> Result<()> {
        let Some(check) = self.secret_check else { return Ok(()) };
        let own = (self.prefix.clone(), check);
        if self.client.state.lock_unbounded().agreed.contains(&own) {
            return Ok(());
        }
        let half =
            |at: usize| check[at..].first_chunk().map_or(0, |half| i64::from_le_bytes(*half));
        let key = format!("{}:key_secret", self.prefix);
        let script = &self.client.scripts.secret;
        let answer = self.client.run(script, key.as_bytes(), &[half(0), half(8)]);
        let (answer, _) = answer.map_err(|fault| self.client.described(&fault))?;
        if answer != [1] {
            return Err(Error::invalid(format!(
                "store {}: its keys are hashed under another key_secret; give that, or another prefix",
                self.client.address.shown
            )));
        }
        self.client.state.lock_unbounded().agreed.push(own);
        Ok(())
    }
}

/// Options that promise what a server does not hold.
fn refuse_options_of_files(options: &Options) -> Result<()> {
    let refused = if options.audit {
        "audit keeps rows in a file: it is not for stores on a server"
    } else if options.durability == Durability::Hit && !switches::DURABLE_HIT.is_on() {
        "durability \"hit\" is not for stores on a server: its own appendfsync decides what a crash \
         takes"
    } else {
        return Ok(());
    };
    Err(Error::invalid(refused))
}

impl Store for RedisStore {
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        let asked = self.asked(rule, key, question, when);
        if let Question::Hit(cost) = question
            && cost.get() > 0
            && let Some(denial) = self.glance(&asked, cost)
        {
            *answer = denial;
            return Ok(());
        }
        let _call = enter()?;
        self.agree_on_secret()?;
        *answer = match question {
            Question::Hit(cost) if cost.get() > 0 => self.hit(&asked, cost)?,
            Question::Refund(cost) if cost.get() > 0 => self.refund(&asked, cost.get())?,
            _ => self.status(&asked)?,
        };
        Ok(())
    }

    /// One atomic step a rule.
    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64> {
        let _call = enter()?;
        self.agree_on_secret()?;
        let mut removed = 0;
        for &index in rules {
            let scheme = &self.schemes[index];
            let answer = self.client.run(&self.client.scripts.reset, &scheme.key(key), &[]);
            // Also if the answer was lost.
            let ids = self.ids_beside(scheme, key);
            self.client
                .memory
                .give_back(scheme.place(key), |denied| ids.iter().for_each(|id| denied.forget(id)));
            let (counters, _) = answer.map_err(|fault| self.client.described(&fault))?;
            removed += counters.first().map_or(0, |&counters| counters.max(0).unsigned_abs());
        }
        Ok(removed)
    }

    /// The server removes what has expired by itself.
    fn prune(&self, when: When) -> Result<u64> {
        when.resolve().map(|_| 0)
    }

    fn info(&self) -> Result<Info> {
        let _call = enter()?;
        Ok(Info::Redis(info::of(self)))
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        if self.options.remember_denied
            && let Ok(_call) = enter()
        {
            self.tell_of_all();
        }
        registry::release(&self.client, self.options.keep_open);
    }
}

fn enter() -> Result<Call> {
    Call::enter(&Deadline::after(MAX_BUSY_TIMEOUT))
}
