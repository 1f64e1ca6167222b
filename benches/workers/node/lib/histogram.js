'use strict';

/** Counts of times in the buckets of the protocol: 64 for each power of two. */
class Histogram {
  // Up to 2^53 ns, so that a bucket is an index.
  #counts = new Float64Array(64 * 48);

  #max = 0;

  /** @param {number} ns */
  add(ns) {
    this.#counts[bucketOf(ns)] += 1;
    this.#max = Math.max(this.#max, ns);
  }

  report() {
    const latency = [];
    this.#counts.forEach((count, bucket) => {
      if (count > 0) {
        latency.push([bucket, count]);
      }
    });
    return { latency, max_ns: this.#max };
  }
}

/** What several histograms report, as one. */
function sum(reports) {
  const counts = new Map();
  for (const [bucket, count] of reports.flatMap(({ latency }) => latency)) {
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return { latency: [...counts], max_ns: Math.max(...reports.map(({ max_ns: maxNs }) => maxNs)) };
}

function bucketOf(ns) {
  if (ns < 64) {
    return ns;
  }
  // Bit operations have 32 bits, which is 2 s.
  const exponent = ns < 2 ** 31 ? 31 - Math.clz32(ns) : Math.floor(Math.log2(ns));
  return 64 * (exponent - 5) + Math.floor(ns / 2 ** (exponent - 6)) - 64;
}

module.exports = { Histogram, sum };
