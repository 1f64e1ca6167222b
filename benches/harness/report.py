"""Writes RESULTS.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from . import sections, targets
from .case import ALLOW, DENY, Case
from .matrix import (
    EXACT_LIMIT,
    HITTERS,
    MANY,
    ONE_AND_MANY,
    THINK_US,
    ZIPF_KEYS,
    hot,
    thinking,
    uniform,
    zipf,
)
from .plan import Plan
from .results import Results
from .scenarios.exactness import HITS
from .tables import count


def report(results: Results, plan: Plan, plots: dict[str, str]) -> str:
    """The whole text. `plots` has the path of each plot by its name."""
    return "\n\n".join(_parts(results, plan, plots)) + "\n"


def _parts(results: Results, plan: Plan, plots: dict[str, str]) -> Iterator[str]:
    rounds = f"{count(plan.rounds)} interleaved round{'s' if plan.rounds > 1 else ''} a case"
    yield "# Results"
    yield (
        f"Written by `benches/run` ({plan.name} run); [README.md](README.md) has the method. "
        f"Rates, percentiles and fairness are medians of {rounds}; `max` is the worst of all. "
        "Rates come from a loop without clock readings, times from one in which each hit is timed. "
        "With fewer than 1,000 hits in a round its p99.9 is its longest. "
        "Fairness is the hits of the slowest process by those of the fastest. "
        "Failed hits are never counted as answers."
    )
    yield sections.machine(results)
    yield from _titled("## Targets", "", targets.targets(results, plan))
    yield from _closed_loops(results, plots)
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
        "worker's resident memory (of Redis: of its data), and size of the file, log included.",
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
            sections.load(results, partial(uniform, processes=processes), exact=True),
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
            "Hits a second, and the p99 of a hit.",
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
