//! The loop: one for all peers.

use std::hint::black_box;
use std::time::Duration;

use crate::clock::{now_ns, wait_until};
use crate::job::Manner;
use crate::latency::Latency;
use crate::peer::Answered;
use crate::tally::Tally;

/// Hits of up to this length are too short for a reading of the clock at each.
const SHORT_NS: u64 = 10_000;
const BATCH: u64 = 64;

const IDLE_NS: u64 = 100_000_000;

/// How long to hit: whichever is over first.
#[derive(Clone, Copy)]
pub struct Span {
    pub ns: u64,
    pub count: u64,
}

/// Keys in the order in which they are hit, again and again.
pub struct Round<'k, K> {
    keys: &'k [K],
    next: usize,
}

impl<'k, K> Round<'k, K> {
    /// `keys` has at least one.
    pub fn new(keys: &'k [K], start: usize) -> Self {
        Self { keys, next: start }
    }

    #[inline]
    fn key(&mut self) -> &'k K {
        let key = &self.keys[self.next];
        self.next += 1;
        if self.next == self.keys.len() {
            self.next = 0;
        }
        key
    }
}

pub fn hit<K>(
    span: Span,
    manner: Manner,
    round: &mut Round<'_, K>,
    hit: impl FnMut(&K) -> Answered<bool>,
) -> Tally {
    wait_until(manner.at_ns);
    // Whoever gets a processor late has begun all the same, as between two hits.
    let begin = if manner.at_ns == 0 { now_ns() } else { manner.at_ns };
    let mut tally = Tally::new(begin);
    // A copy: those of the threads are neighbours, which would fight for the line of the cache.
    let mut own = Round { keys: round.keys, next: round.next };
    let think = Duration::from_micros(manner.think_us);
    if manner.every == 0 {
        untimed(span, think, &mut own, hit, &mut tally);
    } else {
        timed(span, manner.every, think, &mut own, hit, &mut tally);
    }
    round.next = own.next;
    tally.end_ns = now_ns();
    tally
}

/// What the loop itself costs a hit.
pub fn idle_ns<K>(keys: &[K], manner: Manner) -> f64 {
    let span = Span { ns: IDLE_NS, count: u64::MAX };
    let tally = hit(span, manner, &mut Round::new(keys, 0), |key| {
        black_box(key);
        Ok(black_box(true))
    });
    (tally.end_ns - tally.begin_ns) as f64 / tally.hits as f64
}

/// Times one hit of `every` by itself, failed ones too: somebody waited for them.
fn timed<K>(
    span: Span,
    every: u64,
    think: Duration,
    round: &mut Round<'_, K>,
    mut hit: impl FnMut(&K) -> Answered<bool>,
    tally: &mut Tally,
) {
    let end = tally.begin_ns.saturating_add(span.ns);
    let mut latency = Latency::new();
    let mut left = span.count;
    while left > 0 {
        let between = every.min(left) - 1;
        for _ in 0..between {
            tally.count(hit(round.key()));
            pause(think);
        }
        left -= between + 1;
        let key = round.key();
        let before = now_ns();
        let answer = hit(key);
        let after = now_ns();
        latency.add(after - before);
        tally.count(answer);
        if after >= end {
            break;
        }
        pause(think);
    }
    tally.latency = Some(latency);
}

/// Times the whole only.
fn untimed<K>(
    span: Span,
    think: Duration,
    round: &mut Round<'_, K>,
    mut hit: impl FnMut(&K) -> Answered<bool>,
    tally: &mut Tally,
) {
    let end = tally.begin_ns.saturating_add(span.ns);
    let (mut batch, mut until_reading, mut read) = (1, 1, tally.begin_ns);
    for _ in 0..span.count {
        tally.count(hit(round.key()));
        until_reading -= 1;
        if until_reading == 0 {
            let now = now_ns();
            if now >= end {
                break;
            }
            batch = if now - read > batch * SHORT_NS { 1 } else { BATCH };
            (until_reading, read) = (batch, now);
        }
        pause(think);
    }
}

#[inline]
fn pause(think: Duration) {
    if !think.is_zero() {
        std::thread::sleep(think);
    }
}
