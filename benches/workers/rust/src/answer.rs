//! The line that answers a command.

use serde::Serialize;

use crate::tally::Tally;

#[derive(Serialize)]
#[serde(untagged)]
pub enum Answer {
    Work(Work),
    About { version: String, clock_ns: f64, loop_ns: f64 },
}

#[derive(Serialize)]
pub struct Work {
    hits: u64,
    allowed: u64,
    errors: u64,
    seconds: f64,
    error: Option<String>,
    rss_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<Vec<(usize, u64)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hits_each: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seconds_each: Vec<f64>,
}

impl Answer {
    /// Of one thread, or of several that hit at the same time.
    pub fn hits(first: Tally, others: Vec<Tally>) -> Self {
        let (mut hits_each, mut seconds_each) = (Vec::new(), Vec::new());
        if !others.is_empty() {
            for tally in std::iter::once(&first).chain(&others) {
                hits_each.push(tally.hits);
                seconds_each.push(tally.seconds());
            }
        }
        let work = Work::of(others.into_iter().fold(first, Tally::merge));
        Self::Work(Work { hits_each, seconds_each, ..work })
    }

    pub fn prune(tally: Tally, removed: u64) -> Self {
        Self::Work(Work { removed: Some(removed), ..Work::of(tally) })
    }
}

impl Work {
    fn of(tally: Tally) -> Self {
        Self {
            hits: tally.hits,
            allowed: tally.allowed,
            errors: tally.errors,
            seconds: tally.seconds(),
            error: tally.error,
            rss_bytes: rss_bytes(),
            max_ns: tally.latency.as_ref().map(|latency| latency.max_ns),
            latency: tally.latency.map(|latency| latency.buckets()),
            removed: None,
            hits_each: Vec::new(),
            seconds_each: Vec::new(),
        }
    }
}

/// 0 if the system does not say.
fn rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = rss.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
