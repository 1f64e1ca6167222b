"""The limiters that are measured, each in a module of its own, loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Protocol, cast

from job import Job

#: Name of a peer: its module here.
_MODULES = {
    "ratelite": "ratelite",
    "ratelite-hit": "ratelite",
    "ratelite-redis": "ratelite",
    "ratelite-redis-denied": "ratelite",
    "how-to": "how_to",
    "limits-memory": "limits",
    "limits-redis": "limits",
    "pyrate-sqlite": "pyrate",
    "redis-script": "redis_script",
    "throttled-memory": "throttled",
}


class Peer(Protocol):
    """A limiter that is open. One that can remove expired rows has also `prune() -> int`."""

    def hit(self, key: str) -> bool:
        """Counts an attempt and says whether it is allowed. A failure raises."""

    def close(self) -> None:
        """Gives up what it holds."""

    def version(self) -> str:
        """What it is and runs on, for people."""


def opener(job: Job) -> Callable[[], Peer]:
    """What opens the peer of a job, again and again."""
    if job.peer not in _MODULES:
        raise ValueError(f"no peer {job.peer!r} here, only {', '.join(_MODULES)}")
    module = importlib.import_module(f"peers.{_MODULES[job.peer]}")
    open_peer = cast("Callable[[Job], Peer]", module.open_peer)
    return lambda: open_peer(job)


def versions(*distributions: str) -> str:
    """Names and versions of installed packages, and of Python."""
    names = [f"{name} {version(name)}" for name in distributions]
    return ", ".join([*names, f"Python {sys.version.split()[0]}"])
