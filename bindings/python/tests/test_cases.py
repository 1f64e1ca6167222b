"""The case files that every language runs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from helpers import CASES

import ratelite
from ratelite import Limiter, RateliteError, Result, _abi


def cases(name: str) -> Any:
    return json.loads((CASES / name).read_text(encoding="utf-8"))


def at(now_ms: int) -> datetime | float:
    """A case's time as Python says it: exactly, and as seconds where they are whole."""
    if now_ms % 1000 == 0:
        return now_ms // 1000
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=now_ms)
    except OverflowError:
        return now_ms / 1000


def code_of(name: str) -> int:
    code: int = getattr(_abi, name.replace("RL_", "", 1))
    return code


def perform(limiter: Limiter, step: dict[str, Any]) -> Any:
    if step["op"] == "route":
        return limiter.route(step["method"], step["target"])
    arguments: dict[str, Any] = {"rule": step["rule"], "now": at(step["now_ms"])}
    if "cost" in step:
        arguments["cost"] = step["cost"]
    return getattr(limiter, step["op"])(step["key"], **arguments)


def as_expected(result: Result, expected: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result that a case names; its `rule` is an index."""
    fields = {**result._asdict(), "rule": result.rule_index, "allowed": int(result.allowed)}
    return {name: fields[name] for name in expected}


@pytest.mark.parametrize("case", cases("semantics.json"), ids=lambda case: str(case["name"]))
def test_semantics_are_those_of_every_language(case: dict[str, Any]) -> None:
    with Limiter(":memory:", case["policy"]) as limiter:
        for number, step in enumerate(case["steps"]):
            if "error" in step:
                with pytest.raises(RateliteError) as caught:
                    perform(limiter, step)
                assert caught.value.code == code_of(step["error"]), number
                continue
            answer = perform(limiter, step)
            if isinstance(answer, Result):
                answer = as_expected(answer, step["expect"])
            assert answer == step["expect"], number


@pytest.mark.parametrize("policy", cases("policies.json")["accepted"])
def test_an_accepted_policy_opens(policy: str) -> None:
    with Limiter(":memory:", policy) as limiter:
        assert limiter.rules


@pytest.mark.parametrize("policy", cases("policies.json")["refused"])
def test_a_refused_policy_is_a_policy_error(policy: str) -> None:
    with pytest.raises(ratelite.PolicyError):
        Limiter(":memory:", policy)


@pytest.mark.parametrize("case", cases("policy_errors.json"), ids=lambda case: repr(case["text"]))
def test_a_policy_error_says_where_and_what(case: dict[str, Any]) -> None:
    with pytest.raises(ratelite.PolicyError) as caught:
        Limiter(":memory:", case["text"])
    assert caught.value.message == case["message"]


@pytest.mark.parametrize("case", cases("ip_keys.json"), ids=lambda case: repr(case["ip"])[:60])
def test_an_address_makes_its_key(case: dict[str, Any]) -> None:
    if "\0" in case["ip"] or "error" in case:
        with pytest.raises(ratelite.InvalidArgumentError) as caught:
            ratelite.ip_key(case["ip"], case["prefix"])
        assert caught.value.code == code_of(case["error"])
    else:
        assert ratelite.ip_key(case["ip"], case["prefix"]) == case["expect"]


@pytest.mark.parametrize("case", cases("headers.json"), ids=lambda case: str(case["name"]))
def test_headers_come_out_byte_for_byte(case: dict[str, Any]) -> None:
    with Limiter(":memory:", case["policy"]) as limiter:
        outcome = dict(case["outcome"])
        index = outcome.pop("rule")
        allowed = outcome.pop("allowed") == 1
        result = Result(
            allowed=allowed,
            rule_index=index,
            rule=limiter.rules[index],
            insured=False,
            error=None,
            **outcome,
        )
        lines = limiter.headers(result, case["style"].lower())
        assert "".join(f"{name}: {value}\r\n" for name, value in lines) == case["expect"]
