"""Finds the shared library, loads it once, and makes sure that it speaks our ABI."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Optional, Union

from . import _abi
from .errors import LibraryError

#: Names the library's file when it is neither bundled nor where the system looks.
ENVIRONMENT = "RATELITE_LIBRARY"

_FILE = "libratelite.dylib" if sys.platform == "darwin" else "libratelite.so"
_SYSTEM = (
    f"libratelite.{_abi.ABI_VERSION}.dylib"
    if sys.platform == "darwin"
    else f"libratelite.so.{_abi.ABI_VERSION}"
)

PathLike = Union[str, "os.PathLike[str]"]

_loaded: dict[Optional[str], ctypes.CDLL] = {}


def load(path: Optional[PathLike] = None) -> ctypes.CDLL:
    """The library at `path`, or else: at $RATELITE_LIBRARY, beside this package, of the system.

    A path that is given, here or in the environment, is the only candidate: a typing error must
    not end in another library. Any thread; a race loads the same library twice, which is harmless.

    Raises LibraryError, which lists what was tried.
    """
    name = None if path is None else os.fspath(path)
    library = _loaded.get(name)
    if library is None:
        library = _loaded.setdefault(name, _load(name))
    return library


def version() -> str:
    """The version of the shared library."""
    text: bytes = load().rl_version()
    return text.decode()


def _load(path: Optional[str]) -> ctypes.CDLL:
    failures = []
    for origin, candidate in _candidates(path):
        try:
            library = ctypes.CDLL(candidate)
        except OSError as error:
            failures.append(f"{candidate} ({origin}): {error}")
        else:
            return _checked(library, candidate)
    raise LibraryError(
        "cannot load the ratelite library. Tried:\n  "
        + "\n  ".join(failures)
        + f"\nBuild it with `cargo build --release` and set {ENVIRONMENT} to the file, "
        "or install the package from its source tree, which bundles the library."
    )


def _candidates(path: Optional[str]) -> list[tuple[str, str]]:
    if path is not None:
        return [("given", os.path.abspath(path))]
    named = os.environ.get(ENVIRONMENT)
    if named:
        return [(f"from {ENVIRONMENT}", os.path.abspath(named))]
    return [("bundled", str(Path(__file__).parent / _FILE)), ("of the system", _SYSTEM)]


def _checked(library: ctypes.CDLL, name: str) -> ctypes.CDLL:
    try:
        library.rl_abi_version.restype = ctypes.c_int
        found = library.rl_abi_version()
    except AttributeError:
        raise LibraryError(f"{name} is not a ratelite library: it has no rl_abi_version") from None
    if found != _abi.ABI_VERSION:
        raise LibraryError(
            f"{name} speaks ABI {found} of ratelite, and this Python package speaks ABI "
            f"{_abi.ABI_VERSION}. Install a package and a library of the same release."
        )
    try:
        _abi.declare(library)
    except AttributeError as error:
        raise LibraryError(f"{name} lacks a function of ABI {found}: {error}") from None
    return library
