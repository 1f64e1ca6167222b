"""What gunicorn loads before it forks: a limiter that is open, and has been used."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from helpers import LONG

from ratelite import Limiter
from ratelite.wsgi import RateLimitMiddleware

limiter = Limiter(os.environ["STORE"], f"100/{LONG}", busy_timeout_ms=20_000)
limiter.hit("another")


def answer(environ: Any, start_response: Any) -> Iterable[bytes]:
    # Long enough that no worker can take all requests.
    time.sleep(0.005)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


application = RateLimitMiddleware(answer, limiter, key=lambda environ: "alice")
