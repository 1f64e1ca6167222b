"""One connection's bytes: no byte is read twice, none is lost."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from ratelite.gateway.head import Malformed, parse
from ratelite.gateway.wire import Body, Disconnected, Wire

Pair = tuple[Wire, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    server, client = socket.socketpair()
    with server, client:
        yield Wire(server), client


def body_of(wire: Wire, *fields: str) -> Body:
    return Body(wire, parse("\r\n".join(["PUT / HTTP/1.1", "Host: h", *fields]).encode()))


def test_a_body_that_was_begun_is_not_read_again(pair: Pair) -> None:
    wire, client = pair
    client.sendall(b"abcdefnext")
    body = body_of(wire, "Content-Length: 6")
    assert next(iter(body)) == b"abcdef"
    assert body.drain() is False
    assert wire.read(100) == b"next"


def test_a_small_body_that_nobody_wanted_is_drained(pair: Pair) -> None:
    wire, client = pair
    client.sendall(b"abcdefnext")
    assert body_of(wire, "Content-Length: 6").drain() is True
    assert wire.read(100) == b"next"
    assert body_of(wire).drain() is True


def test_a_chunked_body_is_decoded_and_its_trailer_dropped(pair: Pair) -> None:
    wire, client = pair
    client.sendall(b"3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\nnext")
    assert b"".join(body_of(wire, "Transfer-Encoding: chunked")) == b"abc0123456789"
    assert wire.read(100) == b"next"


@pytest.mark.parametrize(
    "chunks",
    [
        b"\r\n",
        b"x\r\n",
        b"-1\r\n",
        b"+1\r\na\r\n",
        b"0x1\r\na\r\n",
        b"1 1\r\n",
        b"fffffffffffffffff\r\n",
        b"2\r\nabc\r\n0\r\n\r\n",
        b"1" * 2000 + b"\r\n",
        b"0\r\n" + b"X: y\r\n" * 200,
    ],
)
def test_a_malformed_chunk_is_refused(pair: Pair, chunks: bytes) -> None:
    wire, client = pair
    client.sendall(chunks)
    with pytest.raises(Malformed):
        b"".join(body_of(wire, "Transfer-Encoding: chunked"))


def test_a_body_that_breaks_off_is_no_body(pair: Pair) -> None:
    wire, client = pair
    client.sendall(b"abc")
    client.shutdown(socket.SHUT_WR)
    with pytest.raises(Disconnected):
        b"".join(body_of(wire, "Content-Length: 4"))
