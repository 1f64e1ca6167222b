"""The limiter: a policy applied to a store."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import random
import time
from typing import Any, Callable, Optional, TypeVar, Union

from . import _abi, _arguments, _options, _prepared, _waiting
from ._arguments import Key, Time, key_bytes
from ._calls import text
from ._handle import Slot, give_slot, take_slot, unpack
from ._library import PathLike, load
from ._native import CLOSED, Native
from ._prepared import ONE, ONE_UNIT, SIZES, SYSTEM_CLOCK
from ._problems import UNANSWERED, problem
from .decorator import CostOf, KeyOf, limit
from .errors import ClosedError, InvalidArgumentError, RateLimitExceeded
from .ip import address_key
from .result import RULE, Result, new_tuple, packed

_STYLES = {"x": _abi.HEADERS_X, "github": _abi.HEADERS_GITHUB, "ietf": _abi.HEADERS_IETF}
_ON_ERROR = ("raise", "allow", "deny")

_F = TypeVar("_F", bound=Callable[..., Any])


class Limiter(Native):
    """Counts hits against the limits of a policy, exactly, for every process on the store.

        with Limiter("limits.db", "login: POST /login 3/10s; api: * 100/min") as limiter:
            if not limiter.hit("alice", rule="api"):
                ...

    `store`  path of the store file, created if it is not there; ":memory:" for tests; or the
        address of a Redis or Valkey, such as "redis://user:password@host:6379/0".
    `policy` the rules, in the language that README.md and `ratelite.h` describe.
    `on_error` what becomes of a failure of the store (never of a wrong argument): "raise" it;
        "allow" or "deny" the hit, with a warning in the log `ratelite` and a Result whose
        `error` is set.

    The other options are those of `rl_options`; None means the default.

    `busy_timeout_ms`  the longest that a call waits for others, 1 to 60000, or -1 not at all
        (default 1000).
    `durability`  when a hit is in the file: "interval" (default), at most `flush_interval_ms` after
        it was answered, while anybody hits; "hit", before it is answered. Either way it is counted
        exactly, at once, for all processes. With `audit` it is "hit".
    `flush_interval_ms`  1 to 60000 (default 100); of several limiters on a store the shortest.
    `auto_prune`  hits remove expired rows by the way (default True).
    `keep_open`  the process keeps the file open after the last close (default True).
    `audit`  record each allowed hit in the table api_calls (default False), for
        `audit_retention_s` seconds (default 30 days).
    `recover_corrupt`  a damaged store is moved aside and begun anew (default False: an error).
    `file_mode`  permission bits of a file that is created (default 0o600).
    `table_slots`  how many windows of keys the table holds that the processes on a store share, 1
        to 2^32 (default 262144, 33 MiB of disk). Who creates the store decides; another number
        later is refused.
    `key_secret`  bytes under which keys are hashed before they are stored.

    Of a store on a server:

    `connect_timeout_ms`, `command_timeout_ms`  how long connecting and an answer may take, 1 to
        60000 (default 100).
    `remember_denied`  a denied client is refused here, without asking, until a window ends; the
        server is told after `flush_interval_ms`, then ever more seldom, so `count` lags (default
        False).
    `insurance`  path of a store file that takes over while the server is away, by limits of its
        own: `insurance_policy`, or `insurance_percent` of each, 1 to 100 (default 100).

    `library`  path of the shared library, if it is not to be searched for.

    Any thread may use a limiter, and any number at once; after fork() parent and child both go
    on with the limiters they have. The constructor always raises, whatever `on_error`.

    Keys are str (stored as UTF-8) or bytes, at least one byte. `rule` is a name in the policy;
    None means the only rule of a policy that has one. `cost` is 0 to 2^53 - 1 units; 0 counts
    nothing. `now` is the time of the hit, an aware datetime or epoch seconds; None means the
    system clock. Give `now` in tests.

    Every call can raise InvalidArgumentError, UnknownRuleError, ClosedError, TypeError, and
    StoreError unless `on_error` says otherwise. After a failure nothing was spent; the attempt may
    stay counted. (Of a server, the answer to a hit that is spent may have been lost.)
    """

    def __init__(
        self,
        store: Union[str, bytes, os.PathLike[str]],
        policy: str,
        *,
        on_error: str = "raise",
        busy_timeout_ms: Optional[int] = None,
        durability: Optional[str] = None,
        flush_interval_ms: Optional[int] = None,
        auto_prune: Optional[bool] = None,
        keep_open: Optional[bool] = None,
        audit: Optional[bool] = None,
        audit_retention_s: Optional[int] = None,
        recover_corrupt: Optional[bool] = None,
        file_mode: Optional[int] = None,
        table_slots: Optional[int] = None,
        key_secret: Optional[bytes] = None,
        connect_timeout_ms: Optional[int] = None,
        command_timeout_ms: Optional[int] = None,
        remember_denied: Optional[bool] = None,
        insurance: Union[str, bytes, os.PathLike[str], None] = None,
        insurance_policy: Optional[str] = None,
        insurance_percent: Optional[int] = None,
        library: Optional[PathLike] = None,
    ) -> None:
        if on_error not in _ON_ERROR:
            raise InvalidArgumentError(f"on_error is 'raise', 'allow' or 'deny', not {on_error!r}")
        options = _options.options(
            busy_timeout_ms=busy_timeout_ms,
            durability=durability,
            flush_interval_ms=flush_interval_ms,
            auto_prune=auto_prune,
            keep_open=keep_open,
            audit=audit,
            audit_retention_s=audit_retention_s,
            recover_corrupt=recover_corrupt,
            file_mode=file_mode,
            table_slots=table_slots,
            key_secret=key_secret,
            connect_timeout_ms=connect_timeout_ms,
            command_timeout_ms=command_timeout_ms,
            remember_denied=remember_denied,
            insurance=insurance,
            insurance_policy=insurance_policy,
            insurance_percent=insurance_percent,
        )
        self._open(store, policy, on_error, options, load(library))

    def with_policy(self, policy: str) -> Limiter:
        """Another policy on this store, with the options of this limiter.

        The same limiter each time for the same text. In `:memory:` it has counters of its own. It
        is closed with this limiter.
        """
        self._open_handle()
        sibling = self._siblings.get(policy)
        if sibling is None or sibling.closed:
            sibling = Limiter.__new__(Limiter)
            # By its full path: the working directory may be another one by now.
            store = self.place if isinstance(self.place, str) else self._store
            sibling._open(store, policy, self._on_error, self._options, self._library)
            self._siblings[policy] = sibling
        return sibling

    # -- judging ----------------------------------------------------------------------------

    def hit(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """Counts an attempt and says whether it is allowed; the Result is true if it is.

        A denied hit is counted as an attempt, and spends nothing.
        """
        # What _judge() does, for the hits that are most: a call less is felt, and nothing is made
        # here that can be made before.
        handle = self._handle
        if handle is None:
            raise ClosedError(CLOSED)
        slot: Optional[Slot]
        try:
            data = key.encode() if type(key) is str else key_bytes(key)
            size = SIZES[len(data)]
            name = self._names[rule]
            slot = take_slot()
        except (UnicodeEncodeError, IndexError, KeyError):
            # Not in here: the next error would show this one, and with it the key.
            slot = None
        function = self._rl_hit
        if slot is None:
            return self._judge(function, key, rule, now, cost)
        time_ms = SYSTEM_CLOCK if now is None else _prepared.time(now)
        units = ONE_UNIT if cost is ONE else _prepared.units(cost)
        code = function(handle.prepared, name, data, size, units, time_ms, slot.prepared)
        if code:
            return self._failed(code, rule)
        fields = unpack(slot.buffer)
        give_slot(slot)
        return new_tuple(Result, fields + self._endings[fields[RULE]])

    def status(self, key: Key, *, rule: Optional[str] = None, now: Optional[Time] = None) -> Result:
        """What a hit of cost 1 would meet now. Changes nothing, so it decides nothing either."""
        return self._judge(self._rl_status, key, rule, now)

    def refund(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """Gives units back in the current windows, down to nothing spent; answers as `status`.

        For work that was charged and then not done. The attempts stay counted.
        """
        return self._judge(self._rl_refund, key, rule, now, cost)

    def check(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """As `hit`, but raises RateLimitExceeded when it is denied."""
        return self._insist(key, self.hit(key, rule=rule, cost=cost, now=now))

    async def hit_async(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """As `hit`, in a thread of asyncio's, since it may wait for others up to its deadline.

        Under another event loop (trio) it is called where it stands.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.hit(key, rule=rule, cost=cost, now=now)
        return await loop.run_in_executor(
            None, lambda: self.hit(key, rule=rule, cost=cost, now=now)
        )

    async def check_async(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """As `hit_async`, but raises RateLimitExceeded when it is denied."""
        return self._insist(key, await self.hit_async(key, rule=rule, cost=cost, now=now))

    def wait(
        self,
        key: Key,
        *,
        rule: Optional[str] = None,
        cost: int = 1,
        timeout: Optional[float] = None,
    ) -> Result:
        """Hits until it is allowed, sleeping `retry_after` (and up to 0.1 s more) in between.

        `timeout` is in seconds; None: as long as it takes. Returns the last Result: a denied one
        at once when no wait helps or the wait would end after the timeout. Each try is an attempt.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            result = self.hit(key, rule=rule, cost=cost)
            seconds = _waiting.pause(result, _left(deadline), random.random())
            if seconds is None:
                return result
            time.sleep(seconds)

    async def wait_async(
        self,
        key: Key,
        *,
        rule: Optional[str] = None,
        cost: int = 1,
        timeout: Optional[float] = None,
    ) -> Result:
        """As `wait`, without blocking the event loop of asyncio."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            result = await self.hit_async(key, rule=rule, cost=cost)
            seconds = _waiting.pause(result, _left(deadline), random.random())
            if seconds is None:
                return result
            await asyncio.sleep(seconds)

    def limit(
        self,
        *,
        key: KeyOf,
        rule: Optional[str] = None,
        policy: Optional[str] = None,
        cost: CostOf = 1,
    ) -> Callable[[_F], _F]:
        """Decorates a function or coroutine: each call hits first, RateLimitExceeded if denied.

        `key` and `cost` are values, or callables that get the call's arguments. The budget is
        `rule` of this limiter, or `policy`: limits of the function's own, such as "3/10s", under
        a rule named after its module and qualified name.
        """
        return limit(self, key=key, rule=rule, policy=policy, cost=cost)

    # -- keeping the store ------------------------------------------------------------------

    def reset(self, key: Key, *, rule: Optional[str] = None) -> int:
        """Forgets a key, in one rule or (None) in every rule of this policy.

        Returns how many counter rows went. Raises StoreError whatever `on_error`.
        """
        handle, data = self._open_handle(), _arguments.key_bytes(key)
        removed = ctypes.c_int64()
        self._done(
            self._library.rl_reset(
                handle.pointer, self._rule(rule), data, len(data), ctypes.byref(removed)
            )
        )
        return removed.value

    def prune(self, now: Optional[Time] = None) -> int:
        """Removes expired counters, of every rule and policy on the store; returns how many.

        `now` is taken literally: a time in the future removes live counters. Hits prune by
        themselves, so a cron job is not needed. What is counted and not yet in the file is written
        there first; `prune(0)` does only that. Raises StoreError whatever `on_error`.
        """
        handle = self._open_handle()
        removed = ctypes.c_int64()
        time_ms = _abi.NOW if now is None else _arguments.milliseconds(now)
        self._done(self._library.rl_prune(handle.pointer, time_ms, ctypes.byref(removed)))
        return removed.value

    def info(self) -> dict[str, Any]:
        """What is in force, for people and for monitoring. The header names the members.

        Of a file: durability, locks, sizes, options, and `table` (None: each hit is a transaction)
        with its `lag`: how far the file is behind, and why. Of a server: its version and mode,
        whether it is `reachable`, and `insurance`, whose `local` store is told of likewise.
        """
        handle = self._open_handle()
        answer = text(self._library, self._library.rl_info, handle.pointer)
        information: dict[str, Any] = json.loads(answer)
        return information

    # -- HTTP -------------------------------------------------------------------------------

    def route(self, method: Union[str, bytes], target: Union[str, bytes]) -> Optional[str]:
        """The name of the first rule whose route fits a request, or None. Touches no store.

        `target` is a path, with or without query, an absolute URI or `*`, compared undecoded.
        """
        handle = self._open_handle()
        rule = ctypes.c_char_p()
        code = self._library.rl_route(
            handle.pointer,
            _arguments.text(method, "the method"),
            _arguments.text(target, "the target"),
            ctypes.byref(rule),
        )
        if code == _abi.ENORULE or (code == _abi.OK and rule.value is None):
            return None
        self._done(code)
        return None if rule.value is None else rule.value.decode()

    def headers(self, result: Result, style: str = "x") -> list[tuple[str, str]]:
        """Response headers that tell a client where it stands, as (name, value).

        `style` is "x" (X-RateLimit-Limit, -Remaining, -Reset), "github" or "ietf" (a draft);
        Retry-After comes last, on a denial that a wait helps. None for a result of `on_error`.
        """
        if style not in _STYLES:
            raise InvalidArgumentError(f"style is one of {', '.join(_STYLES)}, not {style!r}")
        if result.error is not None:
            return []
        handle = self._open_handle()
        function = self._library.rl_headers
        lines = text(self._library, function, handle.pointer, packed(result), _STYLES[style])
        return [
            (name, value)
            for name, _, value in (line.partition(": ") for line in lines.split("\r\n")[:-1])
        ]

    def problem(self, result: Result) -> str:
        """The body of a refusal: JSON, `application/problem+json` of RFC 9457. Never a key.

        Of a result that `on_error` made, a 503.
        """
        handle = self._open_handle()
        if result.error is not None:
            return problem(503, UNANSWERED)
        return text(self._library, self._library.rl_problem, handle.pointer, packed(result))

    def ip_key(self, ip: str, v6_prefix: int = 64) -> str:
        """As `ratelite.ip_key`, by this limiter's library."""
        return address_key(self._library, ip, v6_prefix)

    def _insist(self, key: Key, result: Result) -> Result:
        if not result.allowed:
            raise RateLimitExceeded(key, result, self) from result.error
        return result


def _left(deadline: Optional[float]) -> Optional[float]:
    return None if deadline is None else deadline - time.monotonic()
