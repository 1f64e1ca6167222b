"""Times in buckets, as workers count them: 64 for each power of two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable


def bucket_of(ns: int) -> int:
    """The bucket that a time belongs to."""
    if ns < 64:
        return ns
    exponent = ns.bit_length() - 1
    return 64 * (exponent - 5) + (ns >> (exponent - 6)) - 64


def longest_in(bucket: int) -> int:
    """The longest time that belongs to a bucket."""
    if bucket < 64:
        return bucket
    shift = bucket // 64 - 1
    return ((bucket % 64 + 65) << shift) - 1


class Histogram:
    """How often which time was seen, and the longest as it was."""

    def __init__(self, counts: Iterable[tuple[int, int]] = (), max_ns: int = 0) -> None:
        self._counts: Counter[int] = Counter()
        for bucket, count in counts:
            self._counts[bucket] += count
        self.max_ns = max_ns

    def merge(self, other: Histogram) -> None:
        """Adds what another worker counted."""
        self._counts.update(other._counts)
        self.max_ns = max(self.max_ns, other.max_ns)

    @property
    def count(self) -> int:
        """How many times were counted."""
        return self._counts.total()

    def percentile(self, percent: float) -> float:
        """The time that so many percent did not exceed; NaN without any."""
        # Rounded first: 99.9 % of 1,000 is 999, which floating point puts a little above it.
        rank = max(1, math.ceil(round(percent * self.count / 100, 6)))
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= rank:
                return min(longest_in(bucket), self.max_ns)
        return math.nan
