"""The native limiter, owned by Python's reference counts.

Whoever is inside a call holds a reference, so rl_close() runs when the limiter was closed (or
forgotten) *and* the last call has returned: without a lock or a counter on the way.
"""

from __future__ import annotations

import atexit
import ctypes
import weakref
from typing import TYPE_CHECKING

from . import _abi

if TYPE_CHECKING:
    from .limiter import Limiter


class Handle:
    """One `rl_limiter *`, closed when nobody refers to this object any more."""

    __slots__ = ("__weakref__", "pointer")

    def __init__(self, library: ctypes.CDLL, pointer: int) -> None:
        self.pointer = pointer
        finalizer = weakref.finalize(self, library.rl_close, pointer)
        # At exit a daemon thread may still be inside a call: `close_all` lets go instead, and
        # then the last reference decides, as always.
        finalizer.atexit = False


class Slot:
    """Room for one `rl_result`."""

    __slots__ = ("address", "buffer")

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_abi.RESULT.size)
        self.address = ctypes.addressof(self.buffer)


#: Slots that no call uses. A call takes one and gives it back, so that neither threads nor a
#: signal handler that hits between two lines can meet in one.
free_slots: list[Slot] = []

open_limiters: weakref.WeakSet[Limiter] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    """Closes what is open while the interpreter is still whole."""
    for limiter in list(open_limiters):
        limiter.close()
