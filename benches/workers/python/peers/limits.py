"""`limits` with a fixed window, in memory or on Redis."""

from __future__ import annotations

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter

from job import Job
from peers import versions


def open_peer(job: Job) -> Limits:
    """Opens the storage that the peer's name ends in."""
    return Limits(job)


class Limits:
    """One item, many identifiers."""

    def __init__(self, job: Job) -> None:
        self._redis = RedisStorage(job.store) if job.peer == "limits-redis" else None
        self._limiter = FixedWindowRateLimiter(self._redis or MemoryStorage())
        self._item = RateLimitItemPerSecond(job.limit, job.window_ms // 1000)

    def hit(self, key: str) -> bool:
        return bool(self._limiter.hit(self._item, key))

    def close(self) -> None:
        if self._redis is not None:
            self._redis.storage.close()

    def version(self) -> str:
        return versions("limits", "redis") if self._redis is not None else versions("limits")
