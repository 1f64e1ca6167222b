"""Medians, and what is kept between a measurement and its report."""

from __future__ import annotations

import math
from pathlib import Path

from . import matrix
from .answer import Answer
from .peers import PEERS, peer
from .plan import FULL, QUICK
from .report import report
from .results import Outcome, Results, Round
from .summary import round_of


def answer(hits: int, **members: object) -> Answer:
    return Answer.of({"hits": hits, "allowed": hits, "errors": 0, "seconds": 2.0, **members})


def test_medians_are_of_rounds_and_the_worst_is_of_all() -> None:
    outcome = Outcome([Round(rate=rate, max_ns=rate) for rate in (5, 100, 7)])
    assert (outcome.median("rate"), outcome.worst("max_ns")) == (7, 100)
    assert math.isnan(outcome.median("p50_ns"))


def test_failed_hits_are_no_answers() -> None:
    plain = [answer(100, errors=50, error="locked")]
    one = round_of(plain, plain)
    assert (one.rate, one.hits, one.errors, one.error) == (25, 100, 50, "locked")


def test_rates_of_threads_add_up_as_those_of_processes() -> None:
    threads = answer(300, hits_each=[100, 200], seconds_each=[1.0, 2.0])
    assert threads.rate == 200
    assert answer(300, errors=150, hits_each=[100, 200], seconds_each=[1.0, 2.0]).rate == 100


def test_times_are_those_of_the_rate_where_it_has_some() -> None:
    timed = answer(1, latency=[[50, 1]], max_ns=50)
    assert round_of([answer(1)], [timed]).p50_ns == 50
    sampled = round_of([answer(64, latency=[[20, 1]], max_ns=20)], [timed])
    assert (sampled.p50_ns, sampled.max_ns) == (20, 50)


def test_fairness_is_the_slowest_by_the_fastest() -> None:
    several = [answer(50), answer(100), answer(80)]
    assert round_of(several, several).fairness == 0.5
    forked = [answer(230, hits_each=[50, 100, 80], seconds_each=[2.0] * 3)]
    assert round_of(forked, forked).fairness == 0.5
    assert math.isnan(round_of([answer(50)], []).fairness)


def test_results_survive_a_file(tmp_path: Path) -> None:
    results = Results()
    done, failed = (matrix.uniform(one, 8) for one in PEERS[:2])
    results.add(done, Round(rate=5, values={"granted": 3}))
    results.fail(failed, "it was silent")
    results.absent["node/rlf-redis"] = "no Redis"
    results.save(tmp_path / "results.json")
    again = Results.load(tmp_path / "results.json")
    assert again.of(done).median("rate") == 5
    assert again.of(done).median("granted") == 3
    assert again.failures() == [(failed, "it was silent")]
    assert again.absent == {"node/rlf-redis": "no Redis"}


def test_what_was_not_measured_is_reported_with_the_reason() -> None:
    results = Results()
    results.absent["node/rlf-redis"] = "no Redis"
    results.fail(matrix.exact(peer("python/how-to")), "it was silent")
    text = report(results, FULL, {})
    assert "* node/rlf-redis: no Redis" in text
    assert "* exactness python/how-to hot 8 processes: it was silent" in text
    assert "* python/pyrate-sqlite with more than one key: a bucket is a table" in text


def test_on_redis_ratelite_is_compared_with_those_on_the_same_server() -> None:
    results = Results()
    for name, rate in (("rust/ratelite-redis", 60), ("rust/redis-script", 20)):
        results.add(matrix.on_redis(peer(name), *matrix.EACH), Round(rate=rate))
    for name, rate in (("rust/ratelite-redis-denied", 900), ("rust/redis-script", 20)):
        results.add(matrix.flood(peer(name), matrix.FEW_FLOODING), Round(rate=rate))
    text = report(results, FULL, {})
    each, flood = (
        f"| C ABI, {what}: against a script in Rust | "
        for what in ("8 processes, a connection each", "a refused flood, 8 processes on one key")
    )
    assert f"{each}≥ 2.00 × | 3.00 × | yes |" in text
    assert f"{flood}≥ 50.0 × | 45.0 × | **no** |" in text
    assert "| **C ABI: ratelite-redis** | Rust: redis-script | – | 3.00 × | – | – | 45.0 ×" in text


def test_a_report_has_a_line_for_each_peer() -> None:
    results = Results()
    results.machine["processor"] = "fast"
    results.versions["python/how-to"] = "SQLite 3"
    for plan in (FULL, QUICK):
        for group in matrix.groups(plan):
            for case in group.cases:
                results.add(case, Round(rate=1000, p50_ns=5, p99_ns=6, p999_ns=7, max_ns=8))
    text = report(results, FULL, {"rates": "plots/rates.svg"})
    assert text.count("\n## ") == 28
    assert "![rates](plots/rates.svg)" in text
    for one in PEERS:
        assert f": {one.name}" in text
