"""What a worker answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .histogram import Histogram


@dataclass(frozen=True)
class Answer:
    """Members as in the protocol of benches/README.md."""

    hits: int
    allowed: int
    errors: int
    error: str | None
    seconds: float
    rss_bytes: int
    removed: int
    #: Of each thread or child.
    hits_each: tuple[int, ...]
    seconds_each: tuple[float, ...]
    latency: Histogram

    @staticmethod
    def of(members: Mapping[str, Any]) -> Answer:
        """Reads the members of a line."""
        hits = members.get("hits", 0)
        return Answer(
            hits=hits,
            allowed=members.get("allowed", 0),
            # A failed prune has no hits and says `error` alone.
            errors=members.get("errors", int(members.get("error") is not None)),
            error=members.get("error"),
            seconds=members["seconds"],
            rss_bytes=members.get("rss_bytes", 0),
            removed=members.get("removed", 0),
            hits_each=tuple(members.get("hits_each") or [hits]),
            seconds_each=tuple(members.get("seconds_each") or [members["seconds"]]),
            latency=Histogram(
                ((bucket, count) for bucket, count in members.get("latency", ())),
                members.get("max_ns", 0),
            ),
        )

    @property
    def rate(self) -> float:
        """Answered hits a second, of threads and children in sum as of workers."""
        each = zip(self.hits_each, self.seconds_each, strict=True)
        tried = sum(hits / seconds for hits, seconds in each if seconds)
        return tried * (self.hits - self.errors) / self.hits if self.hits else 0.0
