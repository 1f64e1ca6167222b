"""One client's connection: heads and bodies in, bytes out."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Optional

from .head import Head, Malformed

#: The longest head that is read. It must be longer than the longest request line.
MAX_HEAD = 32 * 1024
MAX_REQUEST_LINE = 8 * 1024
#: Seconds: for a whole head, for the next bytes of a body, for the next request.
HEAD_TIMEOUT = 10.0
IO_TIMEOUT = 30.0

_PIECE = 64 * 1024
_MAX_CHUNK_LINE = 1024
_MAX_DRAIN = 64 * 1024
_LINGER = 1.0


class Disconnected(Exception):
    """The client is gone, or as good as."""


class Wire:
    """Buffered reading from a socket. One thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()
        connection.settimeout(IO_TIMEOUT)
        if connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def head(self) -> bytes:
        """The next head, without its empty line. Disconnected if none comes."""
        if not self._buffer:
            self._receive()
        deadline = time.monotonic() + HEAD_TIMEOUT
        try:
            return self._head_before(deadline)
        finally:
            self._socket.settimeout(IO_TIMEOUT)

    def _head_before(self, deadline: float) -> bytes:
        while True:
            # A client may send empty lines before a request (RFC 9112, section 2.2).
            while self._buffer.startswith(b"\r\n"):
                del self._buffer[:2]
            end = self._buffer.find(b"\r\n\r\n")
            line = self._buffer.find(b"\r\n")
            if (line if line >= 0 else len(self._buffer)) > MAX_REQUEST_LINE:
                raise Malformed("the request line is too long", 414)
            if (end if end >= 0 else len(self._buffer)) > MAX_HEAD:
                raise Malformed("the header fields are too large", 431)
            if end >= 0:
                head = bytes(self._buffer[:end])
                del self._buffer[: end + 4]
                return head
            left = deadline - time.monotonic()
            if left <= 0:
                raise Malformed("the request took too long", 408)
            self._socket.settimeout(left)
            self._receive(Malformed("the request took too long", 408))

    def read(self, size: int) -> bytes:
        """Some bytes, at least one, at most `size`."""
        if not self._buffer:
            self._receive()
        size = min(size, _PIECE)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def line(self) -> bytes:
        """The next line of a chunked body, without CR LF."""
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _MAX_CHUNK_LINE:
                break
            self._receive()
        if not 0 <= end <= _MAX_CHUNK_LINE:
            raise Malformed("a chunk is malformed")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Disconnected from error

    def linger(self) -> None:
        """Lets the client read what was sent: a close() with bytes unread would reset it away."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(_LINGER)
            deadline = time.monotonic() + _LINGER
            while self._socket.recv(_PIECE) and time.monotonic() < deadline:
                pass
        except OSError:
            pass

    def _receive(self, late: Optional[Malformed] = None) -> None:
        try:
            data = self._socket.recv(_PIECE)
        except socket.timeout as error:
            raise late or Disconnected() from error
        except OSError as error:
            raise Disconnected from error
        if not data:
            raise Disconnected
        self._buffer += data


class Body:
    """A request's body, read once and piece by piece."""

    def __init__(self, wire: Wire, head: Head) -> None:
        self._wire = wire
        #: Length in bytes; None: it comes in chunks.
        self.length: Optional[int] = head.body_length
        self._waits = "100-continue" in head.tokens("expect") and head.version >= (1, 1)
        self._complete = self.length == 0
        self._started = False

    def __iter__(self) -> Iterator[bytes]:
        if self._complete:
            return
        self._started = True
        if self._waits:
            self._waits = False
            self._wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self.length is None:
            yield from self._chunks()
        else:
            yield from self._bytes(self.length)
        self._complete = True

    def drain(self) -> bool:
        """Reads a body that nobody wanted, if it is small; whether the next request follows.

        Otherwise the connection has to end: half a body read, or one that a client which waits
        for `100 Continue` may not send at all, leaves the next request's begin unknown.
        """
        if self._started or self._waits or self.length is None or self.length > _MAX_DRAIN:
            return self._complete
        for _ in self:
            pass
        return self._complete

    def _bytes(self, left: int) -> Iterator[bytes]:
        while left:
            piece = self._wire.read(left)
            left -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while size := _chunk_size(self._wire.line()):
            yield from self._bytes(size)
            if self._wire.line():
                raise Malformed("a chunk is longer than it says")
        # Trailer fields are not passed on.
        for _ in range(100):
            if not self._wire.line():
                return
        raise Malformed("too many trailer fields", 431)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].rstrip(b" \t")
    if not 1 <= len(digits) <= 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Malformed("a chunk's size is malformed")
    return int(digits, 16)
