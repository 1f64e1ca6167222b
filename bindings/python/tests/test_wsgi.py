"""The WSGI middleware, by the protocol alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from helpers import LONG

from ratelite import Limiter, RateLimitExceeded, StoreBusyError
from ratelite.charges import Budget, Charges
from ratelite.wsgi import RateLimitMiddleware

POLICY = f"login: POST /login 2/{LONG}; api: /api/* 3/{LONG}, 100/365d"


@pytest.fixture
def limiter() -> Iterator[Limiter]:
    with Limiter(":memory:", POLICY) as limiter:
        yield limiter


class Answer:
    """What a client would see."""

    def __init__(self, application: Any, method: str, path: str, **environ: Any) -> None:
        full = {"REQUEST_METHOD": method, "PATH_INFO": path, "SCRIPT_NAME": ""}
        full |= {"QUERY_STRING": "", "REMOTE_ADDR": "192.0.2.1", **environ}
        setup_testing_defaults(full)
        # The validator refuses what PEP 3333 does not allow, on both sides.
        body = validator(application)(full, self._start)
        self.body = b"".join(body)
        body.close()  # type: ignore[attr-defined]

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        self.status = int(status.split()[0])
        self.fields = headers
        self.headers = dict(headers)
        return lambda data: None


def application(environ: Any, start_response: Any) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"served"]


def test_every_response_carries_headers_and_the_refusal_a_problem(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    first = Answer(limited, "POST", "/login")
    assert (first.status, first.body) == (200, b"served")
    assert [name for name, _ in first.fields] == [
        "Content-Type",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
    ]
    assert first.headers["X-RateLimit-Remaining"] == "1"
    Answer(limited, "POST", "/login")
    refused = Answer(limited, "POST", "/login")
    assert refused.status == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert int(refused.headers["Retry-After"]) > 0
    assert b'"status":429' in refused.body
    assert int(refused.headers["Content-Length"]) == len(refused.body)


def test_a_refused_head_has_no_body(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    for _ in range(3):
        Answer(limited, "HEAD", "/api/x")
    assert Answer(limited, "HEAD", "/api/x").body == b""


def test_what_no_rule_matches_passes_unlimited(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    answers = [Answer(limited, "GET", "/other") for _ in range(5)]
    assert {answer.status for answer in answers} == {200}
    assert "X-RateLimit-Limit" not in answers[0].headers


def test_a_path_is_judged_as_the_application_sees_it() -> None:
    policy = f"login: POST /login 9/{LONG}; sign: POST /caf%C3%A9%20x 9/{LONG}; rest: * 9/{LONG}"
    with Limiter(":memory:", policy) as limiter:
        limited = RateLimitMiddleware(application, limiter, style="github")
        for path, script, rule in [
            ("/login", "", "login"),
            ("in", "/log", "login"),
            ("/login", "/shop", "rest"),
            ("//login", "", "rest"),
            ("/login/", "", "rest"),
            ("/login?", "", "rest"),  # of a client's /login%3F
            ("/login#", "", "rest"),
            ("/caf\u00c3\u00a9 x", "", "sign"),
            ("/\u00ff", "", "rest"),
        ]:
            environ = {"PATH_INFO": path, "SCRIPT_NAME": script, "REQUEST_METHOD": "POST"}
            assert limited._rule_of(environ) == rule, path


def test_clients_have_budgets_of_their_own(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter, trusted_proxies=["10.0.0.0/8"])
    for client in ("192.0.2.1", "192.0.2.2"):
        for status in (200, 200, 429):
            proxied = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"1.2.3.4, {client}"}
            assert Answer(limited, "POST", "/login", **proxied).status == status


@pytest.mark.parametrize("nothing", [None, "", b""])
def test_no_key_means_the_address_and_never_no_limit(limiter: Limiter, nothing: Any) -> None:
    limited = RateLimitMiddleware(
        application, limiter, key=lambda environ: environ.get("HTTP_TOKEN", nothing)
    )
    for status in (200, 200, 429):
        assert Answer(limited, "POST", "/login").status == status
    assert Answer(limited, "POST", "/login", HTTP_TOKEN="t").status == 200
    assert limiter.status("192.0.2.1", rule="login").count == 3


def test_a_rule_may_be_named_or_chosen(limiter: Limiter) -> None:
    named = RateLimitMiddleware(application, limiter, rule="login")
    chosen = RateLimitMiddleware(
        application,
        limiter,
        rule=lambda environ: None if environ["PATH_INFO"] == "/health" else "api",
    )
    assert Answer(named, "GET", "/").headers["X-RateLimit-Limit"] == "2"
    assert Answer(chosen, "GET", "/").headers["X-RateLimit-Limit"] == "3"
    assert "X-RateLimit-Limit" not in Answer(chosen, "GET", "/health").headers


def test_a_request_is_charged_once_however_many_middlewares_it_passes(store: Path) -> None:
    with Limiter(store, POLICY) as limiter, Limiter(store, POLICY) as again:
        limited: Any = application
        for each in (limiter, limiter, again):
            limited = RateLimitMiddleware(limited, each)
        answer = Answer(limited, "POST", "/login")
        assert [name for name, _ in answer.fields].count("X-RateLimit-Remaining") == 1
        assert answer.headers["X-RateLimit-Remaining"] == "1"
        assert limiter.status("192.0.2.1", rule="login").count == 1


def test_of_layers_that_ask_the_routes_the_outer_one_decides(limiter: Limiter) -> None:
    def mounted(environ: Any, start_response: Any) -> Iterable[bytes]:
        inner = RateLimitMiddleware(application, limiter)
        return inner({**environ, "PATH_INFO": "/api/x"}, start_response)

    answer = Answer(RateLimitMiddleware(mounted, limiter), "POST", "/login")
    assert answer.headers["X-RateLimit-Limit"] == "2"
    assert limiter.status("192.0.2.1", rule="api").count == 0


def test_of_layers_with_keys_of_their_own_each_is_charged(limiter: Limiter) -> None:
    inner = RateLimitMiddleware(application, limiter, key=lambda environ: "user:alice")
    Answer(RateLimitMiddleware(inner, limiter), "POST", "/login")
    for key in ("192.0.2.1", "user:alice"):
        assert limiter.status(key, rule="login").count == 1


def test_two_budgets_are_both_charged_and_the_tighter_one_is_told(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(
        RateLimitMiddleware(application, limiter, rule="login"), limiter, rule="api"
    )
    assert Answer(limited, "GET", "/").headers["X-RateLimit-Limit"] == "2"
    assert Answer(limited, "GET", "/").status == 200
    refused = Answer(limited, "GET", "/")
    assert (refused.status, refused.headers["X-RateLimit-Limit"]) == (429, "2")
    assert limiter.status("192.0.2.1", rule="api").count == 3


def test_headers_of_the_application_give_way_to_ours(limiter: Limiter) -> None:
    def talkative(environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response(
            "200 OK",
            [("Content-Type", "text/plain"), ("x-ratelimit-limit", "99"), ("X-Other", "1")],
        )
        return [b""]

    answer = Answer(RateLimitMiddleware(talkative, limiter), "POST", "/login")
    assert [value for name, value in answer.fields if name.lower() == "x-ratelimit-limit"] == ["2"]
    assert answer.headers["X-Other"] == "1"


def test_a_refusal_inside_the_application_becomes_429(limiter: Limiter) -> None:
    def handler(environ: Any, start_response: Any) -> Iterable[bytes]:
        limiter.check("alice", rule="login")
        return application(environ, start_response)

    # Two layers: the outer must not replace the headers of the refusal by those of its own charge.
    limited = RateLimitMiddleware(RateLimitMiddleware(handler, limiter), limiter)
    statuses = [Answer(limited, "GET", "/api/x").status for _ in range(2)]
    refused = Answer(limited, "GET", "/api/x")
    assert [*statuses, refused.status] == [200, 200, 429]
    assert refused.headers["X-RateLimit-Limit"] == "2"


def test_a_refusal_after_the_response_has_begun_is_not_hidden(limiter: Limiter) -> None:
    def handler(environ: Any, start_response: Any) -> Iterable[bytes]:
        application(environ, start_response)
        limiter.check("alice", rule="login", cost=3)
        return [b""]

    with pytest.raises(RateLimitExceeded):
        Answer(RateLimitMiddleware(handler, limiter), "GET", "/")


def test_a_store_that_fails_is_raised_or_503_or_passed(store: Path) -> None:
    Limiter(store, POLICY).close()
    holder = sqlite3.connect(store)
    holder.execute("BEGIN IMMEDIATE")
    limited = {
        on_error: RateLimitMiddleware(
            application,
            Limiter(store, POLICY, on_error=on_error, busy_timeout_ms=-1, durability="hit"),
        )
        for on_error in ("raise", "deny", "allow")
    }
    with pytest.raises(StoreBusyError):
        Answer(limited["raise"], "POST", "/login")
    denied = Answer(limited["deny"], "POST", "/login")
    assert (denied.status, denied.headers["Retry-After"]) == (503, "1")
    assert str(store).encode() not in denied.body
    allowed = Answer(limited["allow"], "POST", "/login")
    assert (allowed.status, "X-RateLimit-Limit" in allowed.headers) == (200, False)
    holder.close()


@pytest.mark.parametrize(
    "rule", ["/caf\u00e9", "/caf%C3%A9", "/x|y", "/[x]", '/a"b', "/~x^", "/a%b", "/{x}", "/a/*"]
)
def test_a_path_is_limited_however_the_policy_spells_it(rule: str) -> None:
    asked = rule.replace("*", "b").replace("%C3%A9", "\u00e9").encode().decode("latin-1")
    with Limiter(":memory:", f"only: {rule} 1/{LONG}") as limiter:
        limited = RateLimitMiddleware(application, limiter)
        assert [Answer(limited, "GET", asked).status for _ in range(2)] == [200, 429]


def test_bytes_that_are_no_text_are_no_error(limiter: Limiter) -> None:
    limited = RateLimitMiddleware(application, limiter)
    assert Answer(limited, "GET", "/api/\xff").headers["X-RateLimit-Remaining"] == "2"


def test_a_layer_that_costs_more_pays_what_is_missing(limiter: Limiter) -> None:
    charges = Charges()
    charges.charge(Budget(limiter, "alice", "api", routed=True))
    charges.charge(Budget(limiter, "alice", "api", cost=3))
    charges.charge(Budget(limiter, "alice", "api", cost=2))
    assert limiter.status("alice", rule="api").remaining == 0
    assert dict(charges.headers("x"))["X-RateLimit-Remaining"] == "0"
    with pytest.raises(RateLimitExceeded):
        charges.charge(Budget(limiter, "alice", "api", cost=4))
