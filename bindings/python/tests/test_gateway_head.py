"""Request heads: what is read, and what is refused because it could be read in two ways."""

from __future__ import annotations

import pytest

from ratelite import Limiter
from ratelite.gateway.head import Malformed, parse

HOST = "\r\nHost: h"


def test_a_head_is_taken_apart_and_its_bytes_are_kept() -> None:
    head = parse(
        b"POST //a%2Fb?c=%2F HTTP/1.1\r\nHost: h\r\nX-Bytes:\t\xff  x \r\nx-bytes: 2\r\nE:"
    )
    assert (head.method, head.target, head.version) == ("POST", "//a%2Fb?c=%2F", (1, 1))
    assert head.values("x-bytes") == ["\xff  x", "2"]
    assert head.values("e") == [""]
    assert head.body_length == 0
    assert head.persistent


@pytest.mark.parametrize(
    ("request_head", "length"),
    [
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 17", 17),
        (f"POST / HTTP/1.1{HOST}\r\nTransfer-Encoding: Chunked", None),
        (f"POST / HTTP/1.1{HOST}", 0),
    ],
)
def test_the_bodys_length_is_known(request_head: str, length: int | None) -> None:
    assert parse(request_head.encode()).body_length == length


@pytest.mark.parametrize(
    ("request_head", "persistent"),
    [
        (f"GET / HTTP/1.1{HOST}\r\nConnection: x, Close", False),
        (f"GET / HTTP/1.1{HOST}\r\nConnection: x", True),
        ("GET / HTTP/1.0\r\nConnection: keep-alive", False),
    ],
)
def test_a_connection_goes_on_unless_it_is_said(request_head: str, persistent: bool) -> None:
    assert parse(request_head.encode()).persistent is persistent


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        ("", 400),
        ("GET", 400),
        (f"GET /{HOST}", 400),
        (f"GET  / HTTP/1.1{HOST}", 400),
        (f"GET / /x HTTP/1.1{HOST}", 400),
        (f"GET / HTTP/1.1 {HOST}", 400),
        (f" GET / HTTP/1.1{HOST}", 400),
        (f"GET / http/1.1{HOST}", 400),
        (f"GET / HTTP/1.11{HOST}", 400),
        (f"GET / HTTP/2.0{HOST}", 505),
        (f"G(T / HTTP/1.1{HOST}", 400),
        (f"GET login HTTP/1.1{HOST}", 400),
        (f"GET * HTTP/1.1{HOST}", 400),
        (f"GET /\tx HTTP/1.1{HOST}", 400),
        (f"GET /\x00 HTTP/1.1{HOST}", 400),
        (f"GET /\xe9 HTTP/1.1{HOST}", 400),
        (f"GET /\nx HTTP/1.1{HOST}", 400),
        (f"CONNECT h:443 HTTP/1.1{HOST}", 501),
        ("GET / HTTP/1.1", 400),
        (f"GET / HTTP/1.1{HOST}{HOST}", 400),
        (f"GET / HTTP/1.1{HOST}\r\nName : x", 400),
        (f"GET / HTTP/1.1{HOST}\r\n folded", 400),
        (f"GET / HTTP/1.1{HOST}\r\nno colon", 400),
        (f"GET / HTTP/1.1{HOST}\r\n: x", 400),
        (f"GET / HTTP/1.1{HOST}\r\nX: a\rb", 400),
        (f"GET / HTTP/1.1{HOST}\r\nX: a\nb", 400),
        (f"GET / HTTP/1.1{HOST}\r\nX: a\x00b", 400),
        ("GET / HTTP/1.1\nHost: h", 400),
        ("GET / HTTP/1.1\r\nHost: h y", 400),
        ("GET / HTTP/1.1\r\nHost: h/x", 400),
        ("GET / HTTP/1.1\r\nHost: u@h", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 1\r\nContent-Length: 2", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 1\r\nContent-Length: 1", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 1, 1", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: +1", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: -1", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: 0x1", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length: \xb2", 400),
        (f"POST / HTTP/1.1{HOST}\r\nContent-Length:", 400),
        (f"POST / HTTP/1.1{HOST}\r\nTransfer-Encoding: gzip, chunked", 501),
        (f"POST / HTTP/1.1{HOST}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x", 501),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked", 400),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(request_head: str, status: int) -> None:
    with pytest.raises(Malformed) as caught:
        parse(request_head.encode("latin-1"))
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("method", "target", "authority", "path", "query"),
    [
        ("GET", "/login", None, "/login", ""),
        ("GET", "/login?a=?b#c", None, "/login", "?a=?b"),
        ("GET", "/login#x?y", None, "/login", ""),
        ("GET", "//login", None, "//login", ""),
        ("GET", "/to/http://h/a", None, "/to/http://h/a", ""),
        ("OPTIONS", "*", None, "*", ""),
        ("GET", "http://h:1/login?a#b", "h:1", "/login", "?a"),
        ("GET", "HTTP://h//a", "h", "//a", ""),
        ("GET", "http://h", "h", "/", ""),
        ("GET", "http://h?x", "h", "/", "?x"),
        ("GET", "http://h#x", "h", "/", ""),
        ("OPTIONS", "http://h", "h", "*", ""),
    ],
)
def test_what_is_passed_on_is_what_was_judged(
    method: str, target: str, authority: str | None, path: str, query: str
) -> None:
    parts = parse(f"{method} {target} HTTP/1.1{HOST}".encode()).parts
    assert parts == (authority, path, query)
    if path in ("*", "/") or not path.strip("*"):
        return
    with Limiter(":memory:", f"exact: {path} 1/s") as limiter:
        assert limiter.route(method, target) == "exact"
