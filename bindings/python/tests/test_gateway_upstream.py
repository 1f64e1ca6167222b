"""The gateway in front of another server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import LONG
from served import Server, Upstream, gateway

from ratelite import Limiter

POLICY = f"login: POST /login 2/{LONG}; api: * 100/{LONG}"
OK = b"HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def behind(store: Path, upstream: Upstream, *options: str) -> Iterator[Server]:
    with gateway(store, POLICY, "--upstream", upstream.url, *options) as server:
        yield server
    upstream.close()


def request(line: str, *fields: str, body: bytes = b"") -> bytes:
    head = "\r\n".join([line, "Host: shop.example", "Connection: close", *fields, "", ""])
    return head.encode("latin-1") + body


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("GET //a/%6Cogin?x=%2F&y HTTP/1.1", "GET //a/%6Cogin?x=%2F&y HTTP/1.1"),
        ("GET /a/../b#c HTTP/1.1", "GET /a/../b HTTP/1.1"),
        ("OPTIONS * HTTP/1.1", "OPTIONS * HTTP/1.1"),
        ("PURGE /x HTTP/1.0", "PURGE /x HTTP/1.1"),
        ("GET http://other.example/x HTTP/1.1", "GET /x HTTP/1.1"),
    ],
)
def test_the_target_goes_on_as_it_was_judged(store: Path, line: str, passed: str) -> None:
    upstream = Upstream(OK)
    with behind(store, upstream) as server:
        assert server.raw(request(line)).startswith(b"HTTP/1.1 200 Fine\r\n")
    assert upstream.requests[0].split(b"\r\n")[0] == passed.encode()
    host = b"other.example" if "other" in line else b"shop.example"
    assert b"\r\nHost: " + host + b"\r\n" in upstream.requests[0]


def test_headers_go_both_ways_without_those_of_the_connection(store: Path) -> None:
    upstream = Upstream(
        b"HTTP/1.1 207 Partly\r\nX-Case: KePt\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        b"Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nX-RateLimit-Limit: 99\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00"
    )
    with behind(store, upstream) as server:
        answer = server.raw(
            request(
                "GET / HTTP/1.1",
                "Cookie: c=1",
                "X-Case: KePt",
                "Connection: X-Private",
                "X-Private: 1",
                "Proxy-Authorization: secret",
                "TE: trailers",
                "Upgrade: h2c",
                "X-Forwarded-For: 203.0.113.9",
            )
        )
    got = upstream.requests[0]
    for field in (b"Cookie: c=1", b"X-Case: KePt", b"Via: 1.1 ratelite"):
        assert b"\r\n" + field + b"\r\n" in got
    assert b"X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 127.0.0.1\r\n" in got
    for name in (b"X-Private", b"Proxy-Authorization", b"TE", b"Upgrade", b"Connection"):
        assert b"\r\n" + name + b":" not in got
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 207 Partly\r\nX-Case: KePt\r\nSet-Cookie: a=1\r\n")
    assert b"Set-Cookie: b=2" in head
    assert b"X-Hop" not in head
    assert b"Keep-Alive" not in head
    assert head.count(b"X-RateLimit-Limit: ") == 1
    assert b"X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 99\r\nX-RateLimit-Reset: " in head
    # Not decoded on the way.
    assert (b"Content-Encoding: gzip" in head, body) == (True, b"\x1f\x8b\x00")


def test_a_refused_request_does_not_reach_the_upstream(store: Path) -> None:
    upstream = Upstream(OK)
    with behind(store, upstream) as server:
        statuses = [server.ask("POST", "/login", body=b"x" * 10).status for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert len(upstream.requests) == 2


def test_bodies_pass_with_their_framing(store: Path) -> None:
    upstream = Upstream(OK)
    large = bytes(range(256)) * 4096
    chunked = b"".join(b"%x;e=1\r\n%b\r\n" % (len(part), part) for part in (b"abc", large))
    with behind(store, upstream) as server:
        server.ask("PUT", "/", body=large)
        server.raw(
            request(
                "PUT / HTTP/1.1",
                "Transfer-Encoding: chunked",
                body=chunked + b"0\r\nTrailer: dropped\r\n\r\n",
            )
        )
    first, second = (got.partition(b"\r\n\r\n") for got in upstream.requests)
    assert first[2] == large
    assert b"Content-Length: %d" % len(large) in first[0]
    assert b"Transfer-Encoding: chunked" in second[0]
    assert second[2].startswith(b"3\r\nabc\r\n")
    assert second[2].endswith(b"0\r\n\r\n")
    assert b"Trailer" not in second[2]


def test_a_client_cannot_strip_the_framing(store: Path) -> None:
    upstream = Upstream(OK)
    fields = ["Connection: close, content-length", "Content-Length: 5"]
    with behind(store, upstream) as server:
        answer = server.raw(request("POST /x HTTP/1.1", *fields, body=b"hello"))
    assert answer.startswith(b"HTTP/1.1 200 Fine\r\n")
    assert b"\r\nContent-Length: 5\r\n" in upstream.requests[0]
    assert upstream.requests[0].endswith(b"\r\n\r\nhello")


def test_an_answer_streams_as_it_comes(store: Path) -> None:
    seen = threading.Event()

    def slowly(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        # The rest comes only after the first part has arrived at the client.
        assert seen.wait(20)
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    with behind(store, Upstream(slowly)) as server, server.connect() as connection:
        connection.sendall(request("GET / HTTP/1.1"))
        got = b""
        while b"one" not in got:
            got += connection.recv(65536)
        seen.set()
        got += b"".join(iter(lambda: connection.recv(65536), b""))
    assert got.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


def test_a_request_streams_as_it_comes(store: Path) -> None:
    arrived = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        got = b""
        while b"second" not in got:
            got += connection.recv(65536)
            if b"first" in got:
                arrived.set()
        connection.sendall(OK)
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with gateway(store, POLICY, "--upstream", url) as server, server.connect() as connection:
        connection.sendall(request("PUT / HTTP/1.1", "Content-Length: 11", body=b"first"))
        assert arrived.wait(20)
        connection.sendall(b"second")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 Fine")
    listener.close()


def test_an_answer_before_the_body_has_ended_ends_the_connection(store: Path) -> None:
    hidden = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    body = hidden * 200_000
    head = b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
    with gateway(store, POLICY, "--upstream", url) as server:
        answer = server.raw(head + body)
    listener.close()
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nConnection: close\r\n" in answer
    with Limiter(store, POLICY) as limiter:
        assert limiter.status("127.0.0.1", rule="api").count == 1


def test_an_answer_without_length_ends_with_its_connection(store: Path) -> None:
    with behind(store, Upstream(b"HTTP/1.0 200 OK\r\n\r\nall of it")) as server:
        assert server.ask("GET", "/").body == b"all of it"
        old = server.raw(b"GET / HTTP/1.0\r\n\r\n")
    assert b"chunked" not in old
    assert old.endswith(b"\r\n\r\nall of it")


def test_an_answer_that_breaks_off_is_not_made_whole(store: Path) -> None:
    broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
    with behind(store, Upstream(broken)) as server:
        answer = server.raw(request("GET / HTTP/1.1"))
    assert answer.endswith(b"3\r\none\r\n")


def test_a_head_request_keeps_its_length(store: Path) -> None:
    upstream = Upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    with behind(store, upstream) as server:
        answer = server.raw(request("HEAD / HTTP/1.1"))
    assert b"Content-Length: 1000\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_100_continue_is_said_when_the_body_is_wanted(store: Path) -> None:
    upstream = Upstream(OK)
    with behind(store, upstream) as server:
        for status in (b"200", b"200", b"429"):
            with server.connect() as connection:
                connection.sendall(
                    request("POST /login HTTP/1.1", "Expect: 100-continue", "Content-Length: 3")
                )
                got = connection.recv(65536)
                if status == b"200":
                    assert got == b"HTTP/1.1 100 Continue\r\n\r\n"
                    connection.sendall(b"abc")
                    got = connection.recv(65536)
                assert got.startswith(b"HTTP/1.1 " + status)
    assert [got[-3:] for got in upstream.requests] == [b"abc", b"abc"]
    assert b"Expect" not in upstream.requests[0]


def test_an_upstream_that_is_down_is_502(store: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    with gateway(store, POLICY, "--upstream", url) as server:
        answer = server.ask("GET", "/")
    assert (answer.status, answer["X-RateLimit-Remaining"]) == (502, "99")
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n"])
def test_an_upstream_that_talks_nonsense_is_502(store: Path, answer: bytes) -> None:
    with behind(store, Upstream(answer)) as server:
        assert server.ask("GET", "/").status == 502


def test_an_upstream_that_does_not_answer_is_504(store: Path) -> None:
    over = threading.Event()

    def never(connection: socket.socket) -> None:
        over.wait(20)

    upstream = Upstream(never)
    with behind(store, upstream, "--upstream-timeout", "0.2") as server:
        answer = server.ask("GET", "/")
    over.set()
    assert (answer.status, answer["X-RateLimit-Remaining"]) == (504, "99")
