"""Servers in processes and threads of their own, and ways to speak with them."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, NamedTuple
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def __getitem__(self, name: str) -> str:
        values = [value for field, value in self.fields if field.lower() == name.lower()]
        assert len(values) == 1, (name, self.fields)
        return values[0]

    def has(self, name: str) -> bool:
        return any(field.lower() == name.lower() for field, _ in self.fields)


class Server(NamedTuple):
    """Something that listens."""

    host: str
    port: int

    def ask(
        self, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """One request on a connection of its own; the target goes as it is."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.request(method, target, body or None, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=20)

    def raw(self, request: bytes) -> bytes:
        """Sends bytes as they are; everything that comes back until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@contextmanager
def gateway(store: Path | str, policy: str, *options: str) -> Iterator[Server]:
    """`python -m ratelite.gateway` on a free port."""
    command = [sys.executable, "-m", "ratelite.gateway", "--listen", "127.0.0.1:0"]
    command += ["--store", str(store), "--policy", policy, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    assert process.stdout is not None
    try:
        url = urlsplit(process.stdout.readline().decode())
        yield Server(str(url.hostname), int(url.port or 0))
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    # It ends in peace, and has said nothing but its URL.
    assert (process.returncode, out, err) == (0, b"", b"")


class Upstream:
    """A server that records what it gets, byte for byte, and answers what it is told."""

    def __init__(self, answer: bytes | Callable[[socket.socket], None]) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        # Wakes the thread that accepts; close() alone would leave it listening.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        with connection:
            data = b""
            while not _complete(data):
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            self.requests.append(data)
            if callable(self._answer):
                self._answer(connection)
            else:
                connection.sendall(self._answer)


def _complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    if b"transfer-encoding" in fields:
        return body.endswith(b"0\r\n\r\n")
    return len(body) >= int(fields.get(b"content-length", b"0"))
