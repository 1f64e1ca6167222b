"""Numbers as people read them, and tables of them in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NONE = "–"

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is text, the others are numbers."""
    return _lines([header, ["---", *["---:"] * (len(header) - 1)], *rows])


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """All columns are text."""
    return _lines([header, ["---"] * len(header), *rows])


def duration(ns: float) -> str:
    """In the unit that fits, with three digits that count."""
    if math.isnan(ns):
        return NONE
    for length, unit in _UNITS:
        if ns >= length or length == 1:
            return f"{_three_digits(ns / length)} {unit}"
    raise AssertionError("the last unit fits everything")


def count(number: float) -> str:
    """A number of things, in thousands; three digits that count if it is below one thousand."""
    if math.isnan(number):
        return NONE
    if number != int(number) and number < 1_000:
        return _three_digits(number)
    return f"{number:,.0f}"


def rate(number: float) -> str:
    """A rate, of which three digits mean something."""
    if math.isnan(number) or number < 1_000:
        return count(number)
    step = 10 ** (math.floor(math.log10(number)) - 2)
    return f"{round(number / step) * step:,.0f}"


def ratio(number: float) -> str:
    """How many times."""
    return NONE if math.isnan(number) else f"{_three_digits(number)} ×"


def share(number: float) -> str:
    """A part of one."""
    return NONE if math.isnan(number) else f"{number:.2f}"


def size(number: float) -> str:
    """Of a file, if there is any."""
    return f"{number / 2**20:.1f} MiB" if number > 0 else NONE


def quotient(one: float, other: float) -> float:
    """One by the other; NaN if one was not measured."""
    return one / other if other else math.nan


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _three_digits(number: float) -> str:
    if number >= 99.95:
        return f"{number:,.0f}"
    if number >= 9.995:
        return f"{number:.1f}"
    return f"{number:.2f}" if number >= 0.0995 or number == 0 else f"{number:.2g}"
