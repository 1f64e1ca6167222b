//! Times of hits, counted in buckets: 64 for each power of two.

/// The bucket of `u64::MAX`, and those below it.
const BUCKETS: usize = bucket(u64::MAX) + 1;

pub struct Latency {
    counts: Box<[u64]>,
    pub max_ns: u64,
}

impl Latency {
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), max_ns: 0 }
    }

    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The buckets that are not empty, with their counts.
    pub fn buckets(&self) -> Vec<(usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect()
    }
}

const fn bucket(ns: u64) -> usize {
    if ns < 64 {
        return ns as usize;
    }
    let highest = ns.ilog2();
    (64 * (highest as usize - 5) + (ns >> (highest - 6)) as usize) - 64
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_follow_each_other() {
        let cases = [
            (0, 0),
            (63, 63),
            (64, 64),
            (127, 127),
            (128, 128),
            (129, 128),
            (130, 129),
            (255, 191),
            (256, 192),
        ];
        for (ns, expected) in cases {
            assert_eq!(bucket(ns), expected, "{ns} ns");
        }
    }
}
