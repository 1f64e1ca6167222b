"""`@limiter.limit`, for functions and coroutines."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator
from typing import Any, Callable

import pytest
from helpers import LONG

from ratelite import Limiter, PolicyError, RateLimitExceeded, UnknownRuleError, rule_name


@pytest.fixture
def limiter() -> Iterator[Limiter]:
    with Limiter(":memory:", f"mail: 2/{LONG}; sms: 2/{LONG}") as limiter:
        yield limiter


def test_a_function_is_refused_before_it_runs(limiter: Limiter) -> None:
    sent = []

    @limiter.limit(key=lambda user, text: user, rule="mail")
    def send(user: str, text: str) -> str:
        """Sends."""
        sent.append(text)
        return text.upper()

    assert [send("alice", "a"), send("alice", text="b")] == ["A", "B"]
    with pytest.raises(RateLimitExceeded) as caught:
        send("alice", "c")
    assert (caught.value.key, caught.value.rule) == ("alice", "mail")
    assert send("bob", "d") == "D"
    assert sent == ["a", "b", "d"]
    assert (send.__name__, send.__doc__) == ("send", "Sends.")


def test_a_coroutine_stays_one_and_is_refused_before_it_runs(limiter: Limiter) -> None:
    @limiter.limit(key="all", rule="mail")
    async def send(text: str) -> str:
        return text.upper()

    async def three() -> list[Any]:
        return await asyncio.gather(*(send("a") for _ in range(3)), return_exceptions=True)

    assert inspect.iscoroutinefunction(send)
    answers = asyncio.run(three())
    assert sorted(map(str, answers))[:2] == ["A", "A"]
    assert sum(isinstance(answer, RateLimitExceeded) for answer in answers) == 1


def test_a_cost_may_depend_on_the_call(limiter: Limiter) -> None:
    @limiter.limit(key="all", rule="mail", cost=lambda count: count)
    def send(count: int) -> int:
        return count

    assert send(2) == 2
    with pytest.raises(RateLimitExceeded):
        send(1)


def test_two_rules_are_two_budgets_and_one_rule_is_one(limiter: Limiter) -> None:
    def function() -> bool:
        return True

    mail, sms, again = (
        limiter.limit(key="all", rule=rule)(function) for rule in ("mail", "sms", "mail")
    )
    assert mail()
    assert again()
    assert sms()
    with pytest.raises(RateLimitExceeded):
        mail()


def test_a_limit_of_its_own_is_named_after_the_function(limiter: Limiter) -> None:
    @limiter.limit(key="all", policy=f"1/{LONG}, 5/365d")
    def report() -> bool:
        return True

    assert report()
    with pytest.raises(RateLimitExceeded) as caught:
        report()
    assert caught.value.rule == rule_name(report)


def handlers_in(module: str) -> dict[str, Any]:
    """A module with a function, a class and closures, as if imported under this name."""
    names: dict[str, Any] = {"__name__": module}
    exec(
        "def view(): return True\n"
        "def views(): return True\n"
        "def mview(): return True\n"
        "class a:\n"
        "    def view(self): return True\n"
        "    class b:\n"
        "        def view(self): return True\n"
        "def outer():\n"
        "    def view(): return True\n"
        "    return view\n"
        "def ünicode(): return True\n"
        "def " + "x" * 70 + "(): return True\n"
        "def " + "x" * 71 + "(): return True\n"
        "first = lambda: True\n",
        names,
    )
    return names


def test_functions_of_one_name_in_two_modules_are_two_budgets(limiter: Limiter) -> None:
    limit = limiter.limit(key="all", policy=f"1/{LONG}")
    one, two = (limit(handlers_in(module)["view"]) for module in ("shop.views", "blog.views"))
    assert one()
    assert two()
    with pytest.raises(RateLimitExceeded):
        one()


def test_no_two_functions_share_a_rules_name() -> None:
    modules = [
        "äx",
        "m",
        "m.a",
        "m-a",
        "m.a.b",
        "m_a",
        "m-",
        "ä",
        "ö",
        "m" * 70,
        "m" * 71,
        "a/b",
        "a b",
    ]
    found: dict[str, Callable[..., Any]] = {}
    for module in modules:
        names = handlers_in(module)
        functions = [
            names["view"],
            names["views"],
            names["mview"],
            names["a"].view,
            names["a"].b.view,
            names["outer"](),
            names["ünicode"],
            names["x" * 70],
            names["x" * 71],
            names["first"],
        ]
        for function in functions:
            name = rule_name(function)
            assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
            assert name not in found, (function, found.get(name))
            found[name] = function
    assert len(found) == len(modules) * 10


def test_a_rules_name_can_be_read() -> None:
    names = handlers_in("shop.views")
    assert rule_name(names["view"]) == "shop.views-view"
    assert rule_name(names["a"].view) == "shop.views-a.view"
    assert rule_name(names["outer"]()).startswith("shop.views-outer._locals_.view-.")
    assert rule_name(names["x" * 70]).startswith("x" * 30 + "-.")


def test_closures_that_were_given_names_are_two_budgets() -> None:
    def closure(name: str) -> Callable[[], bool]:
        def view() -> bool:
            return True

        view.__name__ = name
        return view

    assert rule_name(closure("first")) != rule_name(closure("second"))
    assert rule_name(closure("first")) == rule_name(closure("first"))


def test_the_main_module_has_one_name_in_every_process() -> None:
    assert rule_name(handlers_in("__mp_main__")["view"]) == rule_name(
        handlers_in("__main__")["view"]
    )


def test_a_callable_object_is_named_after_its_class() -> None:
    class Handler:
        def __call__(self) -> None: ...

    assert "Handler-." in rule_name(Handler())


def test_a_wrong_decorator_is_refused_when_it_is_written(limiter: Limiter) -> None:
    def function() -> None: ...

    for rule in ("fax", None):
        with pytest.raises(UnknownRuleError, match="mail, sms"):
            limiter.limit(key="all", rule=rule)(function)
    with pytest.raises(ValueError, match="not both"):
        limiter.limit(key="all", rule="mail", policy="1/s")(function)
    for policy in ("1/s; other: 2/s", "other: 1/s", "1 s", ""):
        with pytest.raises(PolicyError):
            limiter.limit(key="all", policy=policy)(function)
