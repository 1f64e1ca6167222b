"""Bodies by RFC 9457 of what is no answer of the library."""

from __future__ import annotations

import json

#: Why there is none; what failed is for the log, not for the client.
UNANSWERED = "The rate limiter cannot answer at the moment."

_TITLES = {429: "Too Many Requests", 503: "Service Unavailable"}


def problem(status: int, detail: str) -> str:
    """An `application/problem+json` of a status, 429 or 503."""
    body = {"type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail}
    return json.dumps(body)
