"""Responses, and how they go over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple, Optional

from .head import Fields, Head
from .wire import Wire


class Response(NamedTuple):
    """A response. `body` may have a close(), which is called in any case."""

    status: int
    reason: str
    fields: Fields
    body: Iterable[bytes] = ()
    length: Optional[int] = 0
    """Length of the body in bytes; None: unknown before its end."""

    def send(self, wire: Wire, head: Optional[Head], keep: bool) -> bool:
        """Writes it; whether the connection can go on.

        `head` is the request's (None: it could not be read), `keep` whether the client and the
        state of its connection allow another request.
        """
        try:
            bodiless = self.status in (204, 304) or (head is not None and head.method == "HEAD")
            chunked = self.length is None and head is not None and head.version >= (1, 1)
            keep = keep and (bodiless or chunked or self.length is not None)
            wire.send(self._head(bodiless, chunked, keep))
            if not bodiless:
                for piece in self.body:
                    wire.send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                if chunked:
                    wire.send(b"0\r\n\r\n")
            return keep
        finally:
            close = getattr(self.body, "close", None)
            if close is not None:
                close()

    def _head(self, bodiless: bool, chunked: bool, keep: bool) -> bytes:
        fields = list(self.fields)
        if not any(name.lower() == "date" for name, _ in fields):
            fields.append(("Date", formatdate(usegmt=True)))
        if not bodiless and chunked:
            fields.append(("Transfer-Encoding", "chunked"))
        elif self.length is not None and self.status not in (204, 304):
            fields.append(("Content-Length", str(self.length)))
        if not keep:
            fields.append(("Connection", "close"))
        lines = [f"HTTP/1.1 {self.status} {self.reason}"]
        lines += [f"{name}: {value}" for name, value in fields]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def as_json(status: int, value: Any, fields: Fields) -> Response:
    """A response of ours."""
    body = json.dumps(value).encode() + b"\n"
    fields = [("Content-Type", "application/json"), *fields]
    return Response(status, HTTPStatus(status).phrase, fields, [body], len(body))


def as_problem(status: int, detail: str) -> Response:
    """A failure, as RFC 9457 wants it."""
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    body = json.dumps(problem).encode()
    fields = [("Content-Type", "application/problem+json")]
    return Response(status, title, fields, [body], len(body))
