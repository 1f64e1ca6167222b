"""How much is measured, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The sizes of a run."""

    name: str
    #: Of each case, interleaved.
    rounds: int
    #: Before each measurement, without record: compilers warm up, files get their first pages.
    warm_seconds: float
    #: With nothing but hits, of which few are timed or none.
    plain_seconds: float
    #: With every hit timed.
    timed_seconds: float
    #: The same of a fast peer, of which only the longest is kept.
    longest_seconds: float
    think_seconds: float
    open_seconds: float
    footprint_keys: int
    prune_rows: int
    prune_rounds: int
    grown_keys: tuple[int, ...]
    grown_rules: tuple[int, ...]
    grown_processes: tuple[int, ...]
    #: Without the workloads that repeat what another one shows already.
    brief: bool


FULL = Plan(
    name="full",
    rounds=3,
    warm_seconds=0.2,
    plain_seconds=0.4,
    timed_seconds=0.4,
    longest_seconds=0.2,
    think_seconds=1.2,
    open_seconds=0.5,
    footprint_keys=50_000,
    prune_rows=1_000_000,
    prune_rounds=3,
    grown_keys=(10_000, 100_000, 1_000_000, 10_000_000),
    grown_rules=(1, 10, 100, 1_000),
    grown_processes=(1, 2, 4, 8, 16),
    brief=False,
)

QUICK = Plan(
    name="quick",
    rounds=1,
    warm_seconds=0.1,
    plain_seconds=0.2,
    timed_seconds=0.3,
    longest_seconds=0.1,
    think_seconds=1.0,
    open_seconds=0.3,
    footprint_keys=10_000,
    prune_rows=200_000,
    prune_rounds=1,
    grown_keys=(10_000, 100_000, 1_000_000),
    grown_rules=(1, 1_000),
    grown_processes=(1, 4, 16),
    brief=True,
)
