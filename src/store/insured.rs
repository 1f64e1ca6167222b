//! A store that others share, and one of this machine that takes over while that is away.
//!
//! Each call asks the shared store first: whether it is away is its own affair, and while it is, it says so
//! at once. So it is handed back to by the first call that it answers.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use serde_json::Value;

use super::{Info, Store};
use crate::clock::{self, When};
use crate::error::{Code, Error, Result};
use crate::judge::Question;
use crate::key::StoredKey;
use crate::os::mutex::Mutex;
use crate::outcome::Outcome;

pub(crate) struct Insured<S, L> {
    shared: S,
    local: L,
    /// Who answered last.
    is_local: AtomicBool,
    /// How often that changed, and when it did last, in wall-clock milliseconds; 0: never.
    switches: AtomicU64,
    switched_ms: AtomicI64,
    /// Why the local one took over; only ever tried, so that nobody waits for one who is gone by a fork.
    failure: Mutex<Option<String>>,
}

/// What both tell, and who answers.
#[derive(Debug, serde::Serialize)]
pub(crate) struct InsuredInfo {
    #[serde(flatten)]
    shared: Value,
    insurance: InsuranceInfo,
}

#[derive(Debug, serde::Serialize)]
struct InsuranceInfo {
    /// Whether it answered the last call.
    active: bool,
    switches: u64,
    /// When that last changed; null: never.
    switched_ms: Option<i64>,
    /// Why it took over; null while it does not answer.
    cause: Option<String>,
    /// The store that takes over; null if it does not tell.
    local: Option<Value>,
}

impl<S: Store, L: Store> Insured<S, L> {
    pub(super) fn new(shared: S, local: L) -> Self {
        Self {
            shared,
            local,
            is_local: AtomicBool::new(false),
            switches: AtomicU64::new(0),
            switched_ms: AtomicI64::new(0),
            failure: Mutex::new(None),
        }
    }

    fn is_local_now(&self, failure: Option<&Error>) {
        let is_local = failure.is_some();
        if self.is_local.load(Ordering::Relaxed) == is_local
            || self.is_local.swap(is_local, Ordering::Relaxed) == is_local
        {
            return;
        }
        self.switches.fetch_add(1, Ordering::Relaxed);
        self.switched_ms.store(clock::wall_ms(), Ordering::Relaxed);
        if let Some(mut known) = self.failure.try_lock() {
            *known = failure.map(ToString::to_string);
        }
    }

    /// Runs a call where it can be answered; the failure of both is one of the shared store.
    fn insured<T>(
        &self,
        shared: impl FnOnce(&S) -> Result<T>,
        local: impl FnOnce(&L) -> Result<T>,
    ) -> Result<T> {
        let failure = match shared(&self.shared) {
            Err(failure) if is_away(&failure) => failure,
            answered => {
                self.is_local_now(None);
                return answered;
            }
        };
        self.is_local_now(Some(&failure));
        local(&self.local).map_err(|local| {
            let message = format!("{failure}; and its insurance failed too: {local}");
            Error::new(failure.code(), message)
        })
    }
}

/// Whether the shared store cannot answer anybody, for a cause that is not the caller's.
fn is_away(failure: &Error) -> bool {
    matches!(
        failure.code(),
        Code::Unavailable | Code::Full | Code::Permission | Code::DescriptorsExhausted
    )
}

/// As it is told: the type of what holds an [`Info`] in its turn would have no end.
fn told(info: &Info) -> Result<Value> {
    serde_json::to_value(info)
        .map_err(|error| Error::new(Code::Internal, format!("cannot write JSON: {error}")))
}

impl<S: Store, L: Store> Store for Insured<S, L> {
    fn ask(
        &self,
        rule: usize,
        key: &StoredKey,
        question: Question,
        when: When,
        answer: &mut Outcome,
    ) -> Result<()> {
        *answer = self.insured(
            |shared| {
                let mut answer = Outcome::NONE;
                shared.ask(rule, key, question, when, &mut answer).map(|()| answer)
            },
            |local| {
                let mut answer = Outcome::NONE;
                local.ask(rule, key, question, when, &mut answer)?;
                Ok(Outcome { insured: true, ..answer })
            },
        )?;
        Ok(())
    }

    /// In both: who is forgotten must not be denied by the one that answers next.
    fn reset(&self, rules: &[usize], key: &StoredKey) -> Result<u64> {
        let (local, shared) = (self.local.reset(rules, key), self.shared.reset(rules, key));
        Ok(shared? + local?)
    }

    /// Of the local store: what is shared is removed by itself, or by those who use it as theirs.
    fn prune(&self, when: When) -> Result<u64> {
        self.local.prune(when)
    }

    fn info(&self) -> Result<Info> {
        let switched_ms = self.switched_ms.load(Ordering::Relaxed);
        Ok(Info::Insured(InsuredInfo {
            shared: told(&self.shared.info()?)?,
            insurance: InsuranceInfo {
                active: self.is_local.load(Ordering::Relaxed),
                switches: self.switches.load(Ordering::Relaxed),
                switched_ms: (switched_ms != 0).then_some(switched_ms),
                cause: self.failure.try_lock().and_then(|failure| failure.clone()),
                local: self.local.info().and_then(|info| told(&info)).ok(),
            },
        }))
    }
}
