"""Exactly the limit is granted, whoever asks: forks, spawned processes, threads, tasks."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest
from helpers import LONG, NOW

from ratelite import Limiter

POLICY = f"100/{LONG}"
PROCESSES = 4
HITS = 40

#: Opened before the fork, used after it.
inherited: Limiter | None = None


def granted_by(limiter: Limiter, hits: int = HITS) -> int:
    return sum(limiter.hit("alice", now=NOW).allowed for _ in range(hits))


def hit_what_was_inherited(_: int) -> int:
    assert inherited is not None
    return granted_by(inherited)


def hit_what_is_opened(store: str) -> int:
    with Limiter(store, POLICY, busy_timeout_ms=20_000) as limiter:
        return granted_by(limiter)


def assert_exact(store: Path, granted: list[int]) -> None:
    assert sum(granted) == 100
    with Limiter(store, POLICY) as limiter:
        assert limiter.status("alice", now=NOW).count == PROCESSES * HITS


def test_forked_processes_grant_exactly_the_limit(store: Path) -> None:
    global inherited
    with Limiter(store, POLICY, busy_timeout_ms=20_000) as inherited:
        assert inherited.hit("another", now=NOW)
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            granted = pool.map(hit_what_was_inherited, range(PROCESSES), chunksize=1)
        assert inherited.hit("another", now=NOW).count == 2
    assert_exact(store, granted)


def test_spawned_processes_grant_exactly_the_limit(store: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        granted = pool.map(hit_what_is_opened, [str(store)] * PROCESSES, chunksize=1)
    assert_exact(store, granted)


def test_a_child_may_close_what_its_parent_goes_on_using(store: Path) -> None:
    limiter = Limiter(store, POLICY)
    limiter.hit("alice", now=NOW)
    child = os.fork()
    if child == 0:
        limiter.hit("alice", now=NOW)
        limiter.close()
        os._exit(0 if limiter.closed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert limiter.hit("alice", now=NOW).count == 3


def test_a_fork_while_threads_hit_stays_exact(store: Path) -> None:
    limiter = Limiter(store, f"1000000/{LONG}", busy_timeout_ms=20_000)
    running = threading.Event()
    stop = threading.Event()
    counted: list[int] = []

    def hit() -> None:
        hits = 0
        while not stop.is_set():
            assert limiter.hit("alice", now=NOW)
            hits += 1
            running.set()
        counted.append(hits)

    threads = [threading.Thread(target=hit) for _ in range(4)]
    for thread in threads:
        thread.start()
    running.wait()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            os._exit(0 if granted_by(limiter, 5) == 5 else 1)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert len(counted) == 4
    assert limiter.status("alice", now=NOW).count == sum(counted) + 50


def test_sixteen_threads_grant_exactly_the_limit(store: Path) -> None:
    with Limiter(store, POLICY, busy_timeout_ms=20_000) as limiter, ThreadPool(16) as pool:
        assert sum(pool.map(lambda _: granted_by(limiter, 10), range(16), chunksize=1)) == 100
        assert limiter.status("alice", now=NOW).count == 160


def test_threads_never_get_each_others_answers(store: Path) -> None:
    # Sixteen keys: each thread must see its own count go up by one at a time.
    def counts(limiter: Limiter, key: str) -> list[int]:
        return [limiter.hit(key, now=NOW).count for _ in range(50)]

    with Limiter(store, POLICY, busy_timeout_ms=20_000) as limiter, ThreadPool(16) as pool:
        for found in pool.map(lambda key: counts(limiter, str(key)), range(16), chunksize=1):
            assert found == list(range(1, 51))


def test_a_signal_handler_that_hits_does_not_change_the_answer_it_interrupts(store: Path) -> None:
    with Limiter(store, f"9007199254740991/{LONG}") as limiter:
        handled: list[int] = []

        def handler(*_: Any) -> None:
            handled.append(limiter.hit("handler", now=NOW).count)

        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        hits = 0
        try:
            while len(handled) < 100:
                hits += 1
                assert limiter.hit("alice", now=NOW).count == hits
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert sorted(handled) == list(range(1, len(handled) + 1))


def test_a_thousand_tasks_grant_exactly_the_limit(store: Path) -> None:
    async def thousand(limiter: Limiter) -> list[Any]:
        return await asyncio.gather(*(limiter.hit_async("alice", now=NOW) for _ in range(1000)))

    with Limiter(store, POLICY, busy_timeout_ms=20_000) as limiter:
        results = asyncio.run(thousand(limiter))
        assert sum(result.allowed for result in results) == 100
        assert sorted(result.count for result in results) == list(range(1, 1001))


@pytest.mark.parametrize("decorated", [False, True])
def test_a_waiting_hit_does_not_block_the_event_loop(store: Path, decorated: bool) -> None:
    # The store is held by a transaction that only ends when the loop goes on.
    async def scene(limiter: Limiter) -> None:
        import sqlite3

        holder = sqlite3.connect(store)
        holder.execute("BEGIN IMMEDIATE")

        @limiter.limit(key="alice")
        async def work() -> bool:
            return True

        waiting = asyncio.ensure_future(work() if decorated else limiter.hit_async("alice"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        holder.rollback()
        holder.close()
        assert await waiting

    with Limiter(store, POLICY, busy_timeout_ms=30_000, durability="hit") as limiter:
        asyncio.run(scene(limiter))
