"""The C ABI in ctypes: constants, structures, prototypes. `include/ratelite.h` is its manual."""

from __future__ import annotations

import ctypes
import struct
import sys
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Final

ABI_VERSION: Final = 1

NOW: Final = -1

OK: Final = 0
EINVAL: Final = -1
EPOLICY: Final = -2
ENORULE: Final = -3
EBUSY: Final = -4
EFULL: Final = -5
EIO: Final = -6
EPERM: Final = -7
ECORRUPT: Final = -8
ENOTSTORE: Final = -9
EFORK: Final = -10
EMFILE: Final = -11
ENOMEM: Final = -12
EUNAVAILABLE: Final = -13
EINTERNAL: Final = -14

ON: Final = 1
OFF: Final = 2

DURABLE_HIT: Final = 1
DURABLE_INTERVAL: Final = 2

HEADERS_X: Final = 0
HEADERS_GITHUB: Final = 1
HEADERS_IETF: Final = 2

#: `rl_result`: the twelve fields of `RESULT_FIELDS`, then four reserved ones.
RESULT: Final = struct.Struct("=16q")
#: The twelve, with `allowed` and `insured`, which are 0 or 1, as the bools of their lowest bytes.
RESULT_USED: Final = struct.Struct("=?7x10q?7x" if sys.byteorder == "little" else "=7x?10q7x?")
RESULT_FIELDS: Final = (
    "allowed",
    "limit",
    "count",
    "remaining",
    "reset_at",
    "retry_after",
    "window_start_ms",
    "window_ms",
    "now_ms",
    "rule",
    "limit_index",
    "insured",
)


class Options(ctypes.Structure):
    """`rl_options`. A field that stays 0 means its default."""

    _fields_ = (
        ("struct_size", c_uint64),
        ("busy_timeout_ms", c_int64),
        ("durability", c_int64),
        ("flush_interval_ms", c_int64),
        ("auto_prune", c_int64),
        ("keep_open", c_int64),
        ("audit", c_int64),
        ("recover_corrupt", c_int64),
        ("audit_retention_s", c_int64),
        ("file_mode", c_int64),
        ("table_slots", c_int64),
        ("key_secret", c_char_p),
        ("key_secret_len", c_uint64),
        ("connect_timeout_ms", c_int64),
        ("command_timeout_ms", c_int64),
        ("remember_denied", c_int64),
        ("insurance", c_char_p),
        ("insurance_policy", c_char_p),
        ("insurance_percent", c_int64),
    )


_LIMITER = c_void_p
_RESULT = c_void_p  # the address of a buffer of RESULT.size bytes
_ASK = (_LIMITER, c_char_p, c_char_p, c_size_t)

#: name -> (type of the result, types of the arguments)
PROTOTYPES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "rl_open": (c_int, (c_char_p, c_char_p, POINTER(Options), POINTER(_LIMITER))),
    "rl_hit": (c_int, (*_ASK, c_int64, c_int64, _RESULT)),
    "rl_status": (c_int, (*_ASK, c_int64, _RESULT)),
    "rl_prune": (c_int, (_LIMITER, c_int64, POINTER(c_int64))),
    "rl_close": (None, (_LIMITER,)),
    "rl_reset": (c_int, (*_ASK, POINTER(c_int64))),
    "rl_refund": (c_int, (*_ASK, c_int64, c_int64, _RESULT)),
    "rl_route": (c_int, (_LIMITER, c_char_p, c_char_p, POINTER(c_char_p))),
    "rl_headers": (c_int, (_LIMITER, _RESULT, c_int, c_char_p, c_size_t)),
    "rl_problem": (c_int, (_LIMITER, _RESULT, c_char_p, c_size_t)),
    "rl_ip_key": (c_int, (c_char_p, c_int, c_char_p, c_size_t)),
    "rl_info": (c_int, (_LIMITER, c_char_p, c_size_t)),
    "rl_rule_name": (c_char_p, (_LIMITER, c_int64)),
    "rl_strerror": (c_char_p, (c_int,)),
    "rl_last_error": (c_char_p, ()),
    "rl_version": (c_char_p, ()),
    "rl_abi_version": (c_int, ()),
}


def declare(library: ctypes.CDLL) -> None:
    """Gives every function of the library its prototype; AttributeError if one is missing."""
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
