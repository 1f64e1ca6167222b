"""What was promised, and what was reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import matrix
from .case import Case
from .peers import LANGUAGES, Peer, peer
from .plan import Plan
from .results import Results
from .tables import duration, quotient, ratio, share, table

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


def targets(results: Results, plan: Plan) -> str:
    """The table."""
    rows = [target.row() for target in _targets(results, plan)]
    return table(["target", "wanted", "reached", "met"], rows)


def _targets(results: Results, plan: Plan) -> Iterator[Target]:
    def rate(case: Case) -> float:
        return results.of(case).median("rate")

    def ahead(case_of: Callable[[Peer], Case], one: str, other: str) -> float:
        return quotient(rate(case_of(peer(one))), rate(case_of(peer(other))))

    def alone(one: Peer) -> Case:
        return matrix.uniform(one, 1)

    def together(one: Peer) -> Case:
        return matrix.uniform(one, MANY)

    for language in ("rust", "python", "php"):
        name = LANGUAGES[language]
        by = "its C ABI" if language == "rust" else name
        what = f"a commit a hit on disk, 1 process: ratelite by {by} against the how-to in {name}"
        yield Target(what, 100, ahead(alone, f"{language}/ratelite", f"{language}/how-to"), ratio)
    yield Target(
        f"{MANY} processes on disk against rate-limiter-flexible with WAL",
        5,
        ahead(together, "rust/ratelite", "node/rlf-sqlite-wal"),
        ratio,
    )
    waits = [
        results.of(matrix.thinking(peer(name))).median("p999_ns")
        for name in ("rust/sqlite-busy-timeout", "rust/ratelite")
    ]
    yield Target(
        f"{MANY} processes with 0.5 ms to think, p99.9 against a loop with busy_timeout",
        10,
        quotient(*waits),
        ratio,
    )
    yield Target(
        "PHP, a limiter a request against the how-to a request",
        5,
        ahead(matrix.opened, "php/ratelite", "php/how-to"),
        ratio,
    )
    closed = results.of(together(peer("rust/ratelite")))
    yield Target(
        f"fairness of {MANY} processes in a closed loop", 0.7, closed.median("fairness"), share
    )
    yield Target(
        f"worst wait of {MANY} processes in a closed loop",
        20e6,
        closed.worst("max_ns"),
        duration,
        least=False,
    )
    pruned = results.of(matrix.pruned(peer("rust/ratelite"), plan))
    yield Target("worst wait beside a pruner", 10e6, pruned.worst("max_ns"), duration, least=False)
