"""pyrate-limiter on SQLite, with the file lock that it asks for where processes share a store.

A bucket is a table with a connection of its own, so this is a peer for few keys.
"""

from __future__ import annotations

from pyrate_limiter import Rate, RateItem, SQLiteBucket
from pyrate_limiter.limiter_factory import create_sqlite_bucket

from job import Job
from peers import versions


def open_peer(job: Job) -> Pyrate:
    """Opens nothing yet: a bucket is opened with its first key."""
    return Pyrate(job)


class Pyrate:
    """A bucket a key. It keeps a row for each allowed hit: a sliding log."""

    def __init__(self, job: Job) -> None:
        self._store = job.store
        self._rate = Rate(job.limit, job.window_ms)
        self._buckets: dict[str, SQLiteBucket] = {}

    def hit(self, key: str) -> bool:
        bucket = self._buckets.get(key) or self._bucket_of(key)
        # Not by Limiter.try_acquire(): without `blocking` it takes a lock that another process
        # holds for a denial, with it it sleeps until the window ends.
        return bool(bucket.put(RateItem(key, bucket.now())))

    def close(self) -> None:
        for bucket in self._buckets.values():
            bucket.close()
        self._buckets.clear()

    def version(self) -> str:
        return versions("pyrate-limiter", "filelock")

    def _bucket_of(self, key: str) -> SQLiteBucket:
        bucket = create_sqlite_bucket([self._rate], self._store, table_name=key, use_file_lock=True)
        self._buckets[key] = bucket
        return bucket
