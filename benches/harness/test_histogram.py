"""Buckets and percentiles."""

from __future__ import annotations

import math
import random

import pytest

from .histogram import Histogram, bucket_of, longest_in


@pytest.mark.parametrize(
    ("ns", "bucket"),
    [(0, 0), (63, 63), (64, 64), (127, 127), (128, 128), (129, 128), (130, 129), (255, 191)],
)
def test_a_time_belongs_to_the_bucket_that_the_protocol_says(ns: int, bucket: int) -> None:
    assert bucket_of(ns) == bucket


def test_buckets_follow_each_other_without_a_gap() -> None:
    end = -1
    for bucket in range(64 * 30):
        first, last = end + 1, longest_in(bucket)
        assert bucket_of(first) == bucket_of(last) == bucket
        assert last - first <= first / 63
        end = last


def test_a_percentile_is_a_time_that_so_many_did_not_exceed() -> None:
    histogram = Histogram([(bucket_of(ns), 1) for ns in range(1, 51)], max_ns=50)
    assert [histogram.percentile(p) for p in (50, 90, 98, 100)] == [25, 45, 49, 50]


def test_one_of_a_thousand_is_beyond_the_last_thousandth() -> None:
    histogram = Histogram([(10, 999), (bucket_of(1_000_000), 1)], max_ns=1_000_000)
    assert histogram.percentile(99.9) == 10
    assert histogram.percentile(100) == 1_000_000


def test_percentiles_are_near_the_sorted_times() -> None:
    chance = random.Random(7)
    times = sorted(int(chance.lognormvariate(10, 2)) for _ in range(10_000))
    histogram = Histogram([(bucket_of(ns), 1) for ns in times], max_ns=times[-1])
    for percent, index in ((50, 4_999), (99, 9_899), (99.9, 9_989)):
        assert times[index] <= histogram.percentile(percent) <= times[index] * 1.016


def test_merging_adds_up() -> None:
    merged = Histogram([(5, 2)], max_ns=5)
    merged.merge(Histogram([(5, 1), (7, 3)], max_ns=7))
    assert (merged.count, merged.max_ns, merged.percentile(50)) == (6, 7, 5)


def test_nothing_counted_has_no_percentile() -> None:
    assert math.isnan(Histogram().percentile(50))
