"""What a request was charged so far, for all layers of the host that limit it.

It travels in the request's own dictionary (WSGI's environ, ASGI's scope), so that a request is
charged once for a budget however many middlewares and decorators it passes, and carries one set
of headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from typing import Any, NamedTuple, Optional
from urllib.parse import quote

from ._arguments import Key
from ._problems import UNANSWERED, problem
from .errors import RateLimitExceeded, StoreError
from .limiter import Limiter
from .result import Result

_PLACE = "ratelite.charges"

Headers = list[tuple[str, str]]


class Refusal(NamedTuple):
    """A response that refuses a request."""

    status: int
    reason: str
    headers: Headers
    body: bytes

    @property
    def status_line(self) -> str:
        return f"{self.status} {self.reason}"


class Budget(NamedTuple):
    """What a layer wants a request to be charged to."""

    limiter: Limiter
    key: Key
    rule: Optional[str]
    cost: int = 1
    routed: bool = False
    """The policy's routes chose the rule: of two layers that ask them for one key, the outer's."""

    def same_as(self) -> set[tuple[object, ...]]:
        """Under which names this budget may already be charged."""
        limiter, key = self.limiter, self.key
        place = limiter.place, limiter.policy, key.encode() if isinstance(key, str) else key
        rule = limiter.rules[0] if self.rule is None else self.rule
        names: set[tuple[object, ...]] = {(*place, rule)}
        if self.routed:
            names.add(place)
        return names


class Charges:
    """The charges of one request. One thread or task at a time, as the request itself."""

    def __init__(self) -> None:
        self._results: dict[tuple[object, ...], tuple[Limiter, Result]] = {}
        self._costs: dict[tuple[object, ...], int] = {}

    @classmethod
    def of(cls, request: MutableMapping[str, Any]) -> Charges:
        """Those of the request with this environ or scope."""
        charges = request.setdefault(_PLACE, cls())
        assert isinstance(charges, cls)
        return charges

    @property
    def any(self) -> bool:
        """Whether the request was charged at all."""
        return bool(self._results)

    def charge(self, budget: Budget) -> None:
        """Hits, unless this budget was charged already; RateLimitExceeded if that was denied.

        A layer that costs more than the one that charged pays what is missing.
        """
        result, missing = self._known(budget)
        if result is None:
            result = budget.limiter.hit(budget.key, rule=budget.rule, cost=missing)
        self._keep(budget, result)

    async def charge_async(self, budget: Budget) -> None:
        """As `charge`, without blocking the event loop."""
        result, missing = self._known(budget)
        if result is None:
            result = await budget.limiter.hit_async(budget.key, rule=budget.rule, cost=missing)
        self._keep(budget, result)

    def _known(self, budget: Budget) -> tuple[Optional[Result], int]:
        """The answer that this budget has, or None and the units that are still to be charged."""
        paid = 0
        for name in budget.same_as():
            if name in self._results:
                result = self._results[name][1]
                if not result.allowed or self._costs[name] >= budget.cost:
                    return result, 0
                paid = max(paid, self._costs[name])
        return None, budget.cost - paid

    def _keep(self, budget: Budget, result: Result) -> None:
        for name in budget.same_as():
            if self._costs.get(name, -1) < budget.cost:
                self._results[name] = budget.limiter, result
                self._costs[name] = budget.cost
        if not result.allowed:
            raise RateLimitExceeded(budget.key, result, budget.limiter) from result.error

    def headers(self, style: str) -> Headers:
        """The header fields of the charge that decides: refused, or else least remaining."""
        answered = [charge for charge in self._results.values() if charge[1].error is None]
        if not answered:
            return []
        limiter, result = min(answered, key=lambda charge: (charge[1].allowed, charge[1].remaining))
        return limiter.headers(result, style)

    def onto(self, headers: Iterable[tuple[str, str]], style: str) -> Headers:
        """A response's header fields with ours, in place of those that an inner layer wrote."""
        return merged(headers, self.headers(style))

    def refusal(self, error: RateLimitExceeded, style: str) -> Refusal:
        """The response for a refusal: 429, or 503 if the store failed and `on_error` denies."""
        limiter, result = error.limiter, error.result
        if result.error is not None:
            return unavailable(result.error)
        if limiter is None:
            return _refusal(429, "Too Many Requests", [], problem(429, str(error)).encode())
        if all(result is not made for _, made in self._results.values()):
            # The handler asked a limiter itself: that answer decides, for outer layers too.
            self._results[(id(result),)] = limiter, result
        body = limiter.problem(result).encode()
        return _refusal(429, "Too Many Requests", self.headers(style), body)


def merged(theirs: Iterable[tuple[str, str]], ours: Headers) -> Headers:
    """Two lists of header fields, where ours replace theirs of the same name and come last."""
    names = {name.lower() for name, _ in ours}
    return [field for field in theirs if field[0].lower() not in names] + ours


def unavailable(error: StoreError) -> Refusal:
    """The response when the store failed: what failed is for the log, not for the client."""
    body = problem(503, UNANSWERED).encode()
    return _refusal(503, "Service Unavailable", [("Retry-After", "1")], body)


def rule_of_path(limiter: Limiter, method: str, path: str) -> Optional[str]:
    """The rule for a decoded path: `/%6Cogin` is `/login`, as the application sees it.

    A policy may spell a path as it is (`/café`), or percent-encoded as clients do (`/caf%C3%A9`).
    The first rule that fits either wins.
    """
    encoded = quote(path, safe="/:@!$&'()*+,;=~", encoding="utf-8", errors="surrogateescape")
    spellings = {encoded}
    if not _NOT_IN_A_POLICY.search(path):
        spellings.add(path)
    rules = [limiter.route(method, spelling) for spelling in spellings]
    return min((rule for rule in rules if rule is not None), key=limiter.rules.index, default=None)


#: Blanks, what ends a path in a policy or a target, and bytes that are no UTF-8.
_NOT_IN_A_POLICY = re.compile("[\\s\\x00-\\x1f\\x7f;,#?\\ud800-\\udfff]")


def _refusal(status: int, reason: str, headers: Headers, body: bytes) -> Refusal:
    content = [("Content-Type", "application/problem+json"), ("Content-Length", str(len(body)))]
    return Refusal(status, reason, content + headers, body)
