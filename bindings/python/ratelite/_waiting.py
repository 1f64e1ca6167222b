"""How long to sleep between two tries. Pure: times come in, a pause goes out."""

from __future__ import annotations

from typing import Optional

from .result import Result

#: Waiters of one window wake up within this many seconds after its end, not all at once.
JITTER = 0.1


def pause(result: Result, left: Optional[float], chance: float) -> Optional[float]:
    """Seconds to sleep before the next try, or None to give up now.

    `left` is the time that the caller still has (None: all of it), `chance` a random number from
    0 to 1. A wait that would end too late is not begun, and so is one that does not help.
    """
    if result.allowed or result.retry_after < 0:
        return None
    if left is None:
        return result.retry_after + JITTER * chance
    if result.retry_after > left:
        return None
    return min(result.retry_after + JITTER * chance, left)
