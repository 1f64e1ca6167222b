"""The answer to a hit, a status or a refund."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple, Optional

from . import _abi
from .errors import StoreError

#: Where the rule's index stands among the numbers.
RULE = _abi.RESULT_FIELDS.index("rule")

#: `new_tuple(Result, fields)`: Result() itself takes three times as long.
new_tuple = tuple.__new__


class Result(NamedTuple):
    """What the deciding limit of a rule says. Immutable; true when allowed.

    On a denial the deciding limit is the refusing one whose window ends last (or the first that
    can never fit the cost); on an allowance the one with the least remaining.
    """

    allowed: bool
    """Whether the hit was allowed; for status and refund, whether a hit of cost 1 would be."""
    limit: int
    """Units that the limit grants a window."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which no one misses here
    """Units asked for in the window, refused ones and this hit included."""
    remaining: int
    """Units left in the window after this call, 0 to `limit`."""
    reset_at: int
    """End of the window in epoch seconds, rounded up: at this time the next one is open."""
    retry_after: int
    """Seconds to wait: 0 if allowed, -1 if no wait helps, as the cost is above the limit."""
    window_start_ms: int
    """Start of the window in epoch milliseconds."""
    window_ms: int
    """Length of the window in milliseconds; for `month` that of this month."""
    now_ms: int
    """The time that the decision was made for, in epoch milliseconds."""
    rule_index: int
    """Which rule of the policy, from 0."""
    limit_index: int
    """Which limit of the rule, from 0."""
    insured: bool
    """Whether the insurance answered, by its own limits, since the store's server was away."""
    rule: str
    """The rule's name."""
    error: Optional[StoreError] = None
    """Why this is no answer of the store, but the limiter's `on_error`; then all numbers are 0,
    but `retry_after` of a denial is 1."""

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def window(self) -> float:
        """Length of the window in seconds."""
        return self.window_ms / 1000

    def __repr__(self) -> str:
        verdict = "allowed" if self.allowed else "denied"
        if self.error is not None:
            return f"<Result {verdict}, since the store failed: {self.error}>"
        wait = {0: "", -1: ", no wait helps"}.get(
            self.retry_after, f", retry after {self.retry_after} s"
        )
        reset = datetime.fromtimestamp(self.reset_at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return (
            f"<Result {verdict}{wait}: rule {self.rule}, {self.remaining} of {self.limit} left "
            f"per {self.window:g} s until {reset}, {self.count} asked for"
            f"{', by the insurance' if self.insured else ''}>"
        )


def unanswered(allowed: bool, rule: str, error: StoreError) -> Result:
    """The stand-in for an answer that the store did not give."""
    # Nobody knows when the store is well again: a second is the shortest wait there is.
    retry_after = 0 if allowed else 1
    return Result(allowed, 0, 0, 0, 0, retry_after, 0, 0, 0, 0, 0, False, rule, error)


def packed(result: Result) -> bytes:
    """The `rl_result` that a result was made of."""
    numbers: tuple[int, ...] = result[: len(_abi.RESULT_FIELDS)]  # type: ignore[assignment]
    return _abi.RESULT.pack(*numbers, 0, 0, 0, 0)
