"""The same as hits.c, in Python."""

import sys

import ratelite

store, policy, key, now_ms, hits = sys.argv[1:]
now = int(now_ms) / 1000
limiter = ratelite.Limiter(store, policy)
if hits == "0":
    status = limiter.status(key, now=now)
    print(status.limit, status.count, status.remaining, status.reset_at, status.retry_after)
else:
    print("ready", flush=True)
    sys.stdin.readline()
for _ in range(int(hits)):
    result = limiter.hit(key, now=now)
    print(result.count, int(result.allowed))
