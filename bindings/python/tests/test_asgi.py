"""The ASGI middleware, by the protocol alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import LONG

from ratelite import Limiter, RateLimitExceeded
from ratelite.asgi import RateLimitMiddleware

POLICY = f"login: POST /login 2/{LONG}; live: GET /live 1/{LONG}; api: /api/* 3/{LONG}"


@pytest.fixture
def limiter() -> Iterator[Limiter]:
    with Limiter(":memory:", POLICY) as limiter:
        yield limiter


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept", "headers": [(b"x-other", b"1")]})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-other", b"1")]})
    await send({"type": "http.response.body", "body": b"served"})


class Answer:
    """What the server would get."""

    def __init__(self, application: Any, method: str, path: str, **scope: Any) -> None:
        self.sent: list[Any] = []
        full = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
        full |= {"client": ("192.0.2.1", 4711), **scope}
        asyncio.run(application(full, self._receive, self._send))
        self.status = self.sent[0].get("status")
        self.fields = self.sent[0].get("headers", [])
        self.headers = {name.decode(): value.decode() for name, value in self.fields}
        self.body = b"".join(message.get("body", b"") for message in self.sent)

    async def _receive(self) -> Any:
        return {"type": "websocket.connect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


def test_every_response_carries_headers_and_the_refusal_a_problem(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    first = Answer(limited, "POST", "/login")
    assert (first.status, first.body) == (200, b"served")
    assert list(first.headers) == [
        "x-other",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ]
    Answer(limited, "POST", "/login")
    refused = Answer(limited, "POST", "/login")
    assert (refused.status, refused.headers["content-type"]) == (429, "application/problem+json")
    assert int(refused.headers["retry-after"]) > 0
    assert b'"status":429' in refused.body
    assert int(refused.headers["content-length"]) == len(refused.body)


def test_a_path_is_judged_as_the_application_sees_it(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    for path, rule in [("/login", "login"), ("/login?x", None), ("/api/\xe9", "api")]:
        assert limited._rule_of({"method": "POST", "path": path}) == rule


def test_clients_have_budgets_of_their_own(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter, trusted_proxies=["10.0.0.0/8"])
    for client in (b"192.0.2.1", b"192.0.2.2"):
        for status in (200, 200, 429):
            headers = [(b"x-forwarded-for", b"1.2.3.4"), (b"x-forwarded-for", client)]
            answer = Answer(limited, "POST", "/login", headers=headers, client=("10.0.0.1", 1))
            assert answer.status == status


def test_a_server_on_a_unix_socket_limits_all_the_same(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    statuses = [Answer(limited, "POST", "/login", client=None).status for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_request_is_charged_once_however_many_middlewares_it_passes(limiter: Limiter) -> None:
    inner = RateLimitMiddleware(application, limiter)

    async def copying(scope: Any, receive: Any, send: Any) -> None:
        # As routers do for what is mounted in them.
        await inner(dict(scope), receive, send)

    answer = Answer(RateLimitMiddleware(copying, limiter), "POST", "/login")
    assert [name for name, _ in answer.fields].count(b"x-ratelimit-remaining") == 1
    assert answer.headers["x-ratelimit-remaining"] == "1"
    assert limiter.status("192.0.2.1", rule="login").count == 1


def test_a_refusal_inside_the_application_becomes_429(limiter: Limiter) -> None:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await limiter.check_async("alice", rule="live")
        await application(scope, receive, send)

    limited = RateLimitMiddleware(handler, limiter)
    assert [Answer(limited, "GET", "/").status for _ in range(2)] == [200, 429]


def test_a_refusal_after_the_response_has_begun_is_not_hidden(limiter: Limiter) -> None:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await application(scope, receive, send)
        await limiter.check_async("alice", rule="live", cost=2)

    with pytest.raises(RateLimitExceeded):
        Answer(RateLimitMiddleware(handler, limiter), "GET", "/")


def test_a_websocket_is_charged_for_its_handshake(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    socket = {"type": "websocket", "subprotocols": []}
    accepted = Answer(limited, "GET", "/live", **socket)
    assert accepted.sent[0]["type"] == "websocket.accept"
    assert accepted.headers["x-ratelimit-remaining"] == "0"
    closed = Answer(limited, "GET", "/live", **socket)
    assert closed.sent == [{"type": "websocket.close", "code": 1008, "reason": "Too Many Requests"}]
    extended = Answer(limited, "GET", "/live", **socket, extensions={"websocket.http.response": {}})
    assert [message["type"] for message in extended.sent] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    assert extended.status == 429


def test_a_lifespan_passes(limiter: Limiter) -> None:
    seen = []

    async def record(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(RateLimitMiddleware(record, limiter)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]


def test_another_event_loop_than_asyncios_will_do(limiter: Limiter) -> None:
    # A coroutine that awaits nothing of asyncio's can be driven by hand.
    coroutine = limiter.hit_async("alice", rule="login")
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    assert ended.value.value.allowed
