"""The same as hits.c, in Python."""

import sys

import ratelite

store, durability, policy, key, now_ms, hits = sys.argv[1:]
now = int(now_ms) / 1000
timeouts = {"connect_timeout_ms": 10_000, "command_timeout_ms": 10_000}  # of a server, if it is one
limiter = ratelite.Limiter(store, policy, durability=durability, **timeouts)
if hits == "0":
    status = limiter.status(key, now=now)
    print(status.limit, status.count, status.remaining, status.reset_at, status.retry_after)
else:
    print("ready", flush=True)
    sys.stdin.readline()
for result in [limiter.hit(key, now=now) for _ in range(int(hits))]:
    print(result.count, int(result.allowed))
