"""Files of keys, prepared outside every loop: 16 bytes each, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

#: Draws in a file, where not every key is to come once.
DRAWS = 500_000
#: Coprime to every power of ten: spreads ranks over the keys, so that hot ones are not neighbours.
_SPREAD = 611_953


def key(number: int) -> str:
    """The key of a number below 10^10."""
    return f"client{number:010d}"


class KeyFiles:
    """Makes a file when it is first asked for. Each worker gets an order of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._weights: dict[int, list[float]] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def hot(self) -> Path:
        """One key."""
        return self._file("hot", [0])

    def uniform(self, count: int, worker: int) -> Path:
        """Keys of which none is likelier than another: each once, or drawn if they are many."""
        name = f"uniform-{count}-{worker}"
        if self._path(name).exists():
            return self._path(name)
        if count <= DRAWS:
            return self.live(count, worker)
        order = random.Random(worker)
        return self._file(name, (order.randrange(count) for _ in range(DRAWS)))

    def live(self, count: int, worker: int) -> Path:
        """Each key once, in an order of the worker's own."""
        name = f"live-{count}-{worker}"
        if self._path(name).exists():
            return self._path(name)
        numbers = list(range(count))
        random.Random(worker).shuffle(numbers)
        return self._file(name, numbers)

    def in_order(self, count: int) -> Path:
        """Each key once."""
        path = self._path(f"order-{count}")
        return path if path.exists() else self._file(path.stem, range(count))

    def zipf(self, count: int, worker: int) -> Path:
        """Draws by Zipf's law with exponent 1: the n-th key comes a n-th as often as the first."""
        name = f"zipf-{count}-{worker}"
        if self._path(name).exists():
            return self._path(name)
        weights = self._weights.setdefault(
            count, list(accumulate(1 / rank for rank in range(1, count + 1)))
        )
        ranks = random.Random(worker).choices(range(count), cum_weights=weights, k=DRAWS)
        return self._file(name, (rank * _SPREAD % count for rank in ranks))

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.txt"

    def _file(self, name: str, numbers: Iterable[int]) -> Path:
        path = self._path(name)
        # Whole or not at all: the next run takes what is there.
        part = path.with_suffix(".part")
        with part.open("w", encoding="ascii") as file:
            file.writelines(f"{key(number)}\n" for number in numbers)
        return part.replace(path)
