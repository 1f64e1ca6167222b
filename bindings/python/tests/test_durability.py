"""When a hit is in the SQLite file; that it is counted at once is in test_processes.py."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from helpers import LONG

from ratelite import InvalidArgumentError, Limiter

POLICY = f"a: 9/{LONG}"
A_MINUTE = 60_000


def in_the_file(store: Path) -> int:
    """Units asked for, as another program reads them."""
    connection = sqlite3.connect(store)
    (attempts,) = connection.execute("SELECT total(attempts) FROM rate_limit_status").fetchone()
    connection.close()
    return int(attempts)


def test_a_hit_is_in_the_file_before_it_is_answered(store: Path) -> None:
    with Limiter(store, POLICY, durability="hit") as limiter:
        for hits in (1, 2, 3):
            limiter.hit("alice")
            assert in_the_file(store) == hits


def test_pruning_at_time_0_writes_out_what_was_counted(store: Path) -> None:
    with Limiter(store, POLICY, durability="interval", flush_interval_ms=A_MINUTE) as limiter:
        limiter.hit("alice", cost=2)
        limiter.hit("alice")
        assert limiter.prune(0) == 0
        assert in_the_file(store) == 3
        assert limiter.status("alice").remaining == 6


def test_the_options_are_in_force(store: Path) -> None:
    with Limiter(store, POLICY, durability="interval", flush_interval_ms=50) as limiter:
        assert limiter.info()["flush_interval_ms"] == 50
        # Null where the filesystem cannot carry a table; each hit is a transaction there.
        expected = "hit" if limiter.info()["table"] is None else "interval"
        assert limiter.info()["durability"] == expected


def test_who_creates_the_store_decides_how_large_its_table_is(store: Path) -> None:
    with Limiter(store, POLICY, table_slots=160) as limiter:
        table = limiter.info()["table"]
    if table is not None:
        assert table["slots"] == 160
        Limiter(store, POLICY).close()
        with pytest.raises(InvalidArgumentError, match="table_slots 160, not 320"):
            Limiter(store, POLICY, table_slots=320)
