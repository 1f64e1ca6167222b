"""Starlette and FastAPI themselves, with the middleware and the decorator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from helpers import LONG
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from ratelite import Limiter
from ratelite.starlette import RateLimitMiddleware, limit

POLICY = f"""
user: GET /users/{{user}} 2/{LONG}
item: GET /shop/items/{{item:int}} 2/{LONG}
item2: GET /shop/items/{{item}} 2/{LONG}
live: GET /live/{{room}} 1/{LONG}
login: POST /login 2/{LONG}
api: * 9/{LONG}
"""


@pytest.fixture
def limiter() -> Iterator[Limiter]:
    with Limiter(":memory:", POLICY) as limiter:
        yield limiter


async def text(request: Request) -> PlainTextResponse:
    return PlainTextResponse("served")


async def live(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


def starlette(limiter: Limiter) -> Any:
    app = Starlette(
        routes=[
            Route("/users/{user}", text),
            Mount("/shop", routes=[Route("/items/{item:int}", text)]),
            Route("/login", text, methods=["POST"]),
            WebSocketRoute("/live/{room}", live),
        ]
    )
    app.add_middleware(RateLimitMiddleware, limiter=limiter)
    return app


def fastapi(limiter: Limiter) -> Any:
    app = FastAPI()
    shop = APIRouter(prefix="/shop")

    @app.get("/users/{user}")
    def user(user: str) -> str:
        return user

    @shop.get("/items/{item}")
    async def item(item: int) -> int:
        return item

    @app.post("/login")
    async def login() -> str:
        return "in"

    app.include_router(shop)
    app.websocket("/live/{room}")(live)
    app.add_middleware(RateLimitMiddleware, limiter=limiter)
    return app


@pytest.fixture(params=[starlette, fastapi])
def client(request: pytest.FixtureRequest, limiter: Limiter) -> TestClient:
    return TestClient(request.param(limiter))


def test_the_matched_route_is_charged_whatever_its_parameters(client: TestClient) -> None:
    assert [client.get(f"/users/{name}").status_code for name in "abc"] == [200, 200, 429]


def test_a_route_of_a_mount_or_a_router_is_charged_by_its_full_path(client: TestClient) -> None:
    assert [client.get(f"/shop/items/{n}").status_code for n in (1, 2, 3)] == [200, 200, 429]


def test_another_spelling_of_a_path_is_the_same_route(client: TestClient) -> None:
    spellings = ["/login", "/%6Cogin", "/login?next=%2F"]
    assert [client.post(spelling).status_code for spelling in spellings] == [200, 200, 429]


def test_every_response_carries_headers_and_the_refusal_a_problem(client: TestClient) -> None:
    assert client.post("/login").headers["x-ratelimit-remaining"] == "1"
    client.post("/login")
    refused = client.post("/login")
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["status"] == 429
    assert int(refused.headers["retry-after"]) > 0


def test_what_no_endpoint_serves_is_charged_by_its_path(client: TestClient) -> None:
    for path, status in [("/nowhere", 404), ("/login", 405)]:
        answer = client.get(path)
        assert (answer.status_code, answer.headers["x-ratelimit-limit"]) == (status, "9")


def test_a_websocket_is_charged_by_its_route(client: TestClient) -> None:
    with client.websocket_connect("/live/a"):
        pass
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live/b"):
        pass


def test_decorated_endpoints_keep_their_signatures_and_have_budgets(limiter: Limiter) -> None:
    app = FastAPI()

    @app.get("/square/{number}")
    @limit(limiter, policy=f"1/{LONG}")
    def square(number: int) -> int:
        return number * number

    @app.get("/cube/{number}")
    @limit(limiter, policy=f"1/{LONG}")
    async def cube(number: int) -> int:
        return number**3

    @app.get("/free")
    async def free() -> str:
        return "free"

    app.add_middleware(RateLimitMiddleware, limiter=limiter, by_route=False)
    client = TestClient(app)
    answers = [client.get("/square/3") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[0].json() == 9
    assert answers[0].headers["x-ratelimit-limit"] == "1"
    assert [client.get("/cube/3").status_code for _ in range(2)] == [200, 429]
    assert client.get("/cube/x").status_code == 422
    assert "x-ratelimit-limit" not in client.get("/free").headers


def test_a_decorator_may_name_rule_key_and_cost(limiter: Limiter) -> None:
    def token(scope: Any) -> str | None:
        return dict(scope["headers"]).get(b"x-token", b"").decode() or None

    @limit(limiter, rule="api", key=token, cost=lambda scope: 4)
    async def endpoint(request: Request) -> PlainTextResponse:
        return PlainTextResponse("")

    app = Starlette(routes=[Route("/", endpoint)])
    app.add_middleware(RateLimitMiddleware, limiter=limiter, by_route=False)
    TestClient(app).get("/", headers={"X-Token": "t"})
    assert limiter.status("t", rule="api").count == 4


def test_a_request_is_charged_once_by_all_layers(limiter: Limiter) -> None:
    inner = Starlette(
        routes=[Route("/login", limit(limiter, rule="login")(text), methods=["POST"])]
    )
    inner.add_middleware(RateLimitMiddleware, limiter=limiter, rule="login")
    app = Starlette(routes=[Mount("/", app=inner)])
    app.add_middleware(RateLimitMiddleware, limiter=limiter)
    app.add_middleware(RateLimitMiddleware, limiter=limiter)
    answer = TestClient(app).post("/login")
    assert answer.headers.get_list("x-ratelimit-remaining") == ["1"]
    assert limiter.status("testclient", rule="login").count == 1


def test_a_decorator_without_the_middleware_says_what_is_missing(limiter: Limiter) -> None:
    app = Starlette(routes=[Route("/", limit(limiter, rule="api")(text))])
    with pytest.raises(RuntimeError, match=r"needs ratelite\.starlette\.RateLimitMiddleware"):
        TestClient(app).get("/")
