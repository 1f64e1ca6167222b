"""Five requests of one client under a limit of three a minute.

python quickstart.py limits.db
"""

from __future__ import annotations

import sys

from ratelite import Limiter

store = sys.argv[1] if len(sys.argv) > 1 else "limits.db"

with Limiter(store, "quickstart: 3/min") as limiter:
    for request in range(1, 6):
        result = limiter.hit("alice")
        if result:
            print(f"request {request}: allowed, {result.remaining} left")
        else:
            print(f"request {request}: denied, retry after {result.retry_after} s")
