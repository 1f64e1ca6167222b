"""What was promised of counting in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from . import matrix
from .peers import LANGUAGES, peer
from .tables import quotient, rate, ratio
from .targets import MANY, Measured, Target, alone, on_one_key, together


def of_interval(measured: Measured) -> Iterator[Target]:
    """Most are ratios to a peer of the same run."""
    ahead, ours = measured.ahead, "rust/ratelite"
    for suffix, keys in (("", "keys at hand"), ("-format-key", "a key made a hit")):
        governor, counted = f"rust/governor{suffix}", ours + suffix
        yield Target(
            f"C ABI, 1 process, 10,000 keys, {keys}: time of governor's",
            0.75,
            ahead(alone, governor, counted),
            ratio,
            least=False,
        )
        yield Target(
            f"C ABI, {MANY} processes, one hot key, {keys}: time of that of governor's threads",
            0.5,
            ahead(on_one_key, governor, counted),
            ratio,
            least=False,
        )
        yield Target(
            f"C ABI, {MANY} processes, 10,000 keys, {keys}: against governor's threads",
            1.4,
            ahead(together, counted, governor),
            ratio,
        )
    yield Target(
        f"C ABI, {MANY} processes, 10,000 keys, keys at hand: hits a second of all",
        12e6,
        measured.median(together(peer(ours))),
        rate,
    )
    few, many = (
        measured.median(matrix.live(peer(ours), count))
        for count in (matrix.FEW_LIVE, matrix.MANY_LIVE)
    )
    yield Target(
        "C ABI, 1,000,000 live keys: time of that with 10,000",
        1.5,
        quotient(few, many),
        ratio,
        least=False,
    )
    yield Target(
        f"C ABI, {MANY} processes with 0.5 ms to think: p99.9 against a loop with busy_timeout",
        100,
        measured.waits("rust/sqlite-busy-timeout", ours),
        ratio,
    )
    for what, bound, case_of, language, other in (
        ("1 process: against limits in memory", 3.5, alone, "python", "limits-memory"),
        (f"{MANY} processes: against limits on Redis", 80, together, "python", "limits-redis"),
        ("1 process: against Symfony on APCu", 25, alone, "php", "symfony-apcu"),
        ("1 process: against apcu_inc by itself", 0.8, alone, "php", "apcu-inc"),
        ("a limiter a request: against the how-to a request", 10, matrix.opened, "php", "how-to"),
    ):
        reached = ahead(case_of, f"{language}/ratelite", f"{language}/{other}")
        yield Target(f"{LANGUAGES[language]}, {what}", bound, reached, ratio)
