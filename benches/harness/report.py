"""Writes RESULTS.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from . import sections
from .case import ALLOW, DENY, Case
from .matrix import (
    AT_ONCE,
    EXACT_LIMIT,
    FLOODING,
    HITTERS,
    MANY,
    ONE_AND_MANY,
    THINK_US,
    ZIPF_KEYS,
    exact,
    hot,
    thinking,
    uniform,
    zipf,
)
from .plan import Plan
from .results import Results
from .scenarios.exactness import HITS
from .scenarios.load import SAMPLE
from .tables import count
from .targets import Measured, targets_table
from .targets_hit import of_hit
from .targets_interval import of_interval
from .targets_redis import of_redis

_ASIDES = {
    "keys": " The rows are in the file before; ratelite takes one into its table when it is hit.",
}


def report(results: Results, plan: Plan, plots: dict[str, str]) -> str:
    """The whole text. `plots` has the path of each plot by its name."""
    return "\n\n".join(_parts(results, plan, plots)) + "\n"


def _parts(results: Results, plan: Plan, plots: dict[str, str]) -> Iterator[str]:
    rounds = f"{count(plan.rounds)} interleaved round{'s' if plan.rounds > 1 else ''} a case"
    yield "# Results"
    yield (
        f"Written by `benches/run` ({plan.name} run); [README.md](README.md) has the method. "
        f"Rates, percentiles and fairness are medians of {rounds}; `max` is the worst of all. "
        "Rates come from a loop that reads the clock seldom, times from one in which each hit is "
        f"timed. Percentiles of limiters that count in memory are of one hit in {SAMPLE} of the "
        "first loop. "
        "With fewer than 1,000 timed hits in a round its p99.9 is its longest. "
        "Fairness is the hits of the slowest process by those of the fastest. "
        "Failed hits are never counted as answers."
    )
    yield sections.machine(results)
    yield from _titled(
        "## Targets",
        "Of `ratelite`, which counts in shared memory and writes the file an interval later "
        "(`RL_DURABLE_INTERVAL`):",
        targets_table(of_interval(Measured(results))),
    )
    yield from _titled(
        "Of `ratelite-hit`, which commits each hit before it answers (`RL_DURABLE_HIT`):",
        "",
        targets_table(of_hit(Measured(results), plan)),
    )
    yield from _titled(
        "Of `ratelite-redis`, on a server:", "", targets_table(of_redis(Measured(results)))
    )
    yield from _closed_loops(results, plots)
    yield from _titled(
        "## Beside governor",
        "Time by hits, of all processes or threads together, and in brackets as a part of that of "
        "governor. Keys are at hand, as text; of `format-key` each is made of a number at its hit, "
        "by the same code in both.",
        sections.beside_governor(results),
    )
    yield from _titled(
        "## Live keys",
        "Each key was hit before, and all are hit in turn. ratelite has a table for so many.",
        sections.growth(results, "live keys", lambda case: case.key_count),
    )
    yield from _titled(
        f"## {THINK_US / 1000:g} ms to think, {MANY} processes",
        "10,000 keys, everything allowed; each process sleeps between two hits.",
        sections.load(results, thinking),
    )
    yield from _plot(plots, "thinking")
    yield from _titled(
        "## Open, hit, close",
        "As a process that serves one request does. Who keeps a connection does so by itself.",
        sections.opening(results),
    )
    yield from _titled(
        "## Memory and disk a key",
        f"After {count(plan.footprint_keys)} keys of 16 bytes were hit once: growth of the "
        "worker's resident memory (of Redis: of its data), size of the file, log included, and of "
        "what else stands beside it, for any number of keys: of ratelite the table, which all "
        "processes share, and whose pages are memory once they were touched.",
        sections.footprint(results, plan),
    )
    yield from _titled(
        "## Pruning",
        f"{count(plan.prune_rows)} expired rows are removed in one call while {HITTERS} processes "
        "hit: `rl_prune` of ratelite, one `DELETE` of the others.",
        sections.pruning(results),
    )
    yield from _growth(results, plots)
    yield from _titled(
        "## Calls",
        "One key in a `:memory:` store: what a language adds to the C call.",
        sections.calls(results),
    )
    yield from _redis(results)
    yield from _titled("## Versions", "", sections.versions(results))
    yield from _titled("## Not measured", "", sections.not_measured(results))
    yield from _titled("## Hits that failed", "", sections.failed_hits(results))


def _closed_loops(results: Results, plots: dict[str, str]) -> Iterator[str]:
    """Everybody hits as fast as it can."""
    for processes in ONE_AND_MANY:
        yield from _titled(
            f"## Closed loop, 10,000 keys, {_processes(processes)}",
            "Everything is allowed; keys are hit in random order. The last column is the same for "
            f"any number of processes: what {MANY} of them were granted that hit one key "
            f"{count(HITS)} times each, under a limit of {count(EXACT_LIMIT)} a day.",
            sections.load(results, partial(uniform, processes=processes), exact=exact),
        )
        yield from _titled(
            "How many times as fast ratelite is:", "", sections.beside_ratelite(results, processes)
        )
    yield from _plot(plots, "rates")
    for limit, name in ((DENY, "deny-heavy"), (ALLOW, "allow-heavy")):
        for processes in ONE_AND_MANY:
            yield from _titled(
                f"## One hot key, {name}, {_processes(processes)}",
                "",
                sections.load(results, partial(hot, processes=processes, limit=limit)),
            )
    for processes in ONE_AND_MANY:
        yield from _titled(
            f"## {count(ZIPF_KEYS)} keys by Zipf's law, {_processes(processes)}",
            "",
            sections.load(results, partial(zipf, processes=processes)),
        )


def _redis(results: Results) -> Iterator[str]:
    """Counting on a server."""
    granted = (
        f"The last column is what {MANY} processes were granted that hit one key {count(HITS)} "
        f"times each, under a limit of {count(EXACT_LIMIT)} a day."
    )
    for processes, connections in AT_ONCE:
        what = f"{_processes(processes)}, {connections} connection{'s' * (connections > 1)}"
        what += " each" if processes > 1 else ""
        yield from _titled(
            f"## On Redis, {what}",
            f"10,000 keys in a closed loop, everything is allowed. {granted}",
            sections.on_redis(results, processes, connections),
        )
    for keys in FLOODING:
        name = "one key" if keys == 1 else f"{count(keys)} keys"
        yield from _titled(
            f"## On Redis, a refused flood, {name}",
            f"{MANY} processes of a connection each; {name} had used up the limit of {DENY} "
            "before. `-denied` is ratelite with `remember_denied`, `-block` is "
            "rate-limiter-flexible with `inMemoryBlockOnConsumed`: both refuse without asking. "
            f"Let in is what was granted meanwhile, which should be nothing. {granted}",
            sections.flood(results, keys),
        )
    yield from _titled(
        "## How many times as fast ratelite on Redis is",
        "",
        sections.beside_redis(results),
    )


def _growth(results: Results, plots: dict[str, str]) -> Iterator[str]:
    """Curves."""
    sizes: dict[str, Callable[[Case], int]] = {
        "keys": lambda case: case.rows,
        "rules": lambda case: case.rules,
        "processes": lambda case: case.processes,
    }
    for scenario, size_of in sizes.items():
        yield from _titled(
            f"## Growth of {scenario}",
            "Hits a second, and the p99 of a hit." + _ASIDES.get(scenario, ""),
            sections.growth(results, scenario, size_of),
        )
        yield from _plot(plots, scenario)


def _titled(title: str, text: str, body: str) -> Iterator[str]:
    """Nothing if there is no body."""
    if body:
        yield from (part for part in (title, text, body) if part)


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _plot(plots: dict[str, str], name: str) -> Iterator[str]:
    if name in plots:
        yield f"![{name}]({plots[name]})"
