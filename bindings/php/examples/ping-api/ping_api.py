"""The ping API in Python, the twin of PingApi.php: on one store the two share every budget.

    RATELITE_STORE=limits.db python3 ping_api.py 127.0.0.1:8081
"""

import json
import os
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import ratelite

SHARED_KEY = "127.0.0.1"

store = os.environ["RATELITE_STORE"]
limit, window = os.environ.get("PING_LIMIT", 3), os.environ.get("PING_WINDOW", 60)
# With audit, each request that passes is a row of api_calls, in the transaction that counts it. A
# server has no rows.
audit = "://" not in store
ping = ratelite.Limiter(store, f"ping: {limit}/{window}s", audit=audit)
# Named, since unnamed policies on one store share a counter.
limiters = {
    "/ping": (ping, {"pong": True}),
    "/search": (ratelite.Limiter(store, "global: 100/min", audit=audit), {"found": []}),
    "/export": (ratelite.Limiter(store, "strict: 5/min", audit=audit), {"rows": []}),
}


class PingApi(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        key = self.headers.get("X-Client-Key") or SHARED_KEY
        if random.randrange(100) == 0:
            ping.prune()
        if url.path in limiters:
            limiter, body = limiters[url.path]
            try:
                self.answer(200, body, limiter.headers(limiter.check(key)))
            except ratelite.RateLimitExceeded as refusal:
                problem = json.loads(limiter.problem(refusal.result))
                self.answer(429, problem, limiter.headers(refusal.result))
        elif url.path == "/status":
            status = ping.status(parse_qs(url.query).get("key", [SHARED_KEY])[0])
            names = ("count", "limit", "remaining", "reset_at")
            self.answer(200, {name: getattr(status, name) for name in names})
        else:
            self.answer(404, {"type": "about:blank", "title": "Not Found", "status": 404})

    def answer(self, status, body, headers=()) -> None:
        text = json.dumps(body, separators=(",", ":")).encode()
        kind = "json" if status < 400 else "problem+json"
        self.send_response(status)
        for name, value in [*headers, ("Content-Type", f"application/{kind}"), ("Content-Length", len(text))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    host, port = sys.argv[1].rsplit(":", 1)
    ThreadingHTTPServer((host, int(port)), PingApi).serve_forever()
