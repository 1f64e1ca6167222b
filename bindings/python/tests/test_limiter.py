"""The verbs, as Python says them. What they mean is in the case files."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from helpers import NOW

import ratelite
from ratelite import Limiter, RateLimitExceeded, errors


def test_a_result_is_true_when_allowed(three: Limiter) -> None:
    verdicts = [bool(three.hit("alice", now=NOW)) for _ in range(5)]
    assert verdicts == [True, True, True, False, False]


def test_a_result_says_everything(three: Limiter) -> None:
    result = three.hit("alice", now=NOW)
    assert result.rule == "default"
    assert (result.limit, result.count, result.remaining) == (3, 1, 2)
    assert (result.window, result.window_ms) == (60.0, 60_000)
    assert result.reset_at == NOW + 5
    assert result.now_ms == NOW * 1000
    assert result.error is None


def test_a_result_does_not_change(three: Limiter) -> None:
    result = three.hit("alice", now=NOW)
    with pytest.raises(AttributeError):
        result.remaining = 5  # type: ignore[misc]
    assert result.remaining == 2


def test_a_result_reads_like_a_sentence() -> None:
    with Limiter(":memory:", "login: 3/min") as limiter:
        allowed = limiter.hit("secret", now=NOW)
        denied = limiter.hit("secret", cost=3, now=NOW)
        never = limiter.hit("secret", cost=4, now=NOW)
    assert repr(allowed) == (
        "<Result allowed: rule login, 2 of 3 left per 60 s until 2023-11-14T22:14:00Z, 1 asked for>"
    )
    assert repr(denied).startswith("<Result denied, retry after 5 s: rule login, 2 of 3 left")
    assert repr(never).startswith("<Result denied, no wait helps: rule login")


def test_a_result_travels_between_processes(three: Limiter) -> None:
    result = three.hit("alice", now=NOW)
    assert pickle.loads(pickle.dumps(result)) == result


def test_check_raises_what_a_handler_needs_to_know(three: Limiter) -> None:
    for _ in range(3):
        assert three.check("alice", now=NOW).allowed
    with pytest.raises(RateLimitExceeded) as caught:
        three.check("alice", now=NOW)
    error = caught.value
    assert (error.key, error.rule, error.limit, error.window) == ("alice", "default", 3, 60.0)
    assert error.retry_after == 5
    assert error.result.count == 4
    assert str(error) == "rule default: the limit of 3 per 60 s leaves no room; retry after 5 s"


def test_the_message_of_a_refusal_holds_no_key(three: Limiter) -> None:
    with pytest.raises(RateLimitExceeded) as caught:
        three.check("secret", cost=4, now=NOW)
    assert "secret" not in str(caught.value)
    assert "waiting does not help" in str(caught.value)


def test_a_refusal_travels_between_processes(three: Limiter) -> None:
    with pytest.raises(RateLimitExceeded) as caught:
        three.check("alice", cost=4, now=NOW)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.key, copy.result, str(copy)) == ("alice", caught.value.result, str(caught.value))


def test_status_changes_nothing(three: Limiter) -> None:
    for _ in range(3):
        assert three.status("alice", now=NOW).count == 0
    assert three.hit("alice", now=NOW).count == 1


def test_a_refund_gives_units_back(three: Limiter) -> None:
    three.hit("alice", cost=3, now=NOW)
    assert three.refund("alice", cost=2, now=NOW).remaining == 2


def test_reset_forgets_one_key_in_one_rule_or_in_all() -> None:
    with Limiter(":memory:", "a: 3/min; b: 3/min, 9/h") as limiter:
        for rule in ("a", "b"):
            limiter.hit("alice", rule=rule, now=NOW)
            limiter.hit("bob", rule=rule, now=NOW)
        assert limiter.reset("alice", rule="a") == 1
        assert limiter.status("alice", rule="b", now=NOW).count == 1
        assert limiter.reset("alice") == 2
        assert limiter.status("bob", rule="a", now=NOW).count == 1


def test_prune_removes_what_is_past_and_says_how_much(store: Path) -> None:
    with Limiter(store, "3/min", auto_prune=False) as limiter:
        limiter.hit("alice", now=NOW)
        limiter.hit("bob", now=NOW)
        assert limiter.prune(NOW + 60) == 0
        assert limiter.prune(NOW + 180) == 2


def test_a_request_that_fits_no_route_has_no_rule() -> None:
    with Limiter(":memory:", "login: POST /login 3/min") as limiter:
        assert limiter.route("POST", "/login?next=%2F") == "login"
        assert limiter.route(b"POST", b"/login") == "login"
        assert limiter.route("GET", "/login") is None


def test_headers_are_pairs_in_order(three: Limiter) -> None:
    assert three.headers(three.hit("alice", cost=3, now=NOW)) == [
        ("X-RateLimit-Limit", "3"),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", str(NOW + 5)),
    ]
    assert three.headers(three.hit("alice", now=NOW))[-1] == ("Retry-After", "5")
    assert three.headers(three.hit("alice", now=NOW), "github")[-1] == ("retry-after", "5")
    assert three.headers(three.hit("alice", now=NOW), "ietf")[0][0] == "RateLimit-Policy"
    with pytest.raises(ratelite.InvalidArgumentError, match="style"):
        three.headers(three.status("alice", now=NOW), "X")


def test_long_headers_come_whole() -> None:
    limits = ", ".join(f"{n}/{n}h" for n in range(1, 61))
    with Limiter(":memory:", limits) as limiter:
        text = dict(limiter.headers(limiter.hit("alice", now=NOW), "ietf"))["RateLimit-Policy"]
    assert text.count("q=") == 60


def test_a_problem_is_that_of_c(three: Limiter) -> None:
    three.hit("alice", cost=3, now=NOW)
    problem = three.problem(three.hit("alice", now=NOW))
    assert '"status":429' in problem
    assert '"retry_after":5' in problem


def test_a_foreign_result_makes_no_headers(three: Limiter) -> None:
    with Limiter(":memory:", "a: 1/s; b: 7/h") as other:
        foreign = other.hit("alice", rule="b", now=NOW)
    with pytest.raises(ratelite.InvalidArgumentError):
        three.headers(foreign)


def test_an_unknown_rule_is_a_lookup_error() -> None:
    with Limiter(":memory:", "a: 3/min; b: 3/min") as limiter:
        for rule in ("c", None, "", "ä"):
            with pytest.raises(ratelite.UnknownRuleError) as caught:
                limiter.hit("alice", rule=rule)
            assert isinstance(caught.value, LookupError)


def test_a_file_of_another_kind_is_left_alone(store: Path) -> None:
    store.write_text("precious")
    with pytest.raises(ratelite.NotAStoreError) as caught:
        Limiter(store, "3/min")
    assert caught.value.code == -9
    assert str(store) in str(caught.value)
    assert store.read_text() == "precious"


def test_an_error_travels_between_processes() -> None:
    with pytest.raises(ratelite.PolicyError) as caught:
        Limiter(":memory:", "nonsense")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), copy.code, copy.message) == (
        ratelite.PolicyError,
        -2,
        caught.value.message,
    )


def test_an_error_without_a_class_of_its_own_keeps_its_code() -> None:
    error = errors.from_code(-11, "no file descriptor is free")
    copy = pickle.loads(pickle.dumps(error))
    for each in (error, copy):
        assert (type(each), each.code, str(each)) == (
            ratelite.StoreError,
            -11,
            "no file descriptor is free",
        )


def test_a_path_of_any_kind_names_the_store(tmp_path: Path) -> None:
    for path in (tmp_path / "a.db", str(tmp_path / "b.db"), os.fsencode(tmp_path / "c.db")):
        with Limiter(path, "3/min") as limiter:
            limiter.hit("alice")
    assert {path.name for path in tmp_path.glob("?.db")} == {"a.db", "b.db", "c.db"}


def test_with_policy_shares_the_store_and_the_options(store: Path) -> None:
    with Limiter(store, "a: 3/min", busy_timeout_ms=250) as limiter:
        other = limiter.with_policy("a: 5/min")
        assert limiter.with_policy("a: 5/min") is other
        limiter.hit("alice", now=NOW)
        assert other.status("alice", now=NOW).remaining == 4
        assert other.info()["busy_timeout_ms"] == 250
    assert other.closed


def test_with_policy_finds_a_relative_store_from_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Limiter("limits.db", "a: 3/min") as limiter:
        limiter.hit("alice", now=NOW)
        monkeypatch.chdir("elsewhere")
        assert limiter.with_policy("a: 5/min").status("alice", now=NOW).count == 1


def test_a_limiter_says_what_it_is(three: Limiter, store: Path) -> None:
    assert three.rules == ("default",)
    assert (three.store, three.policy) == (store, "3/min")
    assert repr(three) == f"<Limiter {store!r}: default>"
    with pytest.raises(TypeError, match="open one in each"):
        pickle.dumps(three)


def test_the_librarys_version_is_the_packages() -> None:
    assert ratelite.version() == ratelite.__version__
