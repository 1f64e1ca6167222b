"""Waiting sleeps what the result says, and not when it cannot help."""

from __future__ import annotations

import asyncio
import time
from typing import NoReturn

import pytest
from helpers import LONG, NOW

from ratelite import Limiter, Result
from ratelite._waiting import JITTER, pause


def denied(retry_after: int) -> Result:
    return Result(False, 3, 4, 0, NOW, retry_after, 0, 10_000, NOW * 1000, 0, 0, False, "default")


@pytest.mark.parametrize(
    ("retry_after", "left", "chance", "expected"),
    [
        (7, None, 0.0, 7.0),
        (7, None, 1.0, 7.0 + JITTER),
        (7, 100.0, 0.5, 7.0 + JITTER / 2),
        (7, 7.0, 1.0, 7.0),
        (7, 7.0, 0.0, 7.0),
        (7, 6.9, 0.0, None),
        (7, 0.0, 0.0, None),
        (7, -1.0, 0.0, None),
        (-1, None, 0.0, None),
        (-1, 100.0, 0.0, None),
    ],
)
def test_a_pause_is_retry_after_and_a_little_more(
    retry_after: int, left: float | None, chance: float, expected: float | None
) -> None:
    assert pause(denied(retry_after), left, chance) == expected


def test_an_allowed_hit_needs_no_pause(three: Limiter) -> None:
    assert pause(three.hit("alice", now=NOW), None, 0.5) is None


def refuse_to_sleep(_: float) -> NoReturn:
    raise AssertionError("slept")


def test_no_sleep_when_no_wait_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", refuse_to_sleep)
    monkeypatch.setattr(asyncio, "sleep", refuse_to_sleep)
    with Limiter(":memory:", f"3/{LONG}") as limiter:
        never = limiter.wait("alice", cost=4)
        assert (never.allowed, never.retry_after) == (False, -1)
        assert asyncio.run(limiter.wait_async("alice", cost=4)).retry_after == -1


def test_no_sleep_when_the_wait_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", refuse_to_sleep)
    monkeypatch.setattr(asyncio, "sleep", refuse_to_sleep)
    with Limiter(":memory:", f"1/{LONG}") as limiter:
        assert limiter.wait("alice")
        assert not limiter.wait("alice", timeout=1)
        assert not asyncio.run(limiter.wait_async("alice", timeout=1))
        assert limiter.status("alice").count == 3


def test_waiting_ends_in_an_allowance() -> None:
    with Limiter(":memory:", "2/s") as limiter:
        assert all(limiter.wait("alice") for _ in range(3))


def test_waiting_in_a_coroutine_ends_in_an_allowance_for_all() -> None:
    async def waiters(limiter: Limiter) -> list[Result]:
        return await asyncio.gather(*(limiter.wait_async("alice", timeout=20) for _ in range(8)))

    with Limiter(":memory:", "4/s") as limiter:
        assert all(asyncio.run(waiters(limiter)))
