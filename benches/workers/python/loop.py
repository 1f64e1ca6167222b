"""The loop that hits: the same for every peer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from latency import Latency
from tally import Tally

clock = time.perf_counter_ns

#: Below this a hit is too short for a clock reading of its own.
SHORT_NS = 10_000
BATCH = 64

IDLE_SECONDS = 0.1

Hit = Callable[[str], bool]


@dataclass(frozen=True)
class Manner:
    """How to hit: as long or as often as a command says, and how that is timed."""

    seconds: float | None = None
    count: int | None = None
    think_us: float = 0
    #: One hit of so many is timed by itself; 0: none.
    every: int = 0
    #: When to begin, by `clock`; 0: now.
    at_ns: int = 0

    def begin(self) -> int:
        """Waits until it begins. Whoever gets a processor late has begun all the same."""
        while (left := self.at_ns - clock()) > 0:
            time.sleep(left / 1e9)
        return self.at_ns or clock()


def run(hit: Hit, keys: Iterator[str], manner: Manner) -> Tally:
    """Hits. Failed hits are timed too: somebody waited for them."""
    every = manner.every
    tally = Tally(latency=Latency() if every else None)
    think = manner.think_us / 1e6
    left = manner.count
    batch = every or 1
    begin = now = manner.begin()
    end = None if manner.seconds is None else begin + int(manner.seconds * 1e9)
    while (end is None or now < end) and left != 0:
        size = batch if left is None else min(batch, left)
        allowed = 0
        for key in itertools.islice(keys, size - 1 if every else size):
            try:
                allowed += hit(key)
            except Exception as error:
                tally.fail(error)
            if think:
                time.sleep(think)
        tally.hits += size
        tally.allowed += allowed
        left = None if left is None else left - size
        if tally.latency is not None:
            now = _timed(hit, next(keys), tally, tally.latency)
            if think and (end is None or now < end):
                time.sleep(think)
        else:
            before, now = now, clock()
            batch = BATCH if now - before < SHORT_NS * size else 1
    tally.seconds = (clock() - begin) / 1e9
    return tally


def _timed(hit: Hit, key: str, tally: Tally, latency: Latency) -> int:
    """One hit by itself, and when it was over."""
    before = clock()
    try:
        allowed = hit(key)
    except Exception as error:
        after = clock()
        tally.fail(error)
    else:
        after = clock()
        tally.allowed += allowed
    latency.add(after - before)
    return after


def idle_ns(keys: Iterator[str], every: int) -> float:
    """What the loop itself costs a hit."""
    tally = run(lambda key: True, keys, Manner(seconds=IDLE_SECONDS, every=every))
    return tally.seconds * 1e9 / tally.hits


def clock_ns(readings: int = 1_000_000) -> float:
    """What one reading of the clock costs."""
    begin = clock()
    for _ in itertools.repeat(None, readings):
        clock()
    return (clock() - begin) / readings
