"""A rate limiter that is exact across processes: counters in one SQLite file, no server.

    from ratelite import Limiter

    limiter = Limiter("limits.db", "100/min")
    result = limiter.hit("alice")
    if not result:
        print("retry after", result.retry_after, "s")

This package is a thin skin over the C library `libratelite`.
"""

from ._library import version
from .decorator import rule_name
from .errors import (
    ClosedError,
    ForkError,
    InternalError,
    InvalidArgumentError,
    LibraryError,
    NotAStoreError,
    PolicyError,
    RateLimitExceeded,
    RateliteError,
    StoreAccessError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    UnknownRuleError,
)
from .ip import ip_key
from .limiter import Limiter
from .result import Result

__version__ = "0.1.0"

__all__ = [
    "ClosedError",
    "ForkError",
    "InternalError",
    "InvalidArgumentError",
    "LibraryError",
    "Limiter",
    "NotAStoreError",
    "PolicyError",
    "RateLimitExceeded",
    "RateliteError",
    "Result",
    "StoreAccessError",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "UnknownRuleError",
    "ip_key",
    "rule_name",
    "version",
]
