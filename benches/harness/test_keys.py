"""Files of keys."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .keys import DRAWS, KeyFiles, key


@pytest.fixture
def files(tmp_path: Path) -> KeyFiles:
    return KeyFiles(tmp_path / "keys")


def test_keys_are_16_bytes(files: KeyFiles) -> None:
    assert all(len(key(number)) == 16 for number in (0, 9_999_999_999))
    assert files.hot().read_text() == f"{key(0)}\n"


def test_each_worker_hits_all_uniform_keys_in_an_order_of_its_own(files: KeyFiles) -> None:
    first, second = (files.uniform(1_000, worker).read_text().split() for worker in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second) == [key(number) for number in range(1_000)]


def test_live_keys_are_all_there(files: KeyFiles) -> None:
    every = [key(number) for number in range(1_000)]
    assert files.in_order(1_000).read_text().split() == every
    assert sorted(files.live(1_000, 0).read_text().split()) == every


def test_very_many_uniform_keys_are_drawn(files: KeyFiles) -> None:
    drawn = files.uniform(10 * DRAWS, 0).read_text().split()
    assert len(drawn) == DRAWS
    assert max(drawn) < key(10 * DRAWS)
    assert len(set(drawn)) > 0.9 * DRAWS


def test_the_most_frequent_keys_follow_zipf(files: KeyFiles) -> None:
    drawn = Counter(files.zipf(1_000, 0).read_text().split()).most_common(4)
    most = drawn[0][1]
    for rank, (_, times) in enumerate(drawn, start=1):
        assert times == pytest.approx(most / rank, rel=0.05)


def test_a_run_has_the_keys_of_the_last_one(files: KeyFiles, tmp_path: Path) -> None:
    again = KeyFiles(tmp_path / "again")
    assert files.zipf(100, 3).read_text() == again.zipf(100, 3).read_text()
    assert files.uniform(100, 3).read_text() == again.uniform(100, 3).read_text()
    assert files.uniform(100, 3) == files.uniform(100, 3)
