"""What came of a number of hits."""

from __future__ import annotations

import resource
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from latency import Latency


@dataclass
class Tally:
    """The counts of one answer of the protocol."""

    hits: int = 0
    allowed: int = 0
    errors: int = 0
    seconds: float = 0.0
    error: str | None = None
    latency: Latency | None = None
    hits_each: list[int] = field(default_factory=list)
    seconds_each: list[float] = field(default_factory=list)

    def fail(self, error: BaseException) -> None:
        """Counts an error; the first one's text is kept."""
        self.errors += 1
        if self.error is None:
            self.error = f"{type(error).__name__}: {error}"

    def merge(self, other: Tally) -> None:
        """Adds what another thread did in the same time."""
        self.hits_each = [*(self.hits_each or [self.hits]), other.hits]
        self.seconds_each = [*(self.seconds_each or [self.seconds]), other.seconds]
        self.hits += other.hits
        self.allowed += other.allowed
        self.errors += other.errors
        self.seconds = max(self.seconds, other.seconds)
        self.error = self.error or other.error
        if self.latency is not None and other.latency is not None:
            self.latency.merge(other.latency)

    def answer(self) -> dict[str, Any]:
        """The members of the protocol's answer."""
        members: dict[str, Any] = {
            "hits": self.hits,
            "allowed": self.allowed,
            "errors": self.errors,
            "seconds": self.seconds,
            "error": self.error,
            "rss_bytes": _rss_bytes(),
        }
        if self.latency is not None:
            members["latency"] = sorted(self.latency.counts.items())
            members["max_ns"] = self.latency.max_ns
        if self.hits_each:
            members["hits_each"] = self.hits_each
            members["seconds_each"] = self.seconds_each
        return members


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
