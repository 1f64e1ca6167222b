"""`rl_options` from keyword arguments."""

from __future__ import annotations

import ctypes
import os
from typing import Optional, Union

from . import _abi
from ._arguments import integer, path, text
from .errors import InvalidArgumentError

_DURABILITY = {"hit": _abi.DURABLE_HIT, "interval": _abi.DURABLE_INTERVAL}


def options(
    *,
    busy_timeout_ms: Optional[int],
    durability: Optional[str],
    flush_interval_ms: Optional[int],
    auto_prune: Optional[bool],
    keep_open: Optional[bool],
    audit: Optional[bool],
    recover_corrupt: Optional[bool],
    audit_retention_s: Optional[int],
    file_mode: Optional[int],
    table_slots: Optional[int],
    key_secret: Optional[bytes],
    connect_timeout_ms: Optional[int],
    command_timeout_ms: Optional[int],
    remember_denied: Optional[bool],
    insurance: Union[str, bytes, os.PathLike[str], None],
    insurance_policy: Optional[str],
    insurance_percent: Optional[int],
) -> _abi.Options:
    """The structure for rl_open(). None leaves an option at its default."""
    if durability is not None and durability not in _DURABILITY:
        raise InvalidArgumentError(f"durability is 'hit' or 'interval', not {durability!r}")
    if key_secret is not None and not isinstance(key_secret, bytes):
        raise TypeError(f"key_secret is bytes, not {type(key_secret).__name__}")
    return _abi.Options(
        struct_size=ctypes.sizeof(_abi.Options),
        busy_timeout_ms=_number(busy_timeout_ms, "busy_timeout_ms"),
        durability=0 if durability is None else _DURABILITY[durability],
        flush_interval_ms=_number(flush_interval_ms, "flush_interval_ms"),
        auto_prune=_switch(auto_prune, "auto_prune"),
        keep_open=_switch(keep_open, "keep_open"),
        audit=_switch(audit, "audit"),
        recover_corrupt=_switch(recover_corrupt, "recover_corrupt"),
        audit_retention_s=_number(audit_retention_s, "audit_retention_s"),
        file_mode=_number(file_mode, "file_mode"),
        table_slots=_number(table_slots, "table_slots"),
        key_secret=key_secret,
        key_secret_len=0 if key_secret is None else len(key_secret),
        connect_timeout_ms=_number(connect_timeout_ms, "connect_timeout_ms"),
        command_timeout_ms=_number(command_timeout_ms, "command_timeout_ms"),
        remember_denied=_switch(remember_denied, "remember_denied"),
        insurance=None if insurance is None else path(insurance, "insurance"),
        insurance_policy=(
            None if insurance_policy is None else text(insurance_policy, "insurance_policy")
        ),
        insurance_percent=_number(insurance_percent, "insurance_percent"),
    )


def _number(value: Optional[int], what: str) -> int:
    if value is None:
        return 0
    number = integer(value, what)
    if number == 0:
        raise InvalidArgumentError(f"{what} is 0, which C takes for the default: leave it out")
    return number


def _switch(value: Optional[bool], what: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, bool):
        raise TypeError(f"{what} is True, False or None, not {type(value).__name__}")
    return _abi.ON if value else _abi.OFF
