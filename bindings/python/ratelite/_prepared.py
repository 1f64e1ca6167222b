"""Arguments for ctypes, made before the call.

A prototype makes an object of each argument at each call, and that costs more than the call. A
function without a prototype takes such objects as they are, any number of times, in any thread.
"""

from __future__ import annotations

from ctypes import c_int64, c_size_t, c_void_p
from typing import Any, Callable, Final, Optional

from . import _abi, _arguments
from ._arguments import Time

pointer: Final[Callable[[int], Any]] = c_void_p.from_param
_size: Final[Callable[[int], Any]] = c_size_t.from_param
_int64: Final[Callable[[int], Any]] = c_int64.from_param

#: Sizes by their number, enough for most keys.
SIZES: Final = tuple(map(_size, range(256)))

ONE: Final = 1
ONE_UNIT: Final = _int64(ONE)
SYSTEM_CLOCK: Final = _int64(_abi.NOW)


def size_of(data: bytes) -> Any:
    """The length of a key."""
    length = len(data)
    return SIZES[length] if length < len(SIZES) else _size(length)


def units(cost: int) -> Any:
    """A cost, if it is an integer."""
    return _int64(_arguments.integer(cost, "cost"))


def time(now: Optional[Time]) -> Any:
    """A time; None is the system clock."""
    return SYSTEM_CLOCK if now is None else _int64(_arguments.milliseconds(now))
