"""All cases of a run, in groups whose rounds are interleaved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .case import ALLOW, DENY, HOT, LIVE, UNIFORM, ZIPF, Case
from .peers import COMMON, REDIS, Peer, Store, peer
from .plan import Plan
from .results import Round
from .rig import Rig
from .scenarios import exactness, flooding, footprint, load, opening, pruning

Measure = Callable[[Rig, Case, Plan], Round]

THINK_US = 500
ZIPF_KEYS = 1_000_000
MANY = 8
ONE_AND_MANY = (1, MANY)
HITTERS = 2
EXACT_LIMIT = 1_000
FEW_LIVE, MANY_LIVE = 10_000, 1_000_000
#: On Redis: processes, and the connections of each.
ALONE, EACH, ALL = AT_ONCE = ((1, 1), (MANY, 1), (MANY, 8))
#: Keys of a refused flood.
FEW_FLOODING, MANY_FLOODING = FLOODING = (1, 1_000)

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
#: On one Redis server.
ON_REDIS = (
    "rust/ratelite-redis",
    "rust/ratelite-redis-socket",
    "rust/redis-script",
    "rust/redis-script-socket",
    "python/ratelite-redis",
    "python/limits-redis",
    "python/redis-script",
    "php/ratelite-redis",
    "node/rlf-redis",
)
_NOT_BRIEFLY = ("rust/ratelite-redis-socket", "rust/redis-script-socket", "python/redis-script")
#: Whoever ends in -denied or -block remembers whom it has denied.
FLOODED = (
    "rust/ratelite-redis-denied",
    "rust/ratelite-redis",
    "rust/redis-script",
    "python/ratelite-redis-denied",
    "python/limits-redis",
    "php/ratelite-redis-denied",
    "node/rlf-redis-block",
    "node/rlf-redis",
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
    yield Group(exactness.measure, [exact(one) for one in COMMON], 1)
    for workload in closed:
        cases = [replace(workload, peer=one) for one in COMMON if able(one, workload)]
        yield Group(load.measure, cases, plan.rounds)
    yield Group(load.measure, list(grown_live()), plan.rounds)
    several = [one for one in COMMON if not one.variant and not one.one_key]
    yield Group(load.measure, [thinking(one) for one in several if one.shared], plan.rounds)
    yield Group(opening.measure, [opened(one) for one in COMMON if _stays(one)], plan.rounds)
    yield Group(load.measure, [call(peer(name)) for name in _BOUND], plan.rounds)
    yield Group(footprint.measure, [kept(one, plan) for one in several], 1)
    yield Group(pruning.measure, [pruned(peer(name), plan) for name in _PRUNING], plan.prune_rounds)
    yield Group(load.measure, list(grown_keys(plan)), plan.rounds)
    yield Group(load.measure, list(grown_rules(plan)), plan.rounds)
    yield Group(load.measure, list(grown_processes(plan)), plan.rounds)
    yield from _redis(plan)


def _redis(plan: Plan) -> Iterator[Group]:
    counting = [peer(name) for name in ON_REDIS if not plan.brief or name not in _NOT_BRIEFLY]
    refusing = [peer(name) for name in FLOODED]
    exact = [exact_on_redis(one) for one in dict.fromkeys((*counting, *refusing))]
    yield Group(exactness.measure, exact, 1)
    for processes, connections in AT_ONCE:
        if not plan.brief or processes > 1:
            # The socket's gain is that of one call: it needs no crowd to show.
            peers = [one for one in counting if processes == 1 or one.store is Store.REDIS]
            cases = [on_redis(one, processes, connections) for one in peers]
            yield Group(load.measure, cases, plan.rounds)
    for keys in FLOODING:
        cases = [flood(one, keys) for one in refusing]
        yield Group(flooding.measure, cases, plan.rounds)


def _closed(plan: Plan) -> Iterator[Case]:
    anyone = COMMON[0]
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


def on_redis(one: Peer, processes: int, connections: int) -> Case:
    """10,000 keys on a server, everything allowed."""
    return Case(REDIS, one, UNIFORM, processes=processes, connections=connections)


def flood(one: Peer, keys: int) -> Case:
    """Clients far over their limit, who go on."""
    order = HOT if keys == 1 else UNIFORM
    return Case(REDIS, one, order, key_count=keys, limit=DENY, processes=MANY)


def exact_on_redis(one: Peer) -> Case:
    """A limit that several processes share, on a server."""
    return replace(exact(one), scenario=REDIS)


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
