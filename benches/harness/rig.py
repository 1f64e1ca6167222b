"""What cases share: key files, stores, a Redis, and jobs for workers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from . import fill
from .case import HOT, LIVE, UNIFORM, WINDOW_MS, Case
from .crew import Crew
from .keys import KeyFiles
from .paths import BENCH
from .peers import Crowd, Peer, Store
from .redis_server import RedisServer


class Rig:
    """Holds all that must be given back in the end."""

    def __init__(self) -> None:
        self.keys = KeyFiles(BENCH / "keys")
        self.redis = RedisServer() if RedisServer.installed() else None
        self._work = _directory(BENCH / "work")
        self._filled: dict[tuple[Peer, int, bool], Path] = {}

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.redis is not None:
            self.redis.stop()
        shutil.rmtree(self._work)

    @property
    def work(self) -> Path:
        """The directory on disk that stores are in."""
        return self._work

    @contextmanager
    def store(self, peer: Peer, parent: Path | None = None) -> Iterator[str]:
        """An empty store for a peer, below `parent` if it is a file; gone afterwards."""
        if peer.on_redis:
            if self.redis is None:
                raise RuntimeError("redis-server is not installed")
            self.redis.flush()
            yield self.redis.url if peer.store is Store.REDIS else self.redis.socket_url
        elif peer.on_file:
            with tempfile.TemporaryDirectory(dir=parent or self._work) as directory:
                yield str(Path(directory) / "limits.db")
        else:
            yield ""

    @contextmanager
    def filled(self, peer: Peer, rows: int, *, expired: bool = False) -> Iterator[str]:
        """A copy of a store that has so many rows already; gone afterwards."""
        original = self._original(peer, rows, expired)
        with self.store(peer) as store:
            shutil.copyfile(original, store)
            yield store

    def discard_filled(self) -> None:
        """Frees the disk of the originals that `filled` copies."""
        for original in self._filled.values():
            original.unlink()
        self._filled.clear()

    def jobs(self, case: Case, store: str) -> list[dict[str, Any]]:
        """A job for each worker of a case."""
        member = case.peer.crowd.value
        workers = 1 if member else case.processes
        jobs = [
            {
                "peer": case.peer.name,
                "store": ":memory:" if case.in_memory else store,
                "keys": str(self._keys_of(case, worker)),
                "limit": case.limit,
                "window_ms": WINDOW_MS,
                "rules": case.rules,
                "threads": 1,
                "table_slots": case.table_slots if case.peer.ours else 0,
            }
            for worker in range(workers)
        ]
        if case.processes > 1 and case.peer.crowd is not Crowd.PROCESSES:
            jobs[0][member] = case.processes
        if case.connections > 1:
            for job in jobs:
                job[case.peer.at_once] = case.connections
        return jobs

    def crew(self, case: Case, store: str) -> Crew:
        """The workers of a case."""
        return Crew(case.peer.language, self.jobs(case, store))

    def _keys_of(self, case: Case, worker: int) -> Path:
        if case.keys == HOT:
            return self.keys.hot()
        if case.keys == LIVE:
            return self.keys.live(case.key_count, worker)
        if case.keys == UNIFORM:
            return self.keys.uniform(case.key_count, worker)
        return self.keys.zipf(case.key_count, worker)

    def _original(self, peer: Peer, rows: int, expired: bool) -> Path:
        if peer.ours:
            peer = fill.OURS
        known = self._filled.get((peer, rows, expired))
        if known is not None:
            return known
        with self.store(peer) as store:
            if peer.ours:
                fill.by_hits(Path(store), self.keys, rows, expired=expired)
            else:
                # The peer makes its store itself; the row of its own hit shows how rows look.
                with self.crew(Case("fill", peer, HOT), store):
                    pass
                fill.by_sql(Path(store), rows, expired=expired)
            name = f"{peer.id.replace('/', '-')}-{rows}-{'expired' if expired else 'live'}.db"
            return self._filled.setdefault(
                (peer, rows, expired), Path(shutil.move(store, self._work / name))
            )


def _directory(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=parent))
