"""What was promised of a commit a hit."""

from __future__ import annotations

from collections.abc import Iterator

from . import matrix
from .peers import LANGUAGES, peer
from .plan import Plan
from .tables import duration, ratio, share
from .targets import MANY, Measured, Target, alone, together


def of_hit(measured: Measured, plan: Plan) -> Iterator[Target]:
    """Most are ratios to a peer of the same run."""
    ours = peer("rust/ratelite-hit")
    for language in ("rust", "python", "php"):
        name = LANGUAGES[language]
        by = "its C ABI" if language == "rust" else name
        yield Target(
            f"a commit a hit on disk, 1 process: ratelite by {by} against the how-to in {name}",
            100,
            measured.ahead(alone, f"{language}/ratelite-hit", f"{language}/how-to"),
            ratio,
        )
    yield Target(
        f"{MANY} processes on disk against rate-limiter-flexible with WAL",
        5,
        measured.ahead(together, ours.id, "node/rlf-sqlite-wal"),
        ratio,
    )
    yield Target(
        f"{MANY} processes with 0.5 ms to think, p99.9 against a loop with busy_timeout",
        10,
        measured.waits("rust/sqlite-busy-timeout", ours.id),
        ratio,
    )
    yield Target(
        "PHP, a limiter a request against the how-to a request",
        5,
        measured.ahead(matrix.opened, "php/ratelite-hit", "php/how-to"),
        ratio,
    )
    closed = measured.results.of(together(ours))
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
    pruned = measured.results.of(matrix.pruned(ours, plan))
    yield Target("worst wait beside a pruner", 10e6, pruned.worst("max_ns"), duration, least=False)
