"""Times of hits, counted in buckets."""

from __future__ import annotations


def bucket_of(ns: int) -> int:
    """64 buckets for each power of two, as the protocol says."""
    if ns < 64:
        return ns
    shift = ns.bit_length() - 7
    return 64 * shift + (ns >> shift)


class Latency:
    """A histogram, and the longest time as it was."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.max_ns = 0

    def add(self, ns: int) -> None:
        """Counts one time."""
        bucket = bucket_of(ns)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        if ns > self.max_ns:
            self.max_ns = ns

    def merge(self, other: Latency) -> None:
        """Counts what another thread counted."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.max_ns = max(self.max_ns, other.max_ns)
