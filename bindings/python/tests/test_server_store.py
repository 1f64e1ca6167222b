"""A Redis as the store: the options of a server, and what its absence looks like."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest
from helpers import LONG

from ratelite import InvalidArgumentError, Limiter, StoreError, StoreUnavailableError

POLICY = f"api: 10/{LONG}"


class Server:
    """A redis-server on a free port."""

    def __init__(self, directory: Path) -> None:
        assert shutil.which("redis-server"), "please install redis-server"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._directory = directory
        self._process: Optional[subprocess.Popen[bytes]] = None
        self.start()

    def start(self) -> None:
        options = ["--port", str(self.port), "--dir", str(self._directory), "--save", ""]
        command = ["redis-server", *options, "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.stop()


def test_limiters_share_a_server(server: Server) -> None:
    one = Limiter(server.url, POLICY, connect_timeout_ms=5_000, command_timeout_ms=5_000)
    with one, Limiter(server.url, POLICY) as other:
        assert one.hit("alice", cost=3).count == 3
        assert other.status("alice").remaining == 7
        assert other.hit("alice").count == 4
        info = one.info()
        assert (info["engine"], info["reachable"], info["command_timeout_ms"]) == (
            "redis",
            True,
            5_000,
        )
        assert one.with_policy(f"api: 4/{LONG}").hit("alice").allowed is False
        assert one.place == other.place
        assert one.reset("alice") == 1


def test_an_address_shows_no_password(server: Server) -> None:
    store = f"redis://:sesame@127.0.0.1:{server.port}/0?prefix=x"
    with Limiter(store, POLICY) as limiter:
        assert repr(limiter) == f"<Limiter 'redis://127.0.0.1:{server.port}/0': api>"
        with pytest.raises(StoreError) as caught:
            limiter.hit("alice")
        assert "sesame" not in str(caught.value)
    with Limiter(store.encode(), POLICY) as limiter:
        assert "sesame" not in repr(limiter)
    with pytest.raises(InvalidArgumentError) as refused:
        Limiter("redis://:sesame@", POLICY)
    assert "sesame" not in str(refused.value)


def test_a_server_that_is_away_is_a_failure_of_its_own(server: Server) -> None:
    server.stop()
    with Limiter(server.url, POLICY) as limiter, pytest.raises(StoreUnavailableError):
        limiter.hit("alice")
    with Limiter(server.url, POLICY, on_error="allow") as limiter:
        result = limiter.hit("alice")
        assert result.allowed
        assert isinstance(result.error, StoreUnavailableError)
        assert not result.insured


def test_insurance_takes_over_and_hands_back(server: Server, store: Path) -> None:
    with Limiter(server.url, POLICY, insurance=store, insurance_percent=20) as limiter:
        assert not limiter.hit("alice").insured
        server.stop()
        results = [limiter.hit("alice") for _ in range(3)]
        assert [result.insured for result in results] == [True] * 3
        assert [result.allowed for result in results] == [True, True, False]
        assert dict(limiter.headers(results[2]))["X-RateLimit-Limit"] == "2"
        assert "insurance" in repr(results[2])
        assert limiter.info()["insurance"]["active"] is True
        server.start()
        end = time.monotonic() + 10
        while limiter.hit("alice").insured:
            assert time.monotonic() < end
            time.sleep(0.02)
    with Limiter(server.url, POLICY, insurance=store, insurance_policy="api: 1/d") as limiter:
        server.stop()
        assert limiter.hit("bob").limit == 1


def test_a_denial_is_remembered(server: Server) -> None:
    with Limiter(
        server.url, f"1/{LONG}", remember_denied=True, flush_interval_ms=60_000
    ) as limiter:
        assert [limiter.hit("alice").allowed for _ in range(3)] == [True, False, False]
        server.stop()
        result = limiter.hit("alice")
        assert (result.allowed, result.count) == (False, 4)
