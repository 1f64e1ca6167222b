//! governor with a key, and what makes it faster or slower than by default.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::job::Job;
use crate::peer::{Answered, Peer, Session};
use crate::versions;

/// `RateLimiter::keyed`.
pub type Keyed = Governor<RandomState, QuantaClock>;
/// As it is without governor's feature `quanta`, and where the processor's counter is unusable.
pub type StdClock = Governor<RandomState, MonotonicClock>;
/// Keys hashed by something cheaper than SipHash.
pub type Foldhash = Governor<foldhash::fast::RandomState, QuantaClock>;

pub type Limiter<S, C> =
    RateLimiter<String, DashMapStateStore<String, S>, C, NoOpMiddleware<<C as Clock>::Instant>>;

pub struct Governor<S: BuildHasher + Clone, C: Clock>(Arc<Limiter<S, C>>);

impl<S, C> Peer for Governor<S, C>
where
    S: BuildHasher + Clone + Default,
    C: Clock + Default,
    Arc<Limiter<S, C>>: Send,
{
    type Key = String;
    type Session = Arc<Limiter<S, C>>;

    fn open(job: &Job) -> Answered<Self> {
        let store = DashMapStateStore::with_hasher(S::default());
        Ok(Self(Arc::new(RateLimiter::new(quota(job)?, store, C::default()))))
    }

    fn key(text: &str) -> Answered<String> {
        Ok(text.to_owned())
    }

    fn version(&self) -> String {
        versions::of_crate("governor")
    }

    fn session(&self) -> Answered<Self::Session> {
        Ok(Arc::clone(&self.0))
    }
}

impl<S, C> Session<String> for Arc<Limiter<S, C>>
where
    S: BuildHasher + Clone,
    C: Clock,
    Arc<Limiter<S, C>>: Send,
{
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        let limiter: &Limiter<S, C> = self;
        Ok(|key: &String| Ok(limiter.check_key(key).is_ok()))
    }

    fn prune(&mut self) -> Answered<u64> {
        let before = self.len();
        self.retain_recent();
        Ok(before.saturating_sub(self.len()) as u64)
    }
}

/// `limit` at once, and then `limit` more spread over each window: GCRA has no windows.
fn quota(job: &Job) -> Answered<Quota> {
    // A burst that nobody uses up is as good as any greater one.
    let burst = u32::try_from(job.limit).unwrap_or(u32::MAX);
    let burst = NonZeroU32::new(burst).ok_or("governor has no limit of 0")?;
    let period = job.window_ms.saturating_mul(1_000_000) / u64::from(burst.get());
    let quota = Quota::with_period(Duration::from_nanos(period.max(1)))
        .ok_or("governor has no window of 0")?;
    Ok(quota.allow_burst(burst))
}
