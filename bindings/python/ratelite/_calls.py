"""Calling C: texts that it writes, and failures that it reports."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from . import errors


def text(library: ctypes.CDLL, function: Callable[..., int], *arguments: Any) -> str:
    """What a function writes into a buffer, the last two of its arguments."""
    size = 512
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = function(*arguments, buffer, size)
        if length < 0:
            raise error(library, length)
        if length < size:
            return buffer.value.decode()
        size = length + 1


def error(library: ctypes.CDLL, code: int) -> errors.RateliteError:
    """The exception for a code that this thread's last call returned."""
    # The last error is this thread's, so nothing can have come between.
    message: bytes = library.rl_last_error() or library.rl_strerror(code)
    return errors.from_code(code, message.decode(errors="replace"))
