"""The limiter: a policy applied to a store."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import random
import time
from types import TracebackType
from typing import Any, Callable, NoReturn, Optional, TypeVar, Union

from . import _abi, _arguments, _options, _waiting, errors
from ._arguments import Key, Time
from ._handle import Handle, Slot, free_slots, open_limiters
from ._library import PathLike, load
from .decorator import CostOf, KeyOf, limit
from .errors import InvalidArgumentError, RateLimitExceeded, StoreError
from .result import Result, packed, unanswered

_log = logging.getLogger("ratelite")

_STYLES = {"x": _abi.HEADERS_X, "github": _abi.HEADERS_GITHUB, "ietf": _abi.HEADERS_IETF}
_ON_ERROR = ("raise", "allow", "deny")

_F = TypeVar("_F", bound=Callable[..., Any])

_unpack = _abi.RESULT.unpack_from
_INT64_MAX = _arguments.INT64_MAX


class Limiter:
    """Counts hits against the limits of a policy, exactly, for every process on the store.

        with Limiter("limits.db", "login: POST /login 3/10s; api: * 100/min") as limiter:
            if not limiter.hit("alice", rule="api"):
                ...

    `store`  path of the store file, created if it is not there, or ":memory:" for tests.
    `policy` the rules, in the language that README.md and `ratelite.h` describe.
    `on_error` what becomes of a failure of the store (never of a wrong argument): "raise" it;
        "allow" or "deny" the hit, with a warning in the log `ratelite` and a Result whose
        `error` is set.

    The other options are those of `rl_options`; None means the default.

    `busy_timeout_ms`  the longest that a call waits for others, 1 to 60000, or -1 not at all
        (default 1000).
    `durability`  "hit" or "interval": when a hit is in the file; `flush_interval_ms` 1 to 60000.
    `auto_prune`  hits remove expired rows by the way (default True).
    `keep_open`  the process keeps the file open after the last close (default True).
    `audit`  record each allowed hit in the table api_calls (default False), for
        `audit_retention_s` seconds (default 30 days).
    `file_mode`  permission bits of a file that is created (default 0o600).
    `key_secret`  bytes under which keys are hashed before they are stored.
    `library`  path of the shared library, if it is not to be searched for.

    Any thread may use a limiter, and any number at once; after fork() parent and child both go
    on with the limiters they have. The constructor always raises, whatever `on_error`.

    Keys are str (stored as UTF-8) or bytes, at least one byte. `rule` is a name in the policy;
    None means the only rule of a policy that has one. `cost` is 0 to 2^53 - 1 units; 0 counts
    nothing. `now` is the time of the hit, an aware datetime or epoch seconds; None means the
    system clock. Give `now` in tests.

    Every call can raise InvalidArgumentError, UnknownRuleError, ClosedError, TypeError, and
    StoreError unless `on_error` says otherwise. After a failure nothing was counted.
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
        file_mode: Optional[int] = None,
        key_secret: Optional[bytes] = None,
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
            file_mode=file_mode,
            key_secret=key_secret,
        )
        self._open(store, policy, on_error, options, load(library))

    def _open(
        self,
        store: Union[str, bytes, os.PathLike[str]],
        policy: str,
        on_error: str,
        options: _abi.Options,
        library: ctypes.CDLL,
    ) -> None:
        self._handle: Optional[Handle] = None
        self._store = store
        self._policy = policy
        self._on_error = on_error
        self._options = options
        self._library = library
        self._siblings: dict[str, Limiter] = {}
        pointer = ctypes.c_void_p()
        code = library.rl_open(
            _arguments.path(store, "the store's path"),
            _arguments.text(policy, "the policy"),
            ctypes.byref(options),
            ctypes.byref(pointer),
        )
        if code != _abi.OK or pointer.value is None:
            raise self._error(code)
        self._handle = Handle(library, pointer.value)
        self._rules = tuple(self._rule_names(pointer.value))
        # A dict and not an encoder: str.encode() at each hit costs more than a look-up.
        self._rule_bytes = {name: name.encode() for name in self._rules}
        path = os.fsdecode(store)
        #: Equal for limiters that share their counters.
        self.place: object = object() if path == ":memory:" else os.path.realpath(path)
        open_limiters.add(self)

    def with_policy(self, policy: str) -> Limiter:
        """Another policy on this store, with the options of this limiter.

        The same limiter each time for the same text. In `:memory:` it has counters of its own. It
        is closed with this limiter.
        """
        self._open_handle()
        sibling = self._siblings.get(policy)
        if sibling is None or sibling.closed:
            sibling = Limiter.__new__(Limiter)
            sibling._open(self._store, policy, self._on_error, self._options, self._library)
            self._siblings[policy] = sibling
        return sibling

    # -- judging ----------------------------------------------------------------------------

    def hit(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """Counts an attempt and says whether it is allowed; the Result is true if it is.

        A denied hit is counted as an attempt, and spends nothing.
        """
        return self._judge(self._library.rl_hit, key, rule, now, cost)

    def status(self, key: Key, *, rule: Optional[str] = None, now: Optional[Time] = None) -> Result:
        """What a hit of cost 1 would meet now. Changes nothing, so it decides nothing either."""
        return self._judge(self._library.rl_status, key, rule, now)

    def refund(
        self, key: Key, *, rule: Optional[str] = None, cost: int = 1, now: Optional[Time] = None
    ) -> Result:
        """Gives units back in the current windows, down to nothing spent; answers as `status`.

        For work that was charged and then not done. The attempts stay counted.
        """
        return self._judge(self._library.rl_refund, key, rule, now, cost)

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
        themselves, so a cron job is not needed. Raises StoreError whatever `on_error`.
        """
        handle = self._open_handle()
        removed = ctypes.c_int64()
        self._done(self._library.rl_prune(handle.pointer, _now(now), ctypes.byref(removed)))
        return removed.value

    def info(self) -> dict[str, Any]:
        """What is in force: versions, durability, locks, sizes, options. For people."""
        handle = self._open_handle()
        text = self._text(self._library.rl_info, handle.pointer)
        information: dict[str, Any] = json.loads(text)
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
        lines = self._text(
            self._library.rl_headers, handle.pointer, packed(result), _STYLES[style]
        ).split("\r\n")
        return [(name, value) for name, _, value in (line.partition(": ") for line in lines[:-1])]

    def problem(self, result: Result) -> str:
        """The body of a refusal: JSON, `application/problem+json` of RFC 9457. Never a key."""
        handle = self._open_handle()
        return self._text(self._library.rl_problem, handle.pointer, packed(result))

    def ip_key(self, ip: str, v6_prefix: int = 64) -> str:
        """As `ratelite.ip_key`, by this limiter's library."""
        return _ip_key(self._library, ip, v6_prefix)

    # -- itself -----------------------------------------------------------------------------

    @property
    def store(self) -> Union[str, bytes, os.PathLike[str]]:
        """The store as it was given."""
        return self._store

    @property
    def policy(self) -> str:
        """The policy text as it was given."""
        return self._policy

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the policy's rules, in order."""
        return self._rules

    @property
    def closed(self) -> bool:
        """Whether the limiter was closed."""
        return self._handle is None

    def close(self) -> None:
        """Lets go of the store; every later call raises ClosedError. Any thread, any number.

        Calls that other threads are inside of come to their end; the last one frees the limiter.
        """
        for sibling in list(self._siblings.values()):
            sibling.close()
        self._handle = None
        open_limiters.discard(self)

    def __enter__(self) -> Limiter:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self.closed else ""
        return f"<Limiter {self._store!r}: {', '.join(self._rules)}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Limiter does not travel between processes: open one in each, on the same store"
        )

    # -- calling C --------------------------------------------------------------------------

    def _judge(
        self,
        function: Callable[..., int],
        key: Key,
        rule: Optional[str],
        now: Optional[Time],
        *cost: int,
    ) -> Result:
        handle = self._open_handle()
        data = key if type(key) is bytes else _arguments.key_bytes(key)
        name = None if rule is None else self._rule_bytes.get(rule) or self._rule(rule)
        for units in cost:
            if type(units) is not int or not -_INT64_MAX <= units <= _INT64_MAX:
                cost = (_arguments.integer(units, "cost"),)
        time_ms = _abi.NOW if now is None else _arguments.milliseconds(now)
        try:
            slot = free_slots.pop()
        except IndexError:
            slot = Slot()
        code = function(handle.pointer, name, data, len(data), *cost, time_ms, slot.address)
        if code != _abi.OK:
            return self._failed(code, rule)
        values = _unpack(slot.buffer)
        free_slots.append(slot)
        return Result._make((values[0] == 1, *values[1:11], self._rules[values[9]], None))

    def _failed(self, code: int, rule: Optional[str]) -> Result:
        error = self._error(code)
        if not isinstance(error, StoreError) or self._on_error == "raise":
            raise error
        allowed = self._on_error == "allow"
        _log.warning("%s, as on_error says: %s", "allowed" if allowed else "denied", error)
        return unanswered(allowed, rule or self._rules[0], error)

    def _insist(self, key: Key, result: Result) -> Result:
        if not result.allowed:
            raise RateLimitExceeded(key, result, self) from result.error
        return result

    def _open_handle(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise errors.ClosedError("this limiter was closed")
        return handle

    def _rule(self, rule: Optional[str]) -> Optional[bytes]:
        return None if rule is None else _arguments.text(rule, "the rule's name")

    def _rule_names(self, pointer: int) -> list[str]:
        names: list[str] = []
        while (name := self._library.rl_rule_name(pointer, len(names))) is not None:
            names.append(name.decode())
        return names

    def _text(self, function: Callable[..., int], *arguments: Any) -> str:
        return _text(self._library, function, *arguments)

    def _done(self, code: int) -> None:
        if code != _abi.OK:
            raise self._error(code)

    def _error(self, code: int) -> errors.RateliteError:
        return _error(self._library, code)


def ip_key(ip: str, v6_prefix: int = 64) -> str:
    """One key for one client's address: IPv4 as it is, IPv6 as its network (`2001:db8::/64`).

    `ip` is an address without port and brackets; `v6_prefix` says how many leading bits of an
    IPv6 address make a client, 1 to 128. IPv4 in IPv6 (`::ffff:192.0.2.1`) is that IPv4 address.
    Raises InvalidArgumentError if it is not an address. Any thread.
    """
    return _ip_key(load(), ip, v6_prefix)


def version() -> str:
    """The version of the shared library."""
    text: bytes = load().rl_version()
    return text.decode()


def _ip_key(library: ctypes.CDLL, ip: str, v6_prefix: int) -> str:
    address = _arguments.text(ip, "the address")
    prefix = _arguments.integer(v6_prefix, "v6_prefix")
    if not -1 <= prefix <= 1000:
        # ctypes would cut it to 32 bits, where it may come to lie in C's range.
        prefix = -1
    return _text(library, library.rl_ip_key, address, prefix)


def _text(library: ctypes.CDLL, function: Callable[..., int], *arguments: Any) -> str:
    size = 512
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = function(*arguments, buffer, size)
        if length < 0:
            raise _error(library, length)
        if length < size:
            return buffer.value.decode()
        size = length + 1


def _error(library: ctypes.CDLL, code: int) -> errors.RateliteError:
    # The last error is this thread's, so nothing can have come between.
    message: bytes = library.rl_last_error() or library.rl_strerror(code)
    return errors.from_code(code, message.decode(errors="replace"))


def _now(now: Optional[Time]) -> int:
    return _abi.NOW if now is None else _arguments.milliseconds(now)


def _left(deadline: Optional[float]) -> Optional[float]:
    return None if deadline is None else deadline - time.monotonic()
