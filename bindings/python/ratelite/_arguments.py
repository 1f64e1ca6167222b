"""Python values to C values, checked: ctypes wraps integers and cuts texts without a word."""

from __future__ import annotations

import operator
import os
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import SupportsIndex, Union

from . import _abi
from .errors import InvalidArgumentError

Key = Union[str, bytes]
Time = Union[datetime, float, int]

INT64_MAX = 2**63 - 1

#: Seconds that fit into int64 as milliseconds, whatever C says of them.
_FAR = INT64_MAX // 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def key_bytes(key: Key) -> bytes:
    """A key as C gets it: bytes as they are, text in UTF-8."""
    if isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return _utf8(key, "the key")
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


def text(value: Union[str, bytes], what: str) -> bytes:
    """A text that C reads up to its NUL, so that none may stand in it."""
    if isinstance(value, str):
        value = _utf8(value, what)
    elif not isinstance(value, bytes):
        raise TypeError(f"{what} is str or bytes, not {type(value).__name__}")
    if b"\0" in value:
        raise InvalidArgumentError(f"{what} holds a NUL character")
    return value


def path(value: Union[str, bytes, os.PathLike[str]], what: str) -> bytes:
    """A path in the bytes of the filesystem."""
    return text(os.fsencode(value), what)


def integer(value: SupportsIndex, what: str) -> int:
    """An integer that fits into int64; its range is C's to judge. No bool, no float."""
    if isinstance(value, bool):
        raise TypeError(f"{what} is an integer, not bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None
    if not -INT64_MAX <= number <= INT64_MAX:
        raise InvalidArgumentError(f"{what} is out of range: {number} does not fit into 64 bits")
    return number


def milliseconds(now: Time) -> int:
    """A time in whole epoch milliseconds, cut off like a clock's: windows are half-open.

    A float counts as its shortest decimal text, so that `1700000000.123` is 123 ms past.
    """
    if type(now) is int and -_FAR < now < _FAR:
        return now * 1000
    if isinstance(now, datetime):
        if now.utcoffset() is None:
            raise InvalidArgumentError(
                "now is a naive datetime: give it a time zone, as datetime.now(timezone.utc) has"
            )
        number = (now - _EPOCH) // _MILLISECOND
    elif isinstance(now, float):
        # Infinities and NaN compare as out of range too.
        if not -1e15 < now < 1e15:
            raise InvalidArgumentError(f"now is out of range: {now}")
        number = int((Decimal(repr(float(now))) * 1000).to_integral_value("ROUND_FLOOR"))
    else:
        number = integer(integer(now, "now") * 1000, "now")
    if number == _abi.NOW:
        raise InvalidArgumentError(
            "now is before 1970: -1 ms would read as the system clock; leave now out for that"
        )
    return number


def _utf8(value: str, what: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        # Without its cause, which would show the key.
        position = error.start
    raise InvalidArgumentError(
        f"{what} holds a lone surrogate at {position}, which no UTF-8 can hold; "
        "give bytes to say what you mean"
    )
