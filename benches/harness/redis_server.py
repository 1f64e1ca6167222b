"""A Redis of the benchmark's own: on a free port and a socket, with nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time

START_SECONDS = 10


class RedisServer:
    """Runs until `stop`."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="ratelite-bench-redis-")
        self._port = _free_port()
        unix_socket = f"{self._directory.name}/socket"
        self._process = subprocess.Popen(
            [
                *("redis-server", "--port", str(self._port), "--bind", "127.0.0.1"),
                *("--unixsocket", unix_socket),
                *("--save", "", "--appendonly", "no", "--dir", self._directory.name),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.socket_url = f"redis+unix://{unix_socket}"
        self._wait_until_it_answers()

    @staticmethod
    def installed() -> bool:
        """Whether there is a Redis to run."""
        return shutil.which("redis-server") is not None

    def flush(self) -> None:
        """Forgets everything."""
        self._ask("FLUSHALL")

    def used_bytes(self) -> int:
        """The memory that its data take."""
        lines = self._ask("INFO memory").splitlines()
        return next(int(line[12:]) for line in lines if line.startswith("used_memory:"))

    def version(self) -> str:
        """Its version."""
        lines = self._ask("INFO server").splitlines()
        return next(line[14:] for line in lines if line.startswith("redis_version:"))

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        try:
            self._process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()

    def _ask(self, command: str) -> str:
        with socket.create_connection(("127.0.0.1", self._port), timeout=30) as connection:
            connection.sendall(f"{command}\r\n".encode())
            with connection.makefile("rb") as answer:
                first: bytes = answer.readline()
                if not first.startswith(b"$"):
                    return first.decode()
                return answer.read(int(first[1:])).decode()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self._ask("PING")
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.stop()
                    raise RuntimeError("redis-server does not answer") from None
                time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
