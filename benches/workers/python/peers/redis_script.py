"""What people write for Redis by themselves: a script of two commands, by redis-py."""

from __future__ import annotations

from redis import Redis

from job import Job
from peers import versions

#: A window begins with a key's first hit, and its end removes the key.
HIT = """
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return n
"""


def open_peer(job: Job) -> RedisScript:
    """Opens a client, whose pool has a connection for each thread."""
    return RedisScript(job)


class RedisScript:
    """One limit, many keys."""

    def __init__(self, job: Job) -> None:
        self._client = Redis.from_url(job.store)
        self._script = self._client.register_script(HIT)
        self._limit, self._window_ms = job.limit, job.window_ms

    def hit(self, key: str) -> bool:
        return int(self._script(keys=(key,), args=(1, self._window_ms))) <= self._limit

    def close(self) -> None:
        self._client.close()

    def version(self) -> str:
        return versions("redis")
