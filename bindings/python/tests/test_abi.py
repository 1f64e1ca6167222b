"""What `_abi.py` says in ctypes is what the header says in C."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from helpers import ROOT

from ratelite import _abi

HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include/ratelite.h").read_text(), flags=re.DOTALL)

TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "void": None,
    "const char *": ctypes.c_char_p,
    "char *": ctypes.c_char_p,
    "const char **": ctypes.POINTER(ctypes.c_char_p),
    "int64_t *": ctypes.POINTER(ctypes.c_int64),
    "struct rl_limiter *": ctypes.c_void_p,
    "struct rl_limiter **": ctypes.POINTER(ctypes.c_void_p),
    "struct rl_result *": ctypes.c_void_p,
    "const struct rl_result *": ctypes.c_void_p,
    "const struct rl_options *": ctypes.POINTER(_abi.Options),
}


def fields(struct: str) -> list[tuple[str, str, int]]:
    """(type, name, length) of a structure's fields."""
    body = re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", HEADER, re.DOTALL)
    assert body is not None
    found = re.findall(r"([\w ]+?\s*\*?)(\w+)(?:\[(\d+)\])?;", body[1])
    return [(kind.strip(), name, int(length or 1)) for kind, name, length in found]


def test_constants_are_those_of_the_header() -> None:
    defined = dict(re.findall(r"#define RL_(\w+) (-?\d+)$", HEADER, re.MULTILINE))
    ours = {
        name: value
        for name, value in vars(_abi).items()
        if name.isupper() and isinstance(value, int)
    }
    assert ours
    assert {name: defined.get(name) for name in ours} == {
        name: str(value) for name, value in ours.items()
    }


def test_every_error_of_the_header_is_known() -> None:
    assert set(re.findall(r"#define RL_(E\w+) -", HEADER)) <= set(vars(_abi))


def test_a_result_is_laid_out_as_in_the_header() -> None:
    found = fields("rl_result")
    assert [name for _, name, _ in found][:-1] == list(_abi.RESULT_FIELDS)
    assert found[-1] == ("int64_t", "reserved", 4)
    assert {kind for kind, _, _ in found} == {"int64_t"}
    assert _abi.RESULT.size == 8 * (len(_abi.RESULT_FIELDS) + 4)


def test_options_are_laid_out_as_in_the_header() -> None:
    theirs = [(name, TYPES[kind]) for kind, name, _ in fields("rl_options")]
    assert theirs == list(_abi.Options._fields_)


def test_prototypes_are_those_of_the_header() -> None:
    found = re.findall(r"^([\w ]+?\s*\*?)\b(rl_\w+)\(([^)]*)\);", HEADER, re.MULTILINE)
    assert len(found) == len(_abi.PROTOTYPES)
    for result, name, parameters in found:
        types = [
            TYPES[re.sub(r"\s*\w+$", "", parameter.strip()).replace(" *", " *").strip()]
            for parameter in parameters.split(",")
            if parameter.strip() != "void"
        ]
        assert _abi.PROTOTYPES[name] == (TYPES[result.strip()], tuple(types)), name
