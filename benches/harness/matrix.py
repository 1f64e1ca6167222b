"""All cases of a run, in groups whose rounds are interleaved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .case import ALLOW, DENY, HOT, LIVE, UNIFORM, ZIPF, Case
from .peers import PEERS, Peer, Store, peer
from .plan import Plan
from .results import Round
from .rig import Rig
from .scenarios import exactness, footprint, load, opening, pruning

Measure = Callable[[Rig, Case, Plan], Round]

THINK_US = 500
ZIPF_KEYS = 1_000_000
MANY = 8
ONE_AND_MANY = (1, MANY)
HITTERS = 2
EXACT_LIMIT = 1_000
FEW_LIVE, MANY_LIVE = 10_000, 1_000_000

#: A curve each, beside ratelite's.
_GROWING_BY_ROWS = (
    "rust/ratelite",
    "rust/ratelite-hit",
    "rust/how-to",
    "rust/sqlite-busy-timeout",
)
_GROWING_BY_PROCESSES = (
    "rust/ratelite",
    "rust/ratelite-hit",
    "rust/governor",
    "rust/how-to",
    "rust/sqlite-busy-timeout",
    "node/rlf-sqlite-wal",
    "python/limits-redis",
)
#: Beyond this a peer's curve says nothing new, and costs minutes.
_MOST_ROWS_OF_OTHERS = 1_000_000
_BOUND = ("rust/ratelite", "python/ratelite", "php/ratelite")
_LIVE = ("rust/ratelite", "rust/governor")
_PRUNING = (
    "rust/ratelite",
    "rust/ratelite-hit",
    "rust/how-to",
    "rust/sqlite-busy-timeout",
    "python/ratelite",
    "python/ratelite-hit",
    "python/how-to",
)


@dataclass(frozen=True)
class Group:
    """Cases of which one round each is measured before the next round begins."""

    measure: Measure
    cases: Sequence[Case]
    rounds: int


def groups(plan: Plan) -> Iterator[Group]:
    """The groups in the order in which they are measured."""
    closed = list(_closed(plan))
    yield Group(exactness.measure, [exact(one) for one in PEERS], 1)
    for workload in closed:
        cases = [replace(workload, peer=one) for one in PEERS if able(one, workload)]
        yield Group(load.measure, cases, plan.rounds)
    yield Group(load.measure, list(grown_live()), plan.rounds)
    several = [one for one in PEERS if not one.variant and not one.one_key]
    yield Group(load.measure, [thinking(one) for one in several if one.shared], plan.rounds)
    yield Group(opening.measure, [opened(one) for one in PEERS if _stays(one)], plan.rounds)
    yield Group(load.measure, [call(peer(name)) for name in _BOUND], plan.rounds)
    yield Group(footprint.measure, [kept(one, plan) for one in several], 1)
    yield Group(pruning.measure, [pruned(peer(name), plan) for name in _PRUNING], plan.prune_rounds)
    yield Group(load.measure, list(grown_keys(plan)), plan.rounds)
    yield Group(load.measure, list(grown_rules(plan)), plan.rounds)
    yield Group(load.measure, list(grown_processes(plan)), plan.rounds)


def _closed(plan: Plan) -> Iterator[Case]:
    anyone = PEERS[0]
    for processes in ONE_AND_MANY:
        yield uniform(anyone, processes)
    for processes in ONE_AND_MANY:
        if not plan.brief or processes > 1:
            yield hot(anyone, processes, ALLOW)
        if not plan.brief:
            yield hot(anyone, processes, DENY)
            yield zipf(anyone, processes)


def able(one: Peer, workload: Case) -> bool:
    """Whether a peer takes part in a workload."""
    if one.variant:
        return workload.keys == UNIFORM or workload == hot(workload.peer, MANY, ALLOW)
    return workload.keys == HOT or not one.one_key


def _stays(one: Peer) -> bool:
    """Whether the counters outlive a process that serves one request."""
    return one.store is not Store.MEMORY and not one.variant


def uniform(one: Peer, processes: int) -> Case:
    """10,000 keys, everything allowed."""
    return Case("closed loop", one, UNIFORM, processes=processes)


def hot(one: Peer, processes: int, limit: int) -> Case:
    """One key for all."""
    return Case("closed loop", one, HOT, key_count=1, limit=limit, processes=processes)


def zipf(one: Peer, processes: int) -> Case:
    """1,000,000 keys of which few are hit often."""
    return Case("closed loop", one, ZIPF, key_count=ZIPF_KEYS, processes=processes)


def live(one: Peer, count: int) -> Case:
    """Keys of which each has been hit lately."""
    return Case("live keys", one, LIVE, key_count=count)


def thinking(one: Peer) -> Case:
    """Processes that do something else between two hits."""
    return Case("think time", one, UNIFORM, processes=MANY, think_us=THINK_US)


def exact(one: Peer) -> Case:
    """A limit that several processes share."""
    return Case("exactness", one, HOT, key_count=1, limit=EXACT_LIMIT, processes=MANY)


def opened(one: Peer) -> Case:
    """A process that serves one request."""
    return Case("open", one, UNIFORM)


def call(one: Peer) -> Case:
    """A hit without a file: what the language adds to the C call."""
    return Case("call", one, HOT, key_count=1, in_memory=True)


def kept(one: Peer, plan: Plan) -> Case:
    """Each key once."""
    return Case("footprint", one, UNIFORM, key_count=plan.footprint_keys)


def pruned(one: Peer, plan: Plan) -> Case:
    """Expired rows go while two processes hit."""
    return Case("prune", one, UNIFORM, processes=HITTERS, rows=plan.prune_rows)


def grown_live() -> Iterator[Case]:
    """Keys that a table in memory holds all."""
    for count in (FEW_LIVE, MANY_LIVE):
        for name in _LIVE:
            yield live(peer(name), count)


def grown_keys(plan: Plan) -> Iterator[Case]:
    """Live rows in the store."""
    for rows in plan.grown_keys:
        for name in _GROWING_BY_ROWS:
            if peer(name).ours or rows <= _MOST_ROWS_OF_OTHERS:
                yield Case("keys", peer(name), UNIFORM, key_count=rows, rows=rows)


def grown_rules(plan: Plan) -> Iterator[Case]:
    """Rules in the policy, of which the last is hit."""
    for rules in plan.grown_rules:
        for name in _BOUND:
            yield Case("rules", peer(name), UNIFORM, rules=rules)


def grown_processes(plan: Plan) -> Iterator[Case]:
    """Processes in a closed loop."""
    for processes in plan.grown_processes:
        for name in _GROWING_BY_PROCESSES:
            yield Case("processes", peer(name), UNIFORM, processes=processes)
