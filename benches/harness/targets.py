"""What was promised, and what was reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import matrix
from .case import ALLOW, Case
from .peers import Peer, peer
from .results import Results
from .tables import quotient, table

MANY = matrix.MANY


@dataclass(frozen=True)
class Target:
    """A figure, and the bound that it must keep."""

    what: str
    bound: float
    reached: float
    form: Callable[[float], str]
    #: Whether the bound is the least, else the most.
    least: bool = True

    @property
    def met(self) -> str:
        """In a word."""
        if math.isnan(self.reached):
            return "not measured"
        return "yes" if (self.reached >= self.bound) == self.least else "**no**"

    def row(self) -> list[str]:
        """A line of the table."""
        sign = "≥" if self.least else "≤"
        reached = self.form(self.reached)
        return [self.what, f"{sign} {self.form(self.bound)}", reached, self.met]


def targets_table(targets: Iterable[Target]) -> str:
    """A line for each."""
    return table(["target", "wanted", "reached", "met"], [target.row() for target in targets])


@dataclass(frozen=True)
class Measured:
    """Names of peers to figures."""

    results: Results

    def median(self, case: Case, name: str = "rate") -> float:
        return self.results.of(case).median(name)

    def ahead(self, case_of: Callable[[Peer], Case], one: str, other: str) -> float:
        """How many times the rate of the other the one has; so much longer the other takes."""
        rates = (self.median(case_of(peer(name))) for name in (one, other))
        return quotient(*rates)

    def waits(self, one: str, other: str) -> float:
        """How many times the p99.9 of the other the one has, with time to think."""
        waits = (self.median(matrix.thinking(peer(name)), "p999_ns") for name in (one, other))
        return quotient(*waits)


def on_each(one: Peer) -> Case:
    """8 processes of 1 connection each, on a server."""
    return matrix.on_redis(one, *matrix.EACH)


def on_all(one: Peer) -> Case:
    """64 connections, on a server."""
    return matrix.on_redis(one, *matrix.ALL)


def flood_of_one(one: Peer) -> Case:
    """One key far over its limit."""
    return matrix.flood(one, matrix.FEW_FLOODING)


def flood_of_many(one: Peer) -> Case:
    """1,000 keys far over their limit."""
    return matrix.flood(one, matrix.MANY_FLOODING)


def alone(one: Peer) -> Case:
    """1 process, 10,000 keys."""
    return matrix.uniform(one, 1)


def together(one: Peer) -> Case:
    """8 of them."""
    return matrix.uniform(one, MANY)


def on_one_key(one: Peer) -> Case:
    """8 of them on one key, allow-heavy."""
    return matrix.hot(one, MANY, ALLOW)
