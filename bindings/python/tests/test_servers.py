"""Real servers, real clients: exact over all workers."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from helpers import LONG
from served import Answer, Server

from ratelite import Limiter
from ratelite.asgi import RateLimitMiddleware


@contextmanager
def gunicorn(store: Path, *options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *options]
    process = subprocess.Popen(
        [*command, "preloaded:application"],
        cwd=Path(__file__).parent,
        env={**os.environ, "STORE": str(store)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    while said.count("Booting worker") < 4:
        line = process.stderr.readline()
        assert line, said
        said += line
    found = re.search(r"Listening at: http://([0-9.]+):(\d+)", said)
    assert found is not None, said
    drained = threading.Thread(target=process.stderr.read)
    drained.start()
    try:
        yield Server(found[1], int(found[2]))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        drained.join()
        process.stderr.close()


def test_preloading_gunicorn_grants_exactly_the_limit_over_four_workers(store: Path) -> None:
    def ask(_: int) -> Answer:
        return server.ask("GET", "/")

    with (
        gunicorn(store, "--preload", "--workers", "4") as server,
        ThreadPoolExecutor(8) as clients,
    ):
        answers = list(clients.map(ask, range(240)))
    allowed = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status == 429]
    assert (len(allowed), len(refused)) == (100, 140)
    left = sorted(int(answer["X-RateLimit-Remaining"]) for answer in allowed)
    assert left == list(range(100))
    assert len({answer.body for answer in allowed}) > 1
    with Limiter(store, f"100/{LONG}") as limiter:
        assert limiter.status("alice").count == 240
        assert limiter.status("another").count == 1


def test_uvicorn_grants_exactly_the_limit_to_many_clients_at_once(store: Path) -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})

    with Limiter(store, f"20/{LONG}") as limiter:
        application: Any = RateLimitMiddleware(answer, limiter)
        config = uvicorn.Config(application, port=0, log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=asyncio.run, args=(server.serve(),))
        thread.start()
        while not server.started:
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        with ThreadPoolExecutor(8) as clients:
            target = Server("127.0.0.1", port)
            answers = list(clients.map(lambda _: target.ask("GET", "/"), range(60)))
        server.should_exit = True
        thread.join()
    assert sorted(a.status for a in answers) == [200] * 20 + [429] * 40
    left = sorted(int(a["X-RateLimit-Remaining"]) for a in answers if a.status == 200)
    assert left == list(range(20))
