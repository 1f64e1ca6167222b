"""ratelite by its Python binding, in either durability, and on a server."""

from __future__ import annotations

import inspect
from typing import Any

from job import Job
from peers import versions
from ratelite import Limiter, version

#: How long to wait for a server: as in the Rust worker.
PATIENCE_MS = 5_000

_OPTIONS = inspect.signature(Limiter).parameters


def open_peer(job: Job) -> Ratelite:
    """Opens the store with a policy of as many rules as the job says."""
    return Ratelite(job)


class Ratelite:
    """The last rule of the policy is hit; the only one need not be named."""

    def __init__(self, job: Job) -> None:
        self._rule = f"rule{job.rules}" if job.rules > 1 else None
        limits = f"{job.limit}/{job.window_ms}ms"
        policy = ";".join(f"rule{n}: {limits}" for n in range(1, job.rules + 1))
        options: dict[str, Any] = {}
        if "-redis" in job.peer:
            options["remember_denied"] = job.peer.endswith("-denied")
            options["connect_timeout_ms"] = options["command_timeout_ms"] = PATIENCE_MS
        else:
            options["durability"] = "hit" if job.peer.endswith("-hit") else "interval"
        if job.table_slots and "table_slots" in _OPTIONS:
            options["table_slots"] = job.table_slots
        self._limiter = Limiter(job.store, policy, **options)

    def hit(self, key: str) -> bool:
        return self._limiter.hit(key, rule=self._rule).allowed

    def prune(self) -> int:
        return self._limiter.prune()

    def close(self) -> None:
        self._limiter.close()

    def version(self) -> str:
        # The durability that is in force, which need not be the one asked for.
        info = self._limiter.info()
        in_force = (
            f"{info['engine']} {info['engine_version']}, remember_denied {info['remember_denied']}"
            if "remember_denied" in info
            else f"durability {info['durability']}"
        )
        return f"ratelite {version()}, {in_force}, {versions()}"
