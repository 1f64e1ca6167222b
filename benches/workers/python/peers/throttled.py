"""throttled-py with a fixed window, in memory."""

from __future__ import annotations

from datetime import timedelta

from throttled import RateLimiterType, Throttled, rate_limiter, store

from job import Job
from peers import versions

#: The store holds 1,024 keys unless told otherwise and forgets the oldest, which would be fast.
_MAX_KEYS = 4_000_000


def open_peer(job: Job) -> InMemory:
    """Opens a store of its own, which no other limiter shares."""
    return InMemory(job)


class InMemory:
    """One quota, many keys."""

    def __init__(self, job: Job) -> None:
        self._throttled = Throttled(
            using=RateLimiterType.FIXED_WINDOW.value,
            quota=rate_limiter.per_duration(timedelta(milliseconds=job.window_ms), job.limit),
            store=store.MemoryStore(options={"MAX_SIZE": _MAX_KEYS}),
        )

    def hit(self, key: str) -> bool:
        return not self._throttled.limit(key).limited

    def close(self) -> None:
        """Nothing is held."""

    def version(self) -> str:
        return versions("throttled-py")
