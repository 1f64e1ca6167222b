"""Makes one round of what several workers answered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .answer import Answer
from .histogram import Histogram
from .results import Round


def latency_of(answers: Sequence[Answer]) -> Histogram:
    """The times of all workers."""
    merged = Histogram()
    for answer in answers:
        merged.merge(answer.latency)
    return merged


def fairness_of(answers: Sequence[Answer]) -> float:
    """Hits of the slowest as a part of those of the fastest; NaN if there is only one."""
    hits = [count for answer in answers for count in answer.hits_each]
    return min(hits) / max(hits) if len(hits) > 1 and max(hits) else math.nan


def round_of(plain: Sequence[Answer], timed: Sequence[Answer]) -> Round:
    """`plain` hits give the rate, since few of them or none are timed; `timed` ones all are.

    Percentiles are of the plain ones where these were timed. The two are the same list where the
    clock does not matter.
    """
    latency = latency_of(plain)
    latency = latency if latency.count else latency_of(timed)
    longest = max(latency.max_ns, latency_of(timed).max_ns)
    distinct = plain if timed is plain else [*plain, *timed]
    return Round(
        rate=sum(answer.rate for answer in plain),
        p50_ns=latency.percentile(50),
        p99_ns=latency.percentile(99),
        p999_ns=latency.percentile(99.9),
        max_ns=longest if latency.count else math.nan,
        fairness=fairness_of(plain),
        hits=sum(answer.hits for answer in distinct),
        errors=sum(answer.errors for answer in distinct),
        error=next((answer.error for answer in distinct if answer.error), None),
    )
