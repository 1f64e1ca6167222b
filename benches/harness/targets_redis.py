"""What was promised of counting on a server."""

from __future__ import annotations

import math
from collections.abc import Iterator

from . import matrix
from .peers import LANGUAGES, peer
from .tables import count, ratio
from .targets import MANY, Measured, Target, flood_of_many, flood_of_one, on_all, on_each

_NAMES = {
    "rust/redis-script": "a script in Rust",
    "python/limits-redis": "limits",
    "node/rlf-redis": "rate-limiter-flexible",
}
#: ratelite's language, and who is to be left behind.
_PAIRS = (
    ("rust", "rust/redis-script"),
    ("rust", "python/limits-redis"),
    ("rust", "node/rlf-redis"),
    ("python", "python/limits-redis"),
)


def of_redis(measured: Measured) -> Iterator[Target]:
    """Ratios to a peer of the same run, on the same server."""
    floods = count(matrix.MANY_FLOODING)
    for what, bound, case_of, suffix in (
        (f"{MANY} processes, a connection each", 2, on_each, ""),
        (f"{math.prod(matrix.ALL)} connections of {MANY} processes", 2, on_all, ""),
        (f"a refused flood, {MANY} processes on one key", 50, flood_of_one, "-denied"),
        (f"a refused flood, {MANY} processes on {floods} keys", 50, flood_of_many, "-denied"),
    ):
        for language, other in _PAIRS:
            ours = peer(f"{language}/ratelite-redis{suffix}")
            by = "C ABI" if language == "rust" else LANGUAGES[language]
            reached = measured.ahead(case_of, ours.id, other)
            yield Target(f"{by}, {what}: against {_NAMES[other]}", bound, reached, ratio)
