"""Rows put in by SQL are rows to the peer."""

from __future__ import annotations

from pathlib import Path

import pytest

from .answer import Answer
from .crew import Crew
from .fill import fill
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


@pytest.mark.parametrize("name", ["ratelite", "how-to"])
def test_live_rows_count_one_hit_each(name: str, tmp_path: Path) -> None:
    with Crew("python", [job(name, tmp_path, limit=2)]):
        pass
    fill(tmp_path / "limits.db", ROWS)
    with Crew("python", [job(name, tmp_path, limit=2)]) as crew:
        (answer,) = crew.do({"do": "hits", "count": 2 * ROWS, "each": False})
    assert (answer.allowed, answer.error) == (ROWS, None)


@pytest.mark.parametrize(("name", "pruned_by_a_hit"), [("ratelite", 18), ("how-to", 0)])
def test_expired_rows_are_pruned(name: str, pruned_by_a_hit: int, tmp_path: Path) -> None:
    with Crew("python", [job(name, tmp_path, limit=1)]):
        pass
    fill(tmp_path / "limits.db", ROWS, expired=True)
    with Crew("python", [job(name, tmp_path, limit=1)]) as crew:
        (worker,) = crew.workers
        worker.send({"do": "prune"})
        pruned = Answer.of(worker.receive(30))
        (answer,) = crew.do({"do": "hits", "count": ROWS, "each": False})
    # The worker's own first hit adds a row.
    assert (pruned.error, pruned.removed) == (None, ROWS - pruned_by_a_hit)
    assert (answer.allowed, answer.error) == (ROWS, None)
