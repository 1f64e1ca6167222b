"""The native limiter under a Limiter: opened, asked, closed."""

from __future__ import annotations

import ctypes
import logging
import os
import re
from types import TracebackType
from typing import TYPE_CHECKING, Callable, NoReturn, Optional, TypeVar, Union

from . import _abi, _arguments, _calls, _prepared, errors
from ._arguments import Key, Time
from ._handle import Handle, Slot, give_slot, open_limiters, take_slot, unpack
from .errors import ClosedError, StoreError
from .result import RULE, Result, new_tuple, unanswered

if TYPE_CHECKING:
    from .limiter import Limiter

_log = logging.getLogger("ratelite")

_Self = TypeVar("_Self", bound="Native")

CLOSED = "this limiter was closed"


class Native:
    """What a Limiter is made of. See there."""

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
        # Each item of a CDLL is a new function, without the prototype that the attribute has.
        self._rl_hit = library["rl_hit"]
        self._rl_status = library["rl_status"]
        self._rl_refund = library["rl_refund"]
        self._siblings: dict[str, Limiter] = {}
        self._rules: tuple[str, ...] = ()
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
        #: Rules as C gets them. None is the sole rule, or C's to refuse.
        self._names: dict[Optional[str], Optional[bytes]] = {None: None}
        self._names.update((name, name.encode()) for name in self._rules)
        #: What follows the numbers in a Result of each rule: its name, and no error.
        self._endings = tuple((name, None) for name in self._rules)
        #: Equal for limiters that share their counters.
        self.place: object = _place(os.fsdecode(store))
        open_limiters.add(self)

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

    def __enter__(self: _Self) -> _Self:
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
        store = self._store
        is_text = isinstance(store, (str, bytes))
        shown = _without_login(os.fsdecode(store)) if is_text else store
        return f"<Limiter {shown!r}: {', '.join(self._rules)}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Limiter does not travel between processes: open one in each, on the same store"
        )

    def _judge(
        self,
        function: Callable[..., int],
        key: Key,
        rule: Optional[str],
        now: Optional[Time],
        *cost: int,
    ) -> Result:
        """Limiter.hit() writes it out for itself: a change here is one there."""
        handle = self._open_handle()
        data = _arguments.key_bytes(key)
        size = _prepared.size_of(data)
        name = self._names[rule] if rule in self._names else self._rule(rule)
        time_ms = _prepared.time(now)
        units = map(_prepared.units, cost)
        try:
            slot = take_slot()
        except IndexError:
            slot = Slot()
        code = function(handle.prepared, name, data, size, *units, time_ms, slot.prepared)
        if code != _abi.OK:
            return self._failed(code, rule)
        fields = unpack(slot.buffer)
        give_slot(slot)
        return new_tuple(Result, fields + self._endings[fields[RULE]])

    def _failed(self, code: int, rule: Optional[str]) -> Result:
        error = self._error(code)
        if not isinstance(error, StoreError) or self._on_error == "raise":
            raise error
        allowed = self._on_error == "allow"
        _log.warning("%s, as on_error says: %s", "allowed" if allowed else "denied", error)
        return unanswered(allowed, rule or self._rules[0], error)

    def _open_handle(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ClosedError(CLOSED)
        return handle

    def _rule(self, rule: Optional[str]) -> Optional[bytes]:
        return None if rule is None else _arguments.text(rule, "the rule's name")

    def _rule_names(self, pointer: int) -> list[str]:
        names: list[str] = []
        while (name := self._library.rl_rule_name(pointer, len(names))) is not None:
            names.append(name.decode())
        return names

    def _done(self, code: int) -> None:
        if code != _abi.OK:
            raise self._error(code)

    def _error(self, code: int) -> errors.RateliteError:
        return _calls.error(self._library, code)


#: The address of a server; whatever else has a colon is a path.
_SERVER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def _place(store: str) -> object:
    if store == ":memory:":
        return object()
    return store if _SERVER.match(store) else os.path.realpath(store)


def _without_login(store: str) -> str:
    """A store as people may see it: of an address neither user nor password, nor its options."""
    scheme = _SERVER.match(store)
    if scheme is None:
        return store
    return scheme.group() + store[scheme.end() :].partition("?")[0].rpartition("@")[2]
