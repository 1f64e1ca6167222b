"""Every worker keeps the protocol; Node's where `make bench` has set it up."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .answer import Answer
from .case import DENY
from .crew import Crew
from .keys import KeyFiles
from .paths import BENCH
from .peers import Peer, Store, peer
from .redis_server import RedisServer
from .worker import WorkerError

PEERS = [
    peer(f"{language}/{name}")
    for language in ("python", "php", "rust")
    for name in ("ratelite", "ratelite-hit", "how-to")
] + [peer("rust/governor"), peer("rust/ratelite-format-key")]
ON_REDIS = [
    peer(name)
    for name in (
        "rust/ratelite-redis",
        "rust/ratelite-redis-denied",
        "rust/ratelite-redis-socket",
        "rust/redis-script",
        "rust/redis-script-socket",
        "python/ratelite-redis",
        "python/ratelite-redis-denied",
        "php/ratelite-redis",
        "php/ratelite-redis-denied",
    )
]
if (BENCH / "node").exists():
    PEERS.append(peer("node/rlf-sqlite-wal"))
    ON_REDIS += [peer("node/rlf-redis"), peer("node/rlf-redis-block")]
if RedisServer.installed():
    PEERS += ON_REDIS

KEYS = 20
SHORT = 0.05


def job(one: Peer, directory: Path, **members: object) -> dict[str, object]:
    return {
        "peer": one.name,
        "store": str(directory / "limits.db"),
        "keys": str(KeyFiles(directory).uniform(KEYS, 0)),
        "limit": DENY,
        "window_ms": 86_400_000,
        "rules": 1,
        "threads": 1,
        **members,
    }


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    if not RedisServer.installed():
        pytest.skip("redis-server is not installed")
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture(params=PEERS, ids=lambda one: one.id)
def one(request: pytest.FixtureRequest) -> Peer:
    chosen: Peer = request.param
    return chosen


@pytest.fixture
def crew(one: Peer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Crew]:
    place = {}
    if one.on_redis:
        place["store"] = place_of(one, request.getfixturevalue("redis"))
    with Crew(one.language, [job(one, tmp_path, **place)]) as crew:
        yield crew


def place_of(one: Peer, redis: RedisServer) -> str:
    redis.flush()
    return redis.socket_url if one.store is Store.REDIS_SOCKET else redis.url


def only(answers: list[Answer]) -> Answer:
    (answer,) = answers
    assert (answer.errors, answer.error) == (0, None)
    return answer


def test_it_makes_so_many_hits_and_counts_what_was_allowed(crew: Crew) -> None:
    first = only(crew.do({"do": "hits", "count": KEYS * DENY}))
    assert (first.hits, first.allowed) == (KEYS * DENY, KEYS * DENY)
    again = only(crew.do({"do": "hits", "count": KEYS, "every": 1}))
    assert (again.hits, again.allowed) == (KEYS, 0)
    assert again.latency.count == KEYS
    assert again.rss_bytes > 1_000_000


def test_it_hits_for_so_many_seconds_and_times_each(crew: Crew) -> None:
    plain = only(crew.run(SHORT, every=0))
    timed = only(crew.run(SHORT, every=1))
    for answer in (plain, timed):
        assert answer.hits > 0
        assert SHORT <= answer.seconds < 20 * SHORT
    assert timed.latency.count == timed.hits
    assert 0 < timed.latency.percentile(50) <= timed.latency.max_ns <= timed.seconds * 1e9
    assert math.isnan(plain.latency.percentile(50))


def test_it_times_one_hit_of_so_many(crew: Crew) -> None:
    assert only(crew.do({"do": "hits", "count": 40, "every": 4})).latency.count == 10
    # The last one, if they do not come out even.
    assert only(crew.do({"do": "hits", "count": 10, "every": 64})).latency.count == 1
    run = only(crew.run(SHORT, every=64))
    assert run.latency.count == run.hits / 64


def test_it_begins_when_it_is_told(crew: Crew) -> None:
    at_ns = time.monotonic_ns() + 50_000_000
    answer = only(crew.do({"do": "run", "seconds": SHORT, "at_ns": at_ns}))
    assert time.monotonic_ns() > at_ns + SHORT * 1e9
    assert SHORT <= answer.seconds < 20 * SHORT


def test_thinking_is_no_part_of_a_hit(crew: Crew) -> None:
    answer = only(crew.run(4 * SHORT, every=1, think_us=50_000))
    assert 1 <= answer.hits <= 4 * SHORT / 0.05 + 1
    assert answer.latency.percentile(0) < 50e6


def test_it_opens_and_closes(crew: Crew) -> None:
    answer = only(crew.do({"do": "open", "seconds": SHORT, "every": 1}))
    assert answer.hits == answer.latency.count > 0


def test_it_introduces_itself(crew: Crew) -> None:
    (worker,) = crew.workers
    worker.send({"do": "about", "every": 64})
    about = worker.receive(10)
    assert isinstance(about["version"], str)
    assert 1 < about["clock_ns"] < 10_000
    assert 0 < about["loop_ns"] < 10_000


@pytest.mark.parametrize("name", ["ratelite", "how-to"])
def test_processes_share_a_file(name: str, tmp_path: Path) -> None:
    one = peer(f"python/{name}")
    hot = {"keys": str(KeyFiles(tmp_path).hot())}
    with Crew("python", [job(one, tmp_path, **hot) for _ in range(3)]) as crew:
        answers = crew.do({"do": "hits", "count": 8})
    assert sum(answer.hits for answer in answers) == 24
    assert sum(answer.allowed for answer in answers) == DENY


def test_threads_add_up(tmp_path: Path) -> None:
    one = peer("python/ratelite")
    with Crew("python", [job(one, tmp_path, threads=2)]) as crew:
        answer = only(crew.do({"do": "hits", "count": 5, "every": 1}))
    assert (answer.hits, answer.hits_each, answer.latency.count) == (10, (5, 5), 10)
    assert len(answer.seconds_each) == 2


@pytest.mark.parametrize("one", ON_REDIS, ids=lambda one: one.id)
def test_several_at_once_share_a_server(one: Peer, redis: RedisServer, tmp_path: Path) -> None:
    members = {one.at_once: 3, "store": place_of(one, redis), "keys": str(KeyFiles(tmp_path).hot())}
    with Crew(one.language, [job(one, tmp_path, **members) for _ in range(2)]) as crew:
        answers = crew.do({"do": "hits", "count": 8, "every": 1})
    assert [answer.hits_each for answer in answers] == [(8, 8, 8)] * 2
    assert [answer.latency.count for answer in answers] == [24] * 2
    assert [answer.error for answer in answers] == [None] * 2
    assert sum(answer.allowed for answer in answers) == DENY


def test_the_last_rule_is_hit(tmp_path: Path) -> None:
    one = peer("python/ratelite")
    with Crew("python", [job(one, tmp_path, rules=20)]) as crew:
        assert only(crew.do({"do": "hits", "count": 5})).allowed == 5


def test_a_worker_that_ends_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="nobody"):
        Crew("python", [{**job(peer("python/how-to"), tmp_path), "peer": "nobody"}]).__enter__()


def test_a_worker_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="cobol/how-to cannot be started"):
        Crew("cobol", [job(peer("python/how-to"), tmp_path)]).__enter__()
