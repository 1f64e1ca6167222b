//! The safe API: a policy applied to a store.

use std::sync::Arc;

use crate::clock::When;
use crate::error::{Code, Error, Result};
use crate::headers::{self, Style};
use crate::judge::Question;
use crate::key::{Secret, StoredKey};
use crate::options::{Insurance, Options, Share};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::problem;
use crate::store::{self, AnyStore, Info, Store};
use crate::units::Cost;
use crate::window::Time;

/// Counts and judges hits by a policy, in a store that other processes share.
///
/// Any thread may use it. Its methods take the name of a rule, or `None` for the only rule of a
/// policy that has one; and a time in milliseconds since the Unix epoch (1970 to 9998), or `None`
/// for the system clock, which is then read under the lock that orders the hits; of a store on a server
/// for the server's.
pub struct Limiter {
    policy: Arc<Policy>,
    store: AnyStore,
    secret: Option<Secret>,
    /// By which the insurance judges, where there is one.
    insured: Option<Arc<Policy>>,
}

impl Limiter {
    /// Opens a store and applies a policy to it.
    ///
    /// `store` is the path of a file, created if it is not there; `:memory:` for counters of this
    /// limiter alone; or the address of a server, such as `redis://host:6379/0`, which is not asked
    /// yet. `policy` is text such as `login: POST /login 3/10s; api: * 10/10s`.
    ///
    /// # Errors
    ///
    /// [`Code::Policy`] names line, column and what was expected; [`Code::NotStore`]: what stands
    /// at the path is not ours, and was left as it was; [`Code::Invalid`], [`Code::Permission`],
    /// [`Code::Full`], [`Code::Io`], [`Code::Busy`], [`Code::DescriptorsExhausted`].
    pub fn open(store: &str, policy: &str, options: &Options) -> Result<Self> {
        Self::open_bytes(store.as_bytes(), policy.as_bytes(), options)
    }

    /// As [`Limiter::open`], for a path and a policy that need not be UTF-8.
    pub(crate) fn open_bytes(store: &[u8], policy: &[u8], options: &Options) -> Result<Self> {
        options.check()?;
        let policy = Arc::new(Policy::parse(policy)?);
        let secret = options.key_secret.as_deref().map(Secret::new).transpose()?;
        let check = secret.as_ref().map(Secret::check);
        let insured = options.insurance.as_ref().map(|insurance| insured(insurance, &policy));
        let insured = insured.transpose()?;
        let policies = (Arc::clone(&policy), insured.clone());
        let store = store::open(store, policies, options, check)?;
        Ok(Self { policy, store, secret, insured })
    }

    /// Counts an attempt of `cost` units (0 to 2^53 - 1) and says whether it is allowed: when it
    /// fits all limits of the rule, it is spent in all of them, else in none. A cost of 0 counts
    /// nothing and answers like [`Limiter::status`].
    ///
    /// # Errors
    ///
    /// [`Code::NoRule`], [`Code::Invalid`] (empty key, cost, time), and those of the store:
    /// [`Code::Busy`], [`Code::Full`], [`Code::Io`], [`Code::Permission`], [`Code::Corrupt`],
    /// [`Code::NotStore`], [`Code::Fork`]; of a server also [`Code::Unavailable`], after which it may
    /// have been counted, if the answer was lost. After any other error nothing was.
    #[inline(always)] // into `rl_hit`, the hot path of every language
    pub fn hit(
        &self,
        rule: Option<&str>,
        key: &[u8],
        cost: i64,
        now_ms: Option<i64>,
    ) -> Result<Outcome> {
        self.ask(rule, key, Question::Hit(Cost::new(cost)?), now_ms)
    }

    /// Says what a hit of cost 1 would meet, and changes nothing. Errors as [`Limiter::hit`].
    #[inline(never)]
    pub fn status(&self, rule: Option<&str>, key: &[u8], now_ms: Option<i64>) -> Result<Outcome> {
        self.ask(rule, key, Question::Status, now_ms)
    }

    /// Gives units back in the current windows of the rule, down to nothing spent; the attempts
    /// stay counted. Answers like [`Limiter::status`]. Errors as [`Limiter::hit`].
    #[inline(never)]
    pub fn refund(
        &self,
        rule: Option<&str>,
        key: &[u8],
        cost: i64,
        now_ms: Option<i64>,
    ) -> Result<Outcome> {
        self.ask(rule, key, Question::Refund(Cost::new(cost)?), now_ms)
    }

    #[inline(always)]
    fn ask(
        &self,
        rule: Option<&str>,
        key: &[u8],
        question: Question,
        now_ms: Option<i64>,
    ) -> Result<Outcome> {
        let mut answer = Outcome::NONE;
        let rule = self.rule(rule)?;
        let mut stored = StoredKey::EMPTY;
        stored.set(key, self.secret.as_ref())?;
        self.store.ask(rule, &stored, question, when(now_ms)?, &mut answer)?;
        Ok(answer)
    }

    /// Forgets a key in one rule, or with `None` in every rule of this policy. Returns how many
    /// counters went. Errors as [`Limiter::hit`].
    pub fn reset(&self, rule: Option<&str>, key: &[u8]) -> Result<u64> {
        let mut stored = StoredKey::EMPTY;
        stored.set(key, self.secret.as_ref())?;
        let rules: Vec<usize> = match rule {
            Some(_) => vec![self.rule(rule)?],
            None => (0..self.policy.rules().len()).collect(),
        };
        self.store.reset(&rules, &stored)
    }

    /// Removes the counters whose window is older than the current and the previous one of their
    /// own length, of every rule on the store; returns how many. Audit rows past their retention
    /// go too, uncounted. Works in slices, between which hits go on; each may wait for its turn as
    /// long as a hit may. Errors as [`Limiter::hit`].
    pub fn prune(&self, now_ms: Option<i64>) -> Result<u64> {
        self.store.prune(when(now_ms)?)
    }

    /// The name of the first rule that fits a request; `None`: no rule does, so nothing is to be
    /// charged. Query and fragment of `target` do not count.
    pub fn route(&self, method: &[u8], target: &[u8]) -> Option<&str> {
        self.policy.route(method, target).map(|index| self.policy.rules()[index].name())
    }

    /// The response headers for an outcome of this limiter, each line ended by CRLF.
    ///
    /// # Errors
    ///
    /// [`Code::Invalid`]: the outcome is not one of this limiter's.
    pub fn headers(&self, outcome: &Outcome, style: Style) -> Result<String> {
        headers::headers(self.policy_of(outcome)?, outcome, style)
    }

    /// The JSON body of a refusal by RFC 9457 (`application/problem+json`).
    ///
    /// # Errors
    ///
    /// [`Code::Invalid`]: the outcome is not one of this limiter's.
    pub fn problem(&self, outcome: &Outcome) -> Result<String> {
        problem::problem(self.policy_of(outcome)?, outcome)
    }

    /// What is in force, as JSON: versions, durability, the kind of locks, sizes.
    /// Errors as [`Limiter::hit`].
    pub fn info(&self) -> Result<String> {
        #[derive(serde::Serialize)]
        struct Report {
            version: &'static str,
            abi: i32,
            #[serde(flatten)]
            store: Info,
        }
        let report =
            Report { version: crate::VERSION, abi: crate::ABI_VERSION, store: self.store.info()? };
        serde_json::to_string(&report)
            .map_err(|error| Error::new(Code::Internal, format!("cannot write JSON: {error}")))
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The policy that an outcome came of.
    fn policy_of(&self, outcome: &Outcome) -> Result<&Policy> {
        if !outcome.insured {
            return Ok(&self.policy);
        }
        let message = "the result is of an insurance, and this limiter has none: pass the result of a \
                       successful call on the same limiter";
        self.insured.as_deref().ok_or_else(|| Error::invalid(message))
    }

    #[inline]
    fn rule(&self, name: Option<&str>) -> Result<usize> {
        match name {
            Some(name) => self.policy.rule_index(name).ok_or_else(|| {
                let shown: String = name.chars().take(64).collect();
                Error::new(Code::NoRule, format!("the policy has no rule {shown:?}"))
            }),
            // Never the first of several: an unmatched route must not be charged to it.
            None => self.policy.sole_rule().ok_or_else(|| {
                let message = "the policy has several rules: name one";
                Error::new(Code::NoRule, message)
            }),
        }
    }
}

/// The policy of an insurance.
fn insured(insurance: &Insurance, policy: &Policy) -> Result<Arc<Policy>> {
    let insured = match &insurance.grants {
        Share::Percent(percent) => policy.scaled(*percent),
        Share::Policy(text) => Policy::parse(text.as_bytes())?,
    };
    if !insured.has_names_of(policy) {
        let message = "insurance_policy must have the rules of the policy, by the same names and in the \
                       same order";
        return Err(Error::new(Code::Policy, message));
    }
    Ok(Arc::new(insured))
}

#[inline]
fn when(now_ms: Option<i64>) -> Result<When> {
    Ok(match now_ms {
        None => When::Now,
        Some(millis) => When::At(Time::from_millis(millis)?),
    })
}
