//! Keeps calls from a server that has just failed: they fail at once, by the same cause, and one at
//! a time finds out whether it is back.

use std::time::{Duration, Instant};

use super::failure::Fault;

/// The first pause after a failure. It doubles with each further one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Breaker {
    tripped: Option<Tripped>,
    /// When a call was last answered.
    answered: Option<Instant>,
}

struct Tripped {
    fault: Fault,
    /// How many were let through in vain.
    probes: u32,
    until: Instant,
}

impl Breaker {
    /// Lets a call through or tells why not. Whoever comes first after a pause is let through as a
    /// probe; the others wait until it has told, or for `probe` at most: it may have been lost in a
    /// fork.
    pub(super) fn admit(&mut self, now: Instant, probe: Duration) -> Result<(), Fault> {
        let Some(tripped) = &mut self.tripped else { return Ok(()) };
        if now < tripped.until {
            return Err(Fault::Resting(Box::new(tripped.fault.clone())));
        }
        tripped.probes += 1;
        tripped.until = now + probe;
        Ok(())
    }

    pub(super) fn succeeded(&mut self, now: Instant) {
        self.tripped = None;
        self.answered = Some(now);
    }

    /// Calls that were under way together and fail together are one failure. One that began before
    /// another was answered is its own affair: the server is there.
    pub(super) fn failed(&mut self, begun: Instant, now: Instant, fault: &Fault) {
        if self.answered.is_some_and(|answered| answered > begun) {
            return;
        }
        let probes = self.tripped.as_ref().map_or(0, |tripped| tripped.probes);
        let pause = SHORTEST_PAUSE.saturating_mul(1 << probes.min(8)).min(LONGEST_PAUSE);
        self.tripped = Some(Tripped { fault: fault.clone(), probes, until: now + pause });
    }

    /// Whether calls are kept away, or were until a moment ago.
    pub(super) fn is_of_late(&self, now: Instant) -> bool {
        self.tripped.as_ref().is_some_and(|tripped| now < tripped.until + LONGEST_PAUSE)
    }

    /// Whether calls are kept away.
    pub(super) fn is_tripped(&self) -> bool {
        self.tripped.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const PROBE: Duration = Duration::from_millis(200);

    fn fault() -> Fault {
        Fault::NotReached(io::Error::from(io::ErrorKind::ConnectionRefused).into())
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn after_a_failure_one_call_at_a_time_is_let_through() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        assert!(breaker.admit(start, PROBE).is_ok());
        breaker.failed(start, start, &fault());
        breaker.failed(start, start, &fault());
        let refused = breaker.admit(start + ms(99), PROBE).unwrap_err();
        assert!(matches!(refused, Fault::Resting(_)));
        assert!(breaker.admit(start + ms(100), PROBE).is_ok());
        assert!(breaker.admit(start + ms(101), PROBE).is_err());
        breaker.succeeded(start + ms(102));
        assert!(breaker.admit(start + ms(102), PROBE).is_ok());
        assert!(!breaker.is_tripped());
    }

    #[test]
    fn a_call_that_fails_while_others_are_answered_keeps_nobody_away() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        breaker.succeeded(start + ms(50));
        breaker.failed(start, start + ms(100), &fault());
        assert!(!breaker.is_tripped());
        breaker.failed(start + ms(60), start + ms(160), &fault());
        assert!(breaker.is_tripped());
    }

    #[test]
    fn a_probe_that_never_tells_is_followed_by_another() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        breaker.failed(start, start, &fault());
        assert!(breaker.admit(start + ms(100), PROBE).is_ok());
        assert!(breaker.admit(start + ms(299), PROBE).is_err());
        assert!(breaker.admit(start + ms(300), PROBE).is_ok());
    }

    #[test]
    fn pauses_double_up_to_a_second() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        breaker.failed(now, now, &fault());
        for pause in [100, 200, 400, 800, 1_000, 1_000] {
            assert!(breaker.admit(now + ms(pause - 1), PROBE).is_err(), "{pause}");
            now += ms(pause);
            assert!(breaker.admit(now, PROBE).is_ok(), "{pause}");
            breaker.failed(now, now, &fault());
        }
    }
}
