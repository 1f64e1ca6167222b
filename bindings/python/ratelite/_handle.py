"""The native limiter, owned by Python's reference counts.

Whoever is inside a call holds a reference, so rl_close() runs when the limiter was closed (or
forgotten) *and* the last call has returned: without a lock or a counter on the way.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
import weakref
from typing import TYPE_CHECKING

from . import _abi, _prepared

if TYPE_CHECKING:
    from ._native import Native


class Handle:
    """One `rl_limiter *`, closed when nobody refers to this object any more."""

    __slots__ = ("__weakref__", "pointer", "prepared")

    def __init__(self, library: ctypes.CDLL, pointer: int) -> None:
        self.pointer = pointer
        self.prepared = _prepared.pointer(pointer)
        finalizer = weakref.finalize(self, library.rl_close, pointer)
        # At exit a daemon thread may still be inside a call: see close_all() instead.
        finalizer.atexit = False  # type: ignore[misc,unused-ignore]  # of old typesheds


class Slot:
    """Room for one `rl_result`."""

    __slots__ = ("buffer", "prepared")

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_abi.RESULT.size)
        self.prepared = ctypes.byref(self.buffer)


unpack = _abi.RESULT_USED.unpack_from

#: Slots that no call uses. A call takes one and gives it back, so that neither threads nor a
#: signal handler that hits between two lines can meet in one.
free_slots: list[Slot] = []

# Bound once: a method of what a module imports is looked up, and bound, at each call.
take_slot = free_slots.pop
give_slot = free_slots.append

open_limiters: weakref.WeakSet[Native] = weakref.WeakSet()

# The first finalizer of a program registers the hook that ends them all. Hooks run last to first,
# and close_all() needs finalizers that still work, so it is registered after that one.
weakref.finalize(Handle, int)


@atexit.register
def close_all() -> None:
    """Closes what is open while the interpreter is still whole.

    Not while daemon threads live: the exit shall cut them off, not make their next hit fail with
    a traceback on stderr. What stays open then goes with the process.
    """
    if threading.active_count() > 1:
        return
    for limiter in list(open_limiters):
        limiter.close()
