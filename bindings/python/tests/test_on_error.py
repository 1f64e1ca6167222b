"""A failure of the store is raised, or becomes what `on_error` says; a wrong argument is raised."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratelite import InvalidArgumentError, Limiter, RateLimitExceeded, StoreBusyError

POLICY = "login: 3/min"


@pytest.fixture
def busy(store: Path) -> Iterator[Path]:
    """A store in which another holds a write transaction."""
    # A rule that is new to the store is written when a limiter opens.
    Limiter(store, POLICY).close()
    connection = sqlite3.connect(store)
    connection.execute("BEGIN IMMEDIATE")
    yield store
    connection.close()


def limiter_of(store: Path, on_error: str) -> Limiter:
    # Hits at an interval do not wait for the file.
    return Limiter(store, POLICY, on_error=on_error, busy_timeout_ms=-1, durability="hit")


def test_a_failure_is_raised_with_its_code(busy: Path) -> None:
    limiter = limiter_of(busy, "raise")
    with pytest.raises(StoreBusyError) as caught:
        limiter.hit("alice")
    assert caught.value.code == -4
    assert limiter.status("alice").remaining == 3


def test_allow_lets_pass_and_says_why(busy: Path, caplog: pytest.LogCaptureFixture) -> None:
    limiter = limiter_of(busy, "allow")
    with caplog.at_level(logging.WARNING, "ratelite"):
        result = limiter.hit("secret-key")
    assert result
    assert isinstance(result.error, StoreBusyError)
    assert (result.rule, result.retry_after) == ("login", 0)
    assert limiter.check("secret-key") is not None
    record = caplog.records[0]
    assert record.name == "ratelite"
    assert record.getMessage().startswith("allowed, as on_error says: ")
    assert "secret-key" not in caplog.text
    assert repr(result).startswith("<Result allowed, since the store failed: ")


def test_deny_refuses_and_says_why(busy: Path, caplog: pytest.LogCaptureFixture) -> None:
    limiter = limiter_of(busy, "deny")
    result = limiter.hit("alice")
    assert not result
    assert json.loads(limiter.problem(result))["status"] == 503
    assert isinstance(result.error, StoreBusyError)
    assert result.retry_after == 1
    with pytest.raises(RateLimitExceeded, match="since the store failed") as caught:
        limiter.check("alice")
    assert isinstance(caught.value.__cause__, StoreBusyError)
    assert "denied, as on_error says: " in caplog.text


def test_every_way_to_judge_goes_through_it(busy: Path) -> None:
    limiter = limiter_of(busy, "allow")
    assert limiter.hit("alice").error
    assert limiter.refund("alice").error
    assert limiter.wait("alice", timeout=0).error
    assert asyncio.run(limiter.hit_async("alice")).error


def test_keeping_the_store_is_raised_whatever_on_error(busy: Path) -> None:
    limiter = limiter_of(busy, "allow")
    with pytest.raises(StoreBusyError):
        limiter.reset("alice")


def test_a_wrong_argument_is_raised_whatever_on_error(busy: Path) -> None:
    for on_error in ("allow", "deny"):
        limiter = limiter_of(busy, on_error)
        with pytest.raises(InvalidArgumentError):
            limiter.hit("")
        with pytest.raises(LookupError):
            limiter.hit("alice", rule="other")


def test_a_result_without_an_answer_makes_no_headers(busy: Path) -> None:
    limiter = limiter_of(busy, "allow")
    assert limiter.headers(limiter.hit("alice")) == []


def test_a_closed_limiter_is_no_failure_of_the_store(store: Path) -> None:
    limiter = limiter_of(store, "allow")
    limiter.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        limiter.hit("alice")
