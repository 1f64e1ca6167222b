from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratelite import Limiter


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The path of a store that does not exist yet."""
    return tmp_path / "limits.db"


@pytest.fixture
def three(store: Path) -> Iterator[Limiter]:
    """A limiter of three a minute, in a file."""
    with Limiter(store, "3/min") as limiter:
        yield limiter
