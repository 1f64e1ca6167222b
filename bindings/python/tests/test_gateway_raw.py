"""The gateway against raw sockets."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import LONG, run_python
from served import Server, gateway

from ratelite import Limiter
from ratelite.client import ClientKey
from ratelite.gateway.gateway import Gateway
from ratelite.gateway.server import Server as ThreadedServer

POLICY = f"login: POST /login 100/{LONG}; api: * 100/{LONG}"


@pytest.fixture
def server(store: Path) -> Iterator[Server]:
    with gateway(store, POLICY) as server:
        yield server


@pytest.fixture
def counts(store: Path) -> Iterator[Limiter]:
    with Limiter(store, POLICY) as limiter:
        yield limiter


def counted(limiter: Limiter) -> tuple[int, int]:
    login, api = (limiter.status("127.0.0.1", rule=rule).count for rule in ("login", "api"))
    return login, api


@pytest.mark.parametrize(
    ("request_line", "rule"),
    [
        (b"POST http://anything/login HTTP/1.1", "login"),
        (b"POST http://anything/login?a=http://b/c#d HTTP/1.1", "login"),
        (b"GET http://anything HTTP/1.1", "api"),
        (b"OPTIONS * HTTP/1.1", "api"),
        (b"POST /login#fragment HTTP/1.1", "login"),
        (b"POST //login HTTP/1.1", "api"),
        (b"POST /login HTTP/1.0", "login"),
        (b"\r\n\r\nPOST /login HTTP/1.1", "login"),
    ],
)
def test_every_form_of_a_target_is_routed_by_its_path(
    server: Server, request_line: bytes, rule: str
) -> None:
    head, _, body = server.raw(request_line + b"\r\nHost: h\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(body) == {"rule": rule, "remaining": 99}


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /login\r\n\r\n", 400),
        (b"GET login HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505),
        (b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX-Key: " + b"x" * 65536 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", 431),
    ],
)
def test_a_malformed_request_is_refused_and_not_counted(
    server: Server, counts: Limiter, request_bytes: bytes, status: int
) -> None:
    answer = server.raw(request_bytes)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer
    # Nothing of what follows a malformed request is taken for another one.
    assert answer.count(b"HTTP/1.1 ") == 1
    assert counted(counts) == (0, 0)


def test_a_long_key_is_limited_like_any(store: Path) -> None:
    with gateway(store, f"api: * 2/{LONG}", "--key-header", "X-Key") as server:
        statuses = [server.ask("GET", "/", {"X-Key": "x" * 20_000}).status for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_requests_on_one_connection_are_counted_one_by_one(server: Server, counts: Limiter) -> None:
    one = b"POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
    two = b"GET /page HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    answers = server.raw(one + one + two)
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert counted(counts) == (2, 1)


def test_a_body_is_never_taken_for_a_request(server: Server, counts: Limiter) -> None:
    hidden = b"POST /login HTTP/1.1\r\nHost: h\r\n\r\n"
    for framed in (
        b"Content-Length: %d\r\n\r\n%b" % (len(hidden), hidden),
        b"Content-Length: 100000\r\n\r\n" + hidden,
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden),
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + hidden,
        b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n%b" % (len(hidden), hidden),
    ):
        assert server.raw(b"PUT / HTTP/1.1\r\nHost: h\r\n" + framed).count(b"HTTP/1.1 2") == 1
    assert counted(counts) == (0, 5)


def test_a_refusal_arrives_though_the_client_is_still_sending(server: Server) -> None:
    answer = server.raw(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 8_000_000 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_a_client_that_asks_before_it_sends_is_refused_at_once(store: Path) -> None:
    with gateway(store, "api: * 0/s") as server, server.connect() as connection:
        connection.sendall(
            b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 429 ")
    # Whether it sends the body now cannot be known, so the connection ends.
    assert b"\r\nConnection: close\r\n" in answer


def test_a_head_request_gets_no_body(server: Server) -> None:
    answer = server.raw(b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n")
    assert b"X-RateLimit-Remaining: 99\r\n" in answer


def test_a_head_that_comes_byte_by_byte_is_read(server: Server) -> None:
    with server.connect() as connection:
        for byte in b"GET / HTTP/1.1\r\nHost: h\r\n\r\n":
            connection.sendall(bytes([byte]))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_leaves_early_harms_no_one(server: Server, counts: Limiter) -> None:
    for part in (b"", b"GET / HT", b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"):
        with server.connect() as connection:
            connection.sendall(part)
    assert server.ask("POST", "/login").status == 200
    assert counted(counts)[0] == 1


def test_a_store_that_fails_lets_nothing_pass(store: Path) -> None:
    # Hits at an interval, which are the command line's, do not wait for the file.
    with Limiter(store, POLICY, durability="hit", busy_timeout_ms=-1) as limiter:
        strict = Gateway(limiter, ClientKey(limiter, []), None, None, admin=False)
        with ThreadedServer("127.0.0.1", 0, strict) as listening:
            threading.Thread(target=listening.serve_forever).start()
            holder = sqlite3.connect(store)
            holder.execute("BEGIN IMMEDIATE")
            answer = Server("127.0.0.1", listening.server_address[1]).ask("GET", "/")
            holder.close()
            listening.shutdown()
    assert answer.status == 503
    assert json.loads(answer.body)["title"] == "Service Unavailable"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--store", ":memory:", "--policy", "nonsense"], "policy line 1"),
        (["--store", ":memory:", "--policy", "@/nonexistent"], "No such file"),
        (["--store", "/nonexistent/x.db"], "/nonexistent"),
        (["--store", ":memory:", "--listen", "8080"], "not HOST:PORT"),
        (["--store", ":memory:", "--trust-proxy", "everyone"], "trusted proxy 'everyone'"),
        (["--store", ":memory:", "--upstream", "ftp://h"], "not of the form http://HOST:PORT"),
        (["--store", ":memory:", "--upstream", "http://h/path"], "not of the form"),
        ([], "--store"),
    ],
)
def test_a_wrong_command_line_is_explained(arguments: list[str], said: str) -> None:
    code = "import sys; from ratelite.gateway.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = run_python(code, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_upstream_without_the_extra_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['httpcore'] = None\n"
        "from ratelite.gateway.__main__ import main\n"
        "sys.exit(main(['--store', ':memory:', '--upstream', 'http://h']))"
    )
    done = run_python(code)
    assert done.returncode == 2
    assert "pip install 'ratelite[gateway]'" in done.stderr
