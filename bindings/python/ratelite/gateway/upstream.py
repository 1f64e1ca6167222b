"""Passing a request on, and the answer back. httpcore speaks HTTP with the upstream."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import Any

import httpcore

from .head import Fields, Head
from .response import Response, as_problem
from .wire import Body, Disconnected

#: Fields of one connection, not of the message (RFC 9110, section 7.6.1).
_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}

_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[^/:?#\[\]@]+)(?::([0-9]{1,5}))?/?")
_CONNECT_TIMEOUT = 5.0


class Upstream:
    """One server, `http://host:port`. Any thread."""

    def __init__(self, url: str, timeout: float) -> None:
        match = _URL.fullmatch(url)
        if match is None:
            raise ValueError(f"upstream {url!r} is not of the form http://HOST:PORT")
        scheme, host, port = match.groups()
        self._origin: dict[str, Any] = {
            "scheme": scheme.encode(),
            "host": host.strip("[]").encode(),
            "port": int(port) if port else None,
        }
        # For a client of HTTP/1.0, which need not say whom it wants.
        self._authority = f"{host}:{port}" if port else host
        self._timeouts = {
            "connect": min(timeout, _CONNECT_TIMEOUT),
            "read": timeout,
            "write": timeout,
            "pool": timeout,
        }
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=None,
            # An idle connection may be closed in the moment that it is used again, and a request
            # with a body cannot be sent twice.
            max_keepalive_connections=0,
        )

    def send(self, head: Head, body: Body, peer: str) -> Response:
        """The upstream's answer, or 502 or 504."""
        try:
            answer = self._pool.handle_request(self._request(head, body, peer))
        except httpcore.TimeoutException:
            return as_problem(504, "The upstream did not answer in time.")
        except httpcore.LocalProtocolError:
            return as_problem(400, "The request cannot be passed on: a field of it is malformed.")
        except (httpcore.NetworkError, httpcore.RemoteProtocolError):
            return as_problem(502, "The upstream cannot be reached, or its answer was malformed.")
        fields = _passing(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers]
        )
        lengths = [value for name, value in fields if name.lower() == "content-length"]
        return Response(
            answer.status,
            answer.extensions.get("reason_phrase", b"").decode("latin-1"),
            [field for field in fields if field[0].lower() != "content-length"],
            _Stream(answer),
            int(lengths[0]) if lengths else None,
        )

    def _request(self, head: Head, body: Body, peer: str) -> httpcore.Request:
        target = head.parts
        fields = _passing(head.fields)
        host = (target.authority or "").rpartition("@")[2] or next(
            iter(head.values("host")), self._authority
        )
        fields = [field for field in fields if field[0].lower() != "host"]
        fields.insert(0, ("Host", host))
        fields = [field for field in fields if field[0].lower() not in ("expect", "via")]
        # The body's length is what was read of it, whatever the client says of the field.
        fields = [field for field in fields if field[0].lower() != "content-length"]
        fields += [("X-Forwarded-For", peer)] if peer else []
        fields += [("Via", ", ".join([*head.values("via"), "1.1 ratelite"]))]
        if body.length is None:
            fields.append(("Transfer-Encoding", "chunked"))
        elif body.length or head.values("content-length"):
            fields.append(("Content-Length", str(body.length)))
        return httpcore.Request(
            head.method,
            httpcore.URL(**self._origin, target=(target.path + target.query).encode()),
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields],
            content=body if body.length != 0 else b"",
            extensions={"timeout": self._timeouts},
        )


class _Stream:
    """The body of an answer, piece by piece."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        stream: Any = self._answer.stream
        try:
            yield from stream
        except (
            httpcore.TimeoutException,
            httpcore.NetworkError,
            httpcore.RemoteProtocolError,
        ) as error:
            # The status is sent: all that is left is to end before the end.
            raise Disconnected from error

    def close(self) -> None:
        self._answer.close()


def _passing(fields: Fields) -> Fields:
    """Header fields without those of the connection."""
    named = {
        name.strip().lower()
        for field, value in fields
        if field.lower() == "connection"
        for name in value.split(",")
    }
    return [field for field in fields if field[0].lower() not in _HOP_BY_HOP | named]
