"""What a key costs: memory of the worker or of Redis, and bytes of the file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ..case import Case
from ..peers import Store
from ..plan import Plan
from ..results import Round
from ..rig import Rig

#: Only sizes are looked at, so the file need not wait for a disk.
SHARED_MEMORY = Path("/dev/shm")


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """Hits each key once, between two looks."""
    parent = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    with rig.store(case.peer, parent) as store:
        with rig.crew(case, store) as crew:
            (before,) = crew.do({"do": "hits", "count": 1})
            kept = _kept(rig, case)
            (after,) = crew.do({"do": "hits", "count": case.key_count - 1})
            memory = (after.rss_bytes - before.rss_bytes) / case.key_count
            values = {"memory_bytes": memory}
            if case.peer.store is Store.REDIS:
                values["memory_bytes"] = (_kept(rig, case) - kept) / case.key_count
        if case.peer.on_file:
            values["disk_bytes"] = _file_bytes(Path(store)) / case.key_count
            values["beside_bytes"] = _bytes_beside(Path(store))
    return Round(hits=after.hits, errors=after.errors, error=after.error, values=values)


def _kept(rig: Rig, case: Case) -> int:
    if case.peer.store is not Store.REDIS or rig.redis is None:
        return 0
    return rig.redis.used_bytes()


def _file_bytes(store: Path) -> int:
    """With what is still in the log moved into the file, as it rests."""
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return store.stat().st_size


def _bytes_beside(store: Path) -> int:
    """What else stands there, however many keys there are."""
    return sum(file.stat().st_size for file in store.parent.iterdir() if file != store)
