"""An API that answers pings, limited by a policy: WSGI and the standard library alone.

    python ping_api.py limits.db 8000
    curl -i http://127.0.0.1:8000/ping
    curl -i -X POST http://127.0.0.1:8000/login

Port 0 picks a free one. Any WSGI server does, with any number of workers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING
from wsgiref.simple_server import make_server

from ratelite import Limiter
from ratelite.wsgi import RateLimitMiddleware

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

POLICY = """
login: POST /login  3/10s
api:   *            10/10s, 1000/day
"""


def ping(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"pong\n"]


def main(store: str = "limits.db", port: str = "8000") -> None:
    app = RateLimitMiddleware(ping, Limiter(store, POLICY))
    with make_server("127.0.0.1", int(port), app) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
