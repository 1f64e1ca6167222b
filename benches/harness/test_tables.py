"""Numbers and tables as people read them."""

from __future__ import annotations

import math

import pytest

from .tables import count, duration, quotient, rate, ratio, share, size, table


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0.00 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (5e6, "5.00 ms"),
        (60e9, "60.0 s"),
        (math.nan, "–"),
    ],
)
def test_a_duration_has_the_unit_that_fits(ns: float, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(7, "7"), (12.345, "12.3"), (998.6, "999"), (1234.0, "1,230"), (1_234_567.0, "1,230,000")],
)
def test_a_rate_has_three_digits_that_count(number: float, text: str) -> None:
    assert rate(number) == text


def test_a_file_that_is_not_there_has_no_size() -> None:
    assert [size(number) for number in (33_804_288, 0, math.nan)] == ["32.2 MiB", "–", "–"]


def test_a_small_ratio_is_not_nothing() -> None:
    assert [ratio(number) for number in (0.0021, 0.42, 5, 123.4)] == [
        "0.0021 ×",
        "0.42 ×",
        "5.00 ×",
        "123 ×",
    ]


def test_what_was_not_measured_is_a_dash() -> None:
    assert [form(math.nan) for form in (count, rate, ratio, share)] == ["–"] * 4
    assert math.isnan(quotient(1, 0))
    assert math.isnan(quotient(1, math.nan))


def test_a_table_is_markdown() -> None:
    assert table(["peer", "hits"], [["a", "1"], ["b", "2"]]).splitlines() == [
        "| peer | hits |",
        "| --- | ---: |",
        "| a | 1 |",
        "| b | 2 |",
    ]
