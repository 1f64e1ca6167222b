"""Rows put in are rows to the peer."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import fill
from .answer import Answer
from .crew import Crew
from .keys import KeyFiles

ROWS = 50


def job(name: str, directory: Path, limit: int) -> dict[str, object]:
    return {
        "peer": name,
        "store": str(directory / "limits.db"),
        "keys": str(KeyFiles(directory).uniform(ROWS, 0)),
        "limit": limit,
        "window_ms": 86_400_000,
    }


def put(name: str, directory: Path, *, expired: bool) -> None:
    store = directory / "limits.db"
    if name.startswith("ratelite"):
        fill.by_hits(store, KeyFiles(directory), ROWS, expired=expired)
    else:
        with Crew("python", [job(name, directory, limit=1)]):
            pass
        fill.by_sql(store, ROWS, expired=expired)


@pytest.mark.parametrize("name", ["ratelite", "ratelite-hit", "how-to"])
def test_live_rows_count_one_hit_each(name: str, tmp_path: Path) -> None:
    put(name, tmp_path, expired=False)
    with Crew("python", [job(name, tmp_path, limit=2)]) as crew:
        (answer,) = crew.do({"do": "hits", "count": 2 * ROWS})
    assert (answer.allowed, answer.error) == (ROWS, None)


@pytest.mark.parametrize("name", ["ratelite", "ratelite-hit", "how-to"])
def test_expired_rows_are_pruned(name: str, tmp_path: Path) -> None:
    put(name, tmp_path, expired=True)
    with Crew("python", [job(name, tmp_path, limit=1)]) as crew:
        (worker,) = crew.workers
        worker.send({"do": "prune"})
        pruned = Answer.of(worker.receive(30))
        (answer,) = crew.do({"do": "hits", "count": ROWS})
    assert pruned.error is None
    # The worker's own first hit prunes some, where hits do.
    assert pruned.removed == ROWS if name == "how-to" else 0 < pruned.removed <= ROWS + 1
    assert (answer.allowed, answer.error) == (ROWS, None)
