"""Django itself, under WSGI and ASGI, with the middleware and the decorator."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import django
import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import include, path, re_path
from django.views import View
from helpers import LONG

import ratelite.django
from ratelite import Limiter

POLICY = f"""
user: GET /users/<int:user>/ 2/{LONG}
old: GET /old/<year>/ 1/{LONG}
login: POST /shop/login/ 2/{LONG}
api: * 9/{LONG}
"""

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        MIDDLEWARE=[
            "django.middleware.common.CommonMiddleware",
            "ratelite.django.RateLimitMiddleware",
        ],
        RATELITE={
            "store": ":memory:",
            "policy": POLICY,
            "key": "test_django.token",
            "trusted_proxies": ["10.0.0.0/8"],
        },
        ROOT_URLCONF="test_django",
        SECRET_KEY="for tests",
        USE_TZ=True,
    )
    django.setup()

limiter: Limiter = ratelite.django.limiter()


def token(request: Any) -> str | None:
    value: str | None = request.headers.get("X-Token")
    return value


def text(request: Any, **parameters: Any) -> HttpResponse:
    return HttpResponse("served")


async def text_async(request: Any, **parameters: Any) -> HttpResponse:
    return HttpResponse("served")


def own_check(request: Any) -> HttpResponse:
    limiter.check("alice", rule="user")
    return HttpResponse("passed")


own = ratelite.django.limit(policy=f"1/{LONG}")
sync_view = own(text)
async_view = own(text_async)
named_view = ratelite.django.limit(
    rule="login", key=lambda request: "shared", cost=lambda request: 2
)(text)


class First(View):  # type: ignore[misc]  # Django has no types
    def get(self, request: Any) -> HttpResponse:
        return HttpResponse("first")


class Second(First): ...


urlpatterns = [
    path("users/<int:user>/", text),
    re_path(r"^old/(?P<year>[0-9]+)/$", text_async),
    path("shop/", include([path("login/", text)])),
    path("sync/", sync_view),
    path("async/", async_view),
    path("named/", named_view),
    path("check/", own_check),
    path("first/", own(First.as_view())),
    path("second/", own(Second.as_view())),
]


@pytest.fixture(autouse=True)
def clean() -> None:
    """All counters of the one limiter that settings open, forgotten."""
    for key in ("127.0.0.1", "alice", "shared", "203.0.113.9"):
        limiter.reset(key)
        for sibling in limiter._siblings.values():
            sibling.reset(key)


class Asynchronous:
    """AsyncClient, to be used like Client."""

    def __getattr__(self, method: str) -> Any:
        def ask(*args: Any, **kwargs: Any) -> Any:
            return asyncio.run(getattr(AsyncClient(), method)(*args, **kwargs))

        return ask


@pytest.fixture(params=[Client, Asynchronous])
def client(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_the_matched_route_is_charged_whatever_its_parameters(client: Any) -> None:
    assert [client.get(f"/users/{n}/").status_code for n in (1, 2, 3)] == [200, 200, 429]
    assert [client.get(f"/old/{n}/").status_code for n in (1, 2)] == [200, 429]


def test_an_included_route_is_charged_by_its_full_path(client: Any) -> None:
    spellings = ["/shop/login/", "/shop/%6Cogin/", "/shop/login/?next=%2F"]
    assert [client.post(spelling).status_code for spelling in spellings] == [200, 200, 429]


def test_every_response_carries_headers_and_the_refusal_a_problem(client: Any) -> None:
    assert client.post("/shop/login/")["X-RateLimit-Remaining"] == "1"
    client.post("/shop/login/")
    refused = client.post("/shop/login/")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["status"] == 429
    assert int(refused["Retry-After"]) > 0


@pytest.mark.filterwarnings("ignore::Warning")
def test_what_no_view_serves_is_charged_by_its_path(client: Any) -> None:
    for address, status in [("/nowhere/", 404), ("/users/x/", 404)]:
        answer = client.get(address)
        assert (answer.status_code, answer["X-RateLimit-Limit"]) == (status, "9")
    for _ in range(7):
        client.get("/nowhere/")
    assert client.get("/nowhere/").status_code == 429


def test_decorated_views_have_budgets_of_their_own(client: Any) -> None:
    for address in ("/sync/", "/async/", "/first/", "/second/"):
        answers = [client.get(address) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429], address
        assert answers[0]["X-RateLimit-Limit"] == "1"


def test_a_decorator_may_name_rule_key_and_cost(client: Any) -> None:
    assert client.get("/named/")["X-RateLimit-Remaining"] == "0"
    assert limiter.status("shared", rule="login").count == 2


def test_a_refusal_by_the_view_itself_becomes_429(client: Any) -> None:
    assert [client.get("/check/").status_code for _ in range(3)] == [200, 200, 429]


def test_the_key_of_the_settings_is_asked_first(client: Any) -> None:
    for status in (200, 200, 429):
        assert Client().post("/shop/login/", headers={"X-Token": "alice"}).status_code == status
    assert Client().post("/shop/login/").status_code == 200
    proxied = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "1.1.1.1, 203.0.113.9"}
    Client().post("/shop/login/", **proxied)
    assert limiter.status("203.0.113.9", rule="login").count == 1


def test_a_request_is_charged_once_by_all_layers() -> None:
    from django.core.wsgi import get_wsgi_application

    from ratelite.wsgi import RateLimitMiddleware

    statuses = []
    application = RateLimitMiddleware(get_wsgi_application(), limiter)
    for _ in range(2):
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/shop/login/",
            "REMOTE_ADDR": "203.0.113.9",
            "SERVER_NAME": "test",
            "SERVER_PORT": "80",
            "wsgi.input": io.BytesIO(),
            "wsgi.url_scheme": "http",
        }
        application(environ, lambda status, headers, *_: statuses.append(dict(headers)))  # type: ignore[arg-type]
    assert [headers["X-RateLimit-Remaining"] for headers in statuses] == ["1", "0"]
    assert limiter.status("203.0.113.9", rule="login").count == 2
