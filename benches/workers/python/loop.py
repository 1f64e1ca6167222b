"""The loops that hit: the same for every peer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from latency import Latency
from tally import Tally

clock = time.perf_counter_ns

#: Below this a hit is too short for a clock reading of its own, see Pace.
SHORT_NS = 10_000
BATCH = 64

Hit = Callable[[str], bool]


@dataclass(frozen=True)
class Span:
    """How long to hit: for a time, or so many times."""

    seconds: float | None = None
    count: int | None = None

    @property
    def ns(self) -> int | None:
        """The time in nanoseconds."""
        return None if self.seconds is None else int(self.seconds * 1e9)


def each(hit: Hit, keys: Iterator[str], span: Span, think_us: float = 0) -> Tally:
    """Hits, and times every hit by itself. Failed hits are timed too: somebody waited for them."""
    latency = Latency()
    tally = Tally(latency=latency)
    think = think_us / 1e6
    add = latency.add
    begin = clock()
    end = None if span.ns is None else begin + span.ns
    for key in keys if span.count is None else itertools.islice(keys, span.count):
        before = clock()
        try:
            allowed = hit(key)
        except Exception as error:
            after = clock()
            tally.fail(error)
        else:
            after = clock()
            tally.allowed += allowed
        tally.hits += 1
        add(after - before)
        if end is not None and after >= end:
            break
        if think:
            time.sleep(think)
    tally.seconds = (clock() - begin) / 1e9
    return tally


def whole(hit: Hit, keys: Iterator[str], span: Span, think_us: float = 0) -> Tally:
    """Hits, and times only the whole: one reading of the clock for 64 short hits."""
    tally = Tally()
    think = think_us / 1e6
    left = span.count
    batch = 1
    begin = now = clock()
    end = None if span.ns is None else begin + span.ns
    while (end is None or now < end) and left != 0:
        size = batch if left is None else min(batch, left)
        allowed = 0
        for key in itertools.islice(keys, size):
            try:
                allowed += hit(key)
            except Exception as error:
                tally.fail(error)
            if think:
                time.sleep(think)
        tally.hits += size
        tally.allowed += allowed
        left = None if left is None else left - size
        before, now = now, clock()
        batch = BATCH if now - before < SHORT_NS * size else 1
    tally.seconds = (now - begin) / 1e9
    return tally


def clock_ns(readings: int = 1_000_000) -> float:
    """What one reading of the clock costs."""
    begin = clock()
    for _ in itertools.repeat(None, readings):
        clock()
    return (clock() - begin) / readings
