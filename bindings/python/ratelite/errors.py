"""What can go wrong, one class for each failure that a caller might treat on its own.

    RateliteError
    ├── InvalidArgumentError (a ValueError)   an argument is out of range or of the wrong form
    │   └── ClosedError                       the limiter was closed
    ├── PolicyError (a ValueError)            the policy text does not parse
    ├── UnknownRuleError (a LookupError)      the policy has no such rule
    ├── LibraryError                          the shared library is missing or of another ABI
    └── StoreError                            the store could not answer: `on_error` decides
        ├── StoreBusyError                    others held it until the deadline
        ├── StoreFullError                    disk, quota, or a server's memory
        ├── StoreAccessError                  permissions, or a server's users and passwords
        ├── StoreCorruptError                 damaged
        ├── StoreUnavailableError             its server is away
        ├── NotAStoreError                    another kind of file, or of a newer format
        ├── ForkError                         a child of clone() or _Fork()
        └── InternalError                     a bug in ratelite was caught

`RateLimitExceeded` is no failure, but an answer, so it stands apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union

from . import _abi

if TYPE_CHECKING:
    from .limiter import Limiter
    from .result import Result


class RateliteError(Exception):
    """A call failed; nothing was spent, though the attempt may stay counted.

    But after a `StoreUnavailableError`, of a server, the hit may be spent: its answer may have
    been lost.

    `code` is the number of the C ABI (`RL_EBUSY` is -4), 0 if no C function was asked. `message`
    is one line: what failed, on what, what to do. It never holds a key or a secret.
    """

    #: The code of failures that are found before C is asked.
    CODE = 0

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.CODE if code is None else code

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would forget the code on its way between processes.
        return type(self), (self.message, self.code)


class InvalidArgumentError(RateliteError, ValueError):
    """An argument is out of its range or of the wrong form (`RL_EINVAL`). Mend the call."""

    CODE = _abi.EINVAL


class ClosedError(InvalidArgumentError):
    """The limiter was closed."""


class PolicyError(RateliteError, ValueError):
    """The policy text does not parse (`RL_EPOLICY`); the message names line and column."""

    CODE = _abi.EPOLICY


class UnknownRuleError(RateliteError, LookupError):
    """The policy has no rule of that name, or several and none was named (`RL_ENORULE`)."""

    CODE = _abi.ENORULE


class LibraryError(RateliteError):
    """The shared library cannot be loaded, or it speaks another ABI."""


class StoreError(RateliteError):
    """The store could not answer. `on_error` of the limiter says what becomes of it."""

    CODE = _abi.EIO


class StoreBusyError(StoreError):
    """Others held the store until `busy_timeout_ms` had passed (`RL_EBUSY`)."""

    CODE = _abi.EBUSY


class StoreFullError(StoreError):
    """The disk, the quota, or a server's memory is full (`RL_EFULL`)."""

    CODE = _abi.EFULL


class StoreAccessError(StoreError):
    """The system refused access to the store or its directory (`RL_EPERM`).

    Or a server refused user, password or command.
    """

    CODE = _abi.EPERM


class StoreCorruptError(StoreError):
    """The store, or the row that was asked for, is damaged (`RL_ECORRUPT`)."""

    CODE = _abi.ECORRUPT


class StoreUnavailableError(StoreError):
    """The store's server cannot be reached, or did not answer in time (`RL_EUNAVAILABLE`)."""

    CODE = _abi.EUNAVAILABLE


class NotAStoreError(StoreError):
    """What stands at the path is no store of this library (`RL_ENOTSTORE`); it was left alone."""

    CODE = _abi.ENOTSTORE


class ForkError(StoreError):
    """This process was made by clone() or _Fork(), without fork handlers (`RL_EFORK`)."""

    CODE = _abi.EFORK


class InternalError(StoreError):
    """A bug in ratelite was caught (`RL_EINTERNAL`). Please report the message."""

    CODE = _abi.EINTERNAL


class RateLimitExceeded(Exception):
    """The limit leaves no room.

    `key` is the key as it was given, `rule` the rule's name, `limit` the units that it grants in
    `window` seconds, `retry_after` the seconds to wait (-1: no wait helps), `result` all of the
    answer. The message holds no key, so that it can be logged.
    """

    def __init__(
        self, key: Union[str, bytes], result: Result, limiter: Optional[Limiter] = None
    ) -> None:
        self.key = key
        self.result = result
        self.rule = result.rule
        self.limit = result.limit
        self.window = result.window
        self.retry_after = result.retry_after
        #: Who refused, for the text of a response; None after a pickle.
        self.limiter = limiter
        super().__init__(_sentence(result))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.key, self.result)


def _sentence(result: Result) -> str:
    if result.error is not None:
        return f"refused, since the store failed: {result.error}"
    limit = (
        f"rule {result.rule}: the limit of {result.limit} per {result.window:g} s leaves no room"
    )
    if result.retry_after < 0:
        return f"{limit}; waiting does not help"
    return f"{limit}; retry after {result.retry_after} s"


_BY_CODE: dict[int, type[RateliteError]] = {
    kind.CODE: kind
    for kind in (
        InvalidArgumentError,
        PolicyError,
        UnknownRuleError,
        StoreError,
        StoreBusyError,
        StoreFullError,
        StoreAccessError,
        StoreCorruptError,
        StoreUnavailableError,
        NotAStoreError,
        ForkError,
        InternalError,
    )
}


def from_code(code: int, message: str) -> RateliteError:
    """The exception of a code; one that has no class of its own is a StoreError."""
    return _BY_CODE.get(code, StoreError)(message, code)
