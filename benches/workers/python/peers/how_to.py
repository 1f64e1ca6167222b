"""The how-to's own code: a table of counters in SQLite, as tutorials write it.

Everything is left as sqlite3 has it: rollback journal, a commit a request, 5 seconds of patience.
"""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime, timedelta

from job import Job
from peers import versions

_TABLE = """
CREATE TABLE IF NOT EXISTS rate_limits (
    client       TEXT    NOT NULL,
    window_start TEXT    NOT NULL,
    count        INTEGER NOT NULL,
    PRIMARY KEY (client, window_start)
)"""

_COUNT = """
INSERT INTO rate_limits (client, window_start, count) VALUES (?, ?, 1)
ON CONFLICT (client, window_start) DO UPDATE SET count = count + 1"""

_READ = "SELECT count FROM rate_limits WHERE client = ? AND window_start = ?"

_PRUNE = "DELETE FROM rate_limits WHERE window_start < ?"


def open_peer(job: Job) -> HowTo:
    """Opens the file, with the table in it."""
    return HowTo(job)


class HowTo:
    """Counts every request, denied ones too, and compares."""

    def __init__(self, job: Job) -> None:
        self._limit = job.limit
        self._window = job.window_ms / 1000
        # Threads: the worker may hit from a pool; one connection is not meant for two at a time.
        self._connection = sqlite3.connect(job.store, check_same_thread=job.threads == 1)
        with self._connection:
            self._connection.execute(_TABLE)

    def hit(self, key: str) -> bool:
        row = (key, self._window_start().isoformat())
        with self._connection:
            self._connection.execute(_COUNT, row)
            (count,) = self._connection.execute(_READ, row).fetchone()
        return bool(count <= self._limit)

    def prune(self) -> int:
        previous = self._window_start() - timedelta(seconds=self._window)
        with self._connection:
            return self._connection.execute(_PRUNE, (previous.isoformat(),)).rowcount

    def close(self) -> None:
        self._connection.close()

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}, {versions()}"

    def _window_start(self) -> datetime:
        now = time.time()
        return datetime.fromtimestamp(now - now % self._window, UTC)
