//! What came of a number of hits.

use crate::latency::Latency;

pub struct Tally {
    /// All that were tried.
    pub hits: u64,
    pub allowed: u64,
    pub errors: u64,
    /// The first error's text.
    pub error: Option<String>,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub latency: Option<Latency>,
}

impl Tally {
    pub fn new(begin_ns: u64) -> Self {
        Self {
            hits: 0,
            allowed: 0,
            errors: 0,
            error: None,
            begin_ns,
            end_ns: begin_ns,
            latency: None,
        }
    }

    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.begin_ns) as f64 / 1e9
    }

    #[inline]
    pub fn count(&mut self, answer: Result<bool, String>) {
        self.hits += 1;
        match answer {
            Ok(allowed) => self.allowed += u64::from(allowed),
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    pub fn fail(&mut self, error: String) {
        self.errors += 1;
        self.error.get_or_insert(error);
    }

    /// Adds what another thread did at the same time.
    pub fn merge(mut self, other: Self) -> Self {
        self.hits += other.hits;
        self.allowed += other.allowed;
        self.errors += other.errors;
        self.error = self.error.or(other.error);
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        if let (Some(mine), Some(others)) = (&mut self.latency, &other.latency) {
            mine.merge(others);
        }
        self
    }
}
