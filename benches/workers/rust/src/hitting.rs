//! The loop: one for all peers.

use std::time::Duration;

use crate::clock::now_ns;
use crate::job::Manner;
use crate::latency::Latency;
use crate::peer::Answered;
use crate::tally::Tally;

/// Hits of up to this length are too short for a reading of the clock at each.
const SHORT_NS: u64 = 10_000;
const BATCH: u64 = 64;

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
    let think = Duration::from_micros(manner.think_us);
    let mut tally =
        if manner.each { each(span, think, round, hit) } else { whole(span, think, round, hit) };
    tally.end_ns = now_ns();
    tally
}

/// Times every hit by itself, failed ones too: somebody waited for them.
fn each<K>(
    span: Span,
    think: Duration,
    round: &mut Round<'_, K>,
    mut hit: impl FnMut(&K) -> Answered<bool>,
) -> Tally {
    let mut latency = Latency::new();
    let begin = now_ns();
    let end = begin.saturating_add(span.ns);
    let mut tally = Tally::new(begin, None);
    for _ in 0..span.count {
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
    tally
}

/// Times the whole only.
fn whole<K>(
    span: Span,
    think: Duration,
    round: &mut Round<'_, K>,
    mut hit: impl FnMut(&K) -> Answered<bool>,
) -> Tally {
    let begin = now_ns();
    let end = begin.saturating_add(span.ns);
    let mut tally = Tally::new(begin, None);
    let (mut batch, mut until_reading, mut read) = (1, 1, begin);
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
    tally
}

#[inline]
fn pause(think: Duration) {
    if !think.is_zero() {
        std::thread::sleep(think);
    }
}
