"""The tables of RESULTS.md, one function each: empty if nothing of it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from . import matrix
from .case import ALLOW, Case
from .paths import ROOT
from .peers import LANGUAGES, PEERS, Crowd, Peer, peer
from .plan import Plan
from .results import Outcome, Results
from .tables import NONE, count, duration, quotient, rate, ratio, share, size, table, text_table

_LATENCY = ("p50", "p99", "p99.9", "max")
_BESIDE_GOVERNOR = (
    "ratelite",
    "governor",
    "ratelite-format-key",
    "governor-format-key",
    "governor-std-clock",
    "governor-foldhash",
)
#: ratelite on a server, without and with its memory of the denied, and with whom it is compared.
_BESIDE_REDIS = (
    ("rust/ratelite-redis", "rust/ratelite-redis-denied", "rust/redis-script"),
    ("rust/ratelite-redis", "rust/ratelite-redis-denied", "python/limits-redis"),
    ("rust/ratelite-redis", "rust/ratelite-redis-denied", "node/rlf-redis"),
    ("rust/ratelite-redis", "rust/ratelite-redis-denied", "node/rlf-redis-block"),
    ("rust/ratelite-redis-socket", "rust/ratelite-redis-socket", "rust/redis-script-socket"),
    ("python/ratelite-redis", "python/ratelite-redis-denied", "python/redis-script"),
    ("python/ratelite-redis", "python/ratelite-redis-denied", "python/limits-redis"),
)


def exactness(results: Results, case: Case) -> str:
    """Granted of 1,000."""
    outcome = results.of(case)
    granted = outcome.median("granted")
    if math.isnan(granted):
        return NONE
    failed = f", {count(outcome.errors)} hits failed" if outcome.errors else ""
    return f"{count(granted)}{failed}" + ("" if case.peer.shared else " (a budget a process)")


def load(
    results: Results,
    case_of: Callable[[Peer], Case],
    *,
    peers: Iterable[Peer] = PEERS,
    exact: Callable[[Peer], Case] | None = None,
) -> str:
    """A line for each peer that was measured: rate, times, fairness."""
    header = ["peer", "hits/s", *_LATENCY, "fairness", "failed"]
    rows = []
    for one in peers:
        outcome = results.of(case_of(one))
        if outcome.rounds:
            row = [_name(one), rate(outcome.median("rate")), *_latency(outcome)]
            row += [share(outcome.median("fairness")), count(outcome.errors)]
            rows.append(row + ([exactness(results, exact(one))] if exact else []))
    return _table([*header, "granted of 1,000"] if exact else header, rows)


def beside_ratelite(results: Results, processes: int) -> str:
    """How many times the rate of each peer ratelite has, in its language and by its C ABI."""
    rates = {one.id: results.of(matrix.uniform(one, processes)).median("rate") for one in PEERS}
    rows = []
    for one in PEERS:
        if not one.ours and not math.isnan(rates[one.id]):
            ours = [
                rates.get(f"{language}/{name}", math.nan)
                for language in (one.language, "rust")
                for name in ("ratelite", "ratelite-hit")
            ]
            ratios = [ratio(quotient(our, rates[one.id])) for our in ours]
            rows.append([_name(one), one.store.value, *ratios])
    header = ["peer", "counters in", "ratelite, same language", "ratelite-hit, same language"]
    return _table([*header, "C ABI: ratelite", "C ABI: ratelite-hit"], rows)


def beside_governor(results: Results) -> str:
    """Times of a hit, and those of ratelite as parts of governor's with keys of the same kind."""
    workloads = (
        partial(matrix.uniform, processes=1),
        partial(matrix.uniform, processes=matrix.MANY),
        partial(matrix.hot, processes=matrix.MANY, limit=ALLOW),
    )

    def ns(name: str, workload: Callable[[Peer], Case]) -> float:
        return quotient(1e9, results.of(workload(peer(f"rust/{name}"))).median("rate"))

    rows = []
    for name in _BESIDE_GOVERNOR:
        other = name.replace("ratelite", "governor")
        row = [_name(peer(f"rust/{name}"))]
        for workload in workloads:
            part = ratio(quotient(ns(name, workload), ns(other, workload)))
            row.append(duration(ns(name, workload)) + ("" if name == other else f" ({part})"))
        rows.append(row)
    measured = any(not math.isnan(ns(name, one)) for name in _BESIDE_GOVERNOR for one in workloads)
    crowd = f"{matrix.MANY} processes or threads"
    header = ["peer", "10,000 keys, 1", f"10,000 keys, {crowd}", f"one hot key, {crowd}"]
    return _table(header, rows if measured else [])


def on_redis(results: Results, processes: int, connections: int) -> str:
    """A line for each peer on a server, in a closed loop."""
    case_of = partial(matrix.on_redis, processes=processes, connections=connections)
    peers = map(peer, matrix.ON_REDIS)
    return load(results, case_of, peers=peers, exact=matrix.exact_on_redis)


def flood(results: Results, keys: int) -> str:
    """A line for each peer that refuses a flood: rate and times, and what it let in meanwhile."""
    rows = []
    for one in map(peer, matrix.FLOODED):
        outcome = results.of(matrix.flood(one, keys))
        if outcome.rounds:
            row = [_name(one), rate(outcome.median("rate")), *_latency(outcome)]
            row += [count(outcome.errors), count(outcome.worst("let_in"))]
            rows.append([*row, exactness(results, matrix.exact_on_redis(one))])
    header = ["peer", "hits/s", *_LATENCY, "failed", "let in meanwhile", "granted of 1,000"]
    return _table(header, rows)


def beside_redis(results: Results) -> str:
    """How many times the rate of each peer on a server ratelite has there."""
    header = ["ratelite", "beside", *(f"{math.prod(size)} at once" for size in matrix.AT_ONCE)]
    for keys in matrix.FLOODING:
        refused = f"{count(keys)} key{'s' if keys > 1 else ''} refused"
        header += [refused, f"{refused}, remembered"]
    rows = []
    for names in _BESIDE_REDIS:
        ours, remembering, other = map(peer, names)
        cells = []
        for processes, connections in matrix.AT_ONCE:
            of = partial(matrix.on_redis, processes=processes, connections=connections)
            cells.append(_ahead(results, of(ours), of(other)))
        for keys in matrix.FLOODING:
            refusing = partial(matrix.flood, keys=keys)
            cells += [
                _ahead(results, refusing(one), refusing(other)) for one in (ours, remembering)
            ]
        if any(cell != NONE for cell in cells):
            rows.append([_name(ours), _name(other), *cells])
    return _table(header, rows)


def _ahead(results: Results, our: Case, other: Case) -> str:
    return ratio(quotient(*(results.of(case).median("rate") for case in (our, other))))


def opening(results: Results) -> str:
    """Open, hit, close."""
    return load(results, matrix.opened)


def footprint(results: Results, plan: Plan) -> str:
    """Bytes a key."""
    rows = []
    for one in PEERS:
        outcome = results.of(matrix.kept(one, plan))
        if outcome.rounds:
            rows.append(
                [
                    _name(one),
                    _bytes(outcome.median("memory_bytes")),
                    _bytes(outcome.median("disk_bytes")),
                    size(outcome.median("beside_bytes")),
                ]
            )
    return _table(["peer", "memory a key", "disk a key", "beside the file"], rows)


def pruning(results: Results) -> str:
    """Hitters beside a pruner."""
    rows = [
        [
            _name(case.peer),
            count(outcome.median("removed")),
            duration(outcome.median("seconds") * 1e9),
            rate(outcome.median("rate")),
            duration(outcome.median("before_p999_ns")),
            duration(outcome.worst("before_max_ns")),
            duration(outcome.median("p999_ns")),
            duration(outcome.worst("max_ns")),
            count(outcome.errors),
        ]
        for case, outcome in results.cases("prune")
        if outcome.rounds
    ]
    header = ["peer", "removed", "took", "hits/s meanwhile", "p99.9 before", "max before"]
    return _table([*header, "p99.9 meanwhile", "max meanwhile", "failed"], rows)


def growth(results: Results, scenario: str, of: Callable[[Case], int]) -> str:
    """Rates by size, a column for each peer."""
    measured = [(case, out) for case, out in results.cases(scenario) if out.rounds]
    peers = list(dict.fromkeys(case.peer for case, _ in measured))
    rates = {(of(case), case.peer): out for case, out in measured}
    rows = []
    for extent in sorted({of(case) for case, _ in measured}):
        cells = [rates.get((extent, one), Outcome()) for one in peers]
        rows.append(
            [
                count(extent),
                *(
                    f"{rate(cell.median('rate'))} ({duration(cell.median('p99_ns'))})"
                    if cell.rounds
                    else NONE
                    for cell in cells
                ),
            ]
        )
    return _table([scenario, *(_name(one) for one in peers)], rows)


def calls(results: Results) -> str:
    """What a language adds to the C call."""
    by_c = results.of(matrix.call(peer("rust/ratelite"))).median("rate")
    rows = []
    for case, outcome in results.cases("call"):
        of_language = outcome.median("rate")
        beyond = quotient(1e9, of_language) - quotient(1e9, by_c)
        rows.append(
            [
                _name(case.peer),
                duration(quotient(1e9, of_language)),
                duration(outcome.median("p50_ns")),
                NONE if case.peer.language == "rust" else duration(beyond),
            ]
        )
    return _table(["caller", "a call (mean)", "a call (p50, timed)", "beyond the C call"], rows)


def machine(results: Results) -> str:
    """Names and values."""
    clocks = [
        [f"one reading of the clock in {LANGUAGES[language]}", duration(ns)]
        for language, ns in results.clocks.items()
    ]
    loops = [
        [f"the loop itself, a hit, in {LANGUAGES[language]}", duration(ns)]
        for language, ns in results.loops.items()
    ]
    return text_table(["machine", ""], [*results.machine.items(), *clocks, *loops])


def versions(results: Results) -> str:
    """What the peers are."""
    return text_table(["peer", "version"], results.versions.items())


def not_measured(results: Results) -> str:
    """What is missing, and why."""
    lines = [f"* {name}: {_line(why)}" for name, why in results.absent.items()]
    lines += [f"* {case}: {_line(why)}" for case, why in results.failures()]
    lines += [
        f"* {one.id} with more than one key: {one.one_key}"
        for one in PEERS
        if one.one_key and one.id not in results.absent
    ]
    return "\n".join(lines) or "Nothing: every peer was measured."


def failed_hits(results: Results) -> str:
    """The first error of each case with failed hits."""
    lines = []
    for case, outcome in results.all():
        first = next((one.error for one in outcome.rounds if one.error), None)
        if first:
            failed = f"{count(outcome.errors)} of {count(outcome.hits)}"
            lines.append(f"* {case}: {failed}: {_line(first)}")
    return "\n".join(lines) or "None."


def _name(one: Peer) -> str:
    crowd = {Crowd.THREADS: " (threads)", Crowd.CHILDREN: " (forked)"}.get(one.crowd, "")
    label = "C ABI" if one.ours and one.language == "rust" else LANGUAGES[one.language]
    emphasis = "**" if one.ours else ""
    return f"{emphasis}{label}: {one.name}{crowd}{emphasis}"


def _latency(outcome: Outcome) -> list[str]:
    times = [duration(outcome.median(name)) for name in ("p50_ns", "p99_ns", "p999_ns")]
    return [*times, duration(outcome.worst("max_ns"))]


def _bytes(number: float) -> str:
    return NONE if math.isnan(number) else f"{max(0.0, number):,.0f} B"


def _line(text: str) -> str:
    first = " ".join(text.replace(f"{ROOT}/", "").split())
    return first if len(first) <= 200 else f"{first[:199]}…"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = list(rows)
    return table(header, lines) if lines else ""
