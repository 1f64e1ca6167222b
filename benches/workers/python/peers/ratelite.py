"""ratelite by its Python binding."""

from __future__ import annotations

from job import Job
from peers import versions
from ratelite import Limiter, version


def open_peer(job: Job) -> Ratelite:
    """Opens the store with a policy of as many rules as the job says."""
    return Ratelite(job)


class Ratelite:
    """The last rule of the policy is hit."""

    def __init__(self, job: Job) -> None:
        self._rule = f"rule{job.rules}"
        limits = f"{job.limit}/{job.window_ms}ms"
        policy = ";".join(f"rule{n}: {limits}" for n in range(1, job.rules + 1))
        self._limiter = Limiter(job.store, policy)

    def hit(self, key: str) -> bool:
        return self._limiter.hit(key, rule=self._rule).allowed

    def prune(self) -> int:
        return self._limiter.prune()

    def close(self) -> None:
        self._limiter.close()

    def version(self) -> str:
        return f"ratelite {version()}, {versions()}"
