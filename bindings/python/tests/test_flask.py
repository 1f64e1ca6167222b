"""Flask itself, with the extension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask.views import MethodView
from helpers import LONG

from ratelite import Limiter
from ratelite.flask import RateLimit
from ratelite.wsgi import RateLimitMiddleware

POLICY = f"""
user: GET /users/<int:user> 2/{LONG}
login: POST /login 2/{LONG}
api: * 6/{LONG}
"""


@pytest.fixture
def limiter() -> Iterator[Limiter]:
    with Limiter(":memory:", POLICY) as limiter:
        yield limiter


def views(app: Flask) -> None:
    @app.get("/users/<int:user>")
    def user(user: int) -> str:
        return str(user)

    @app.post("/login")
    def login() -> str:
        return "in"


@pytest.fixture
def client(limiter: Limiter) -> FlaskClient:
    app = Flask("shop")
    RateLimit(limiter, app)
    views(app)
    return app.test_client()


def test_the_matched_route_is_charged_whatever_its_parameters(client: FlaskClient) -> None:
    statuses = [client.get(f"/users/{number}").status_code for number in (1, 2, 3)]
    assert statuses == [200, 200, 429]


def test_another_spelling_of_a_path_is_the_same_route(client: FlaskClient) -> None:
    spellings = ["/login", "/%6Cogin", "/login?next=%2F"]
    statuses = [client.post(spelling).status_code for spelling in spellings]
    assert statuses == [200, 200, 429]


def test_every_response_carries_headers_and_the_refusal_a_problem(client: FlaskClient) -> None:
    first = client.post("/login")
    assert first.headers["X-RateLimit-Remaining"] == "1"
    client.post("/login")
    refused = client.post("/login")
    assert refused.status_code == 429
    assert refused.content_type == "application/problem+json"
    assert refused.get_json()["status"] == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert len(refused.headers.getlist("X-RateLimit-Limit")) == 1


def test_what_no_view_serves_is_charged_by_its_path(client: FlaskClient, limiter: Limiter) -> None:
    for path, status in [("/nowhere", 404), ("/login", 405), ("/users/x", 404)]:
        answer = client.get(path)
        assert (answer.status_code, answer.headers["X-RateLimit-Limit"]) == (status, "6")
    assert limiter.status("127.0.0.1", rule="api").count == 3


def test_a_decorated_view_has_its_own_budget(limiter: Limiter) -> None:
    app = Flask("shop")
    limits = RateLimit(limiter, app, by_route=False)

    @app.get("/mail")
    @limits.limit(policy=f"1/{LONG}")
    def mail() -> str:
        return "sent"

    @app.get("/sms")
    @limits.limit(policy=f"1/{LONG}")
    async def sms() -> str:
        return "sent"

    @app.get("/free")
    def free() -> str:
        return "free"

    client = app.test_client()
    assert [client.get("/mail").status_code for _ in range(2)] == [200, 429]
    assert [client.get("/sms").status_code for _ in range(2)] == [200, 429]
    assert "X-RateLimit-Limit" not in client.get("/free").headers


def test_a_decorator_may_name_rule_key_and_cost(limiter: Limiter) -> None:
    app = Flask("shop")
    limits = RateLimit(limiter, app, by_route=False)

    @app.get("/report")
    @limits.limit(
        rule="api",
        key=lambda environ: environ.get("HTTP_X_TOKEN"),
        cost=lambda environ: int(environ["HTTP_X_COST"]),
    )
    def report() -> str:
        return "done"

    client = app.test_client()
    answer = client.get("/report", headers={"X-Token": "t", "X-Cost": "4"})
    assert answer.headers["X-RateLimit-Remaining"] == "2"
    assert limiter.status("t", rule="api").count == 4


def test_class_based_views_are_two_budgets(limiter: Limiter) -> None:
    app = Flask("shop")
    limits = RateLimit(limiter, app, by_route=False)

    class Get(MethodView):
        decorators: ClassVar[list[Any]] = [limits.limit(policy=f"1/{LONG}")]

        def get(self) -> str:
            return "got"

    class First(Get): ...

    class Second(Get): ...

    app.add_url_rule("/first", view_func=First.as_view("first"))
    app.add_url_rule("/second", view_func=Second.as_view("second"))
    client = app.test_client()
    statuses = [client.get(path).status_code for path in ("/first", "/second", "/first")]
    assert statuses == [200, 200, 429]


def test_a_request_is_charged_once_by_all_layers(limiter: Limiter) -> None:
    app = Flask("shop")
    limits = RateLimit(limiter, app)

    @app.post("/login")
    @limits.limit(rule="login")
    def login() -> str:
        return "in"

    middleware: Any = RateLimitMiddleware(app.wsgi_app, limiter)
    app.wsgi_app = middleware  # type: ignore[method-assign]
    answer = app.test_client().post("/login")
    assert answer.headers["X-RateLimit-Remaining"] == "1"
    assert len(answer.headers.getlist("X-RateLimit-Remaining")) == 1
    assert limiter.status("127.0.0.1", rule="login").count == 1


def test_a_refusal_by_the_view_itself_becomes_429(limiter: Limiter) -> None:
    app = Flask("shop")
    RateLimit(limiter).init_app(app)

    @app.get("/check")
    def check() -> str:
        limiter.check("alice", rule="user")
        return "passed"

    statuses = [app.test_client().get("/check").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_decorator_on_the_wrong_side_is_refused(limiter: Limiter) -> None:
    app = Flask("shop")
    limits = RateLimit(limiter, app)

    @app.get("/late")
    def late() -> str:
        return ""

    with pytest.raises(RuntimeError, match=r"below @app\.route"):
        limits.limit(rule="api")(late)
