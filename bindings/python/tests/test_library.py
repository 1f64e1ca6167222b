"""Which shared library is loaded, and what is said when none can be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers import ROOT, run_python

import ratelite
from ratelite import Limiter, _abi, _library

LIBRARY = Path(os.environ["RATELITE_LIBRARY"])


def compiled(directory: Path, source: str) -> Path:
    """A shared library made of C source."""
    (directory / "fake.c").write_text(source)
    library = directory / "libfake.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(directory / "fake.c")]
    subprocess.run(command, check=True)
    return library


def test_another_abi_is_refused_in_words(tmp_path: Path) -> None:
    other = compiled(tmp_path, "int rl_abi_version(void) { return 2; }")
    with pytest.raises(ratelite.LibraryError) as caught:
        Limiter(":memory:", "3/min", library=other)
    assert f"{other} speaks ABI 2 of ratelite" in str(caught.value)
    assert "speaks ABI 1" in str(caught.value)
    assert "same release" in str(caught.value)


def test_a_library_of_something_else_is_refused(tmp_path: Path) -> None:
    other = compiled(tmp_path, "int other(void) { return 0; }")
    with pytest.raises(ratelite.LibraryError, match="is not a ratelite library"):
        _library.load(other)


def test_a_library_that_lacks_a_function_is_refused(tmp_path: Path) -> None:
    other = compiled(tmp_path, "int rl_abi_version(void) { return 1; }")
    with pytest.raises(ratelite.LibraryError, match="lacks a function of ABI 1"):
        _library.load(other)


def test_a_path_that_is_given_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATELITE_LIBRARY", "/nonexistent/lib.so")
    assert Limiter(":memory:", "3/min", library=LIBRARY).hit("alice")


def test_a_path_that_is_given_is_the_only_candidate(tmp_path: Path) -> None:
    missing = tmp_path / "missing.so"
    with pytest.raises(ratelite.LibraryError) as caught:
        Limiter(":memory:", "3/min", library=missing)
    assert f"{missing} (given)" in str(caught.value)
    assert "RATELITE_LIBRARY)" not in str(caught.value)


def unbundled(tmp_path: Path, environment: dict[str, str], *, bundle: bool) -> str:
    """Where a copy of the package, alone in a folder, finds its library, or its error."""
    package = tmp_path / "site" / "ratelite"
    shutil.copytree(ROOT / "bindings/python/ratelite", package)
    if bundle:
        (package / LIBRARY.name).symlink_to(LIBRARY)
    code = (
        f"import os, sys; sys.path.insert(0, sys.argv[1]); os.environ.update({environment!r})\n"
        "import ratelite._library as library\n"
        "try: print(library.load()._name)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    return run_python(code, str(tmp_path / "site")).stdout.strip()


def test_the_environment_comes_before_what_is_bundled(tmp_path: Path) -> None:
    found = unbundled(tmp_path, {"RATELITE_LIBRARY": str(LIBRARY)}, bundle=True)
    assert found == str(LIBRARY)


def test_what_is_bundled_comes_before_the_system(tmp_path: Path) -> None:
    found = unbundled(tmp_path, {"RATELITE_LIBRARY": ""}, bundle=True)
    assert found == str(tmp_path / "site/ratelite" / LIBRARY.name)


def test_the_error_lists_what_was_tried(tmp_path: Path) -> None:
    said = unbundled(tmp_path, {"RATELITE_LIBRARY": ""}, bundle=False)
    assert said.startswith("LibraryError cannot load the ratelite library. Tried:")
    assert f"{tmp_path / 'site/ratelite/libratelite.so'} (bundled)" in said
    assert "libratelite.so.1 (of the system)" in said
    assert "cargo build --release" in said


def test_a_wrong_environment_is_not_passed_over(tmp_path: Path) -> None:
    said = unbundled(tmp_path, {"RATELITE_LIBRARY": "/nonexistent/x.so"}, bundle=True)
    assert "/nonexistent/x.so (from RATELITE_LIBRARY)" in said


def test_the_system_is_asked_for_this_abi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RATELITE_LIBRARY")
    candidates = dict(_library._candidates(None))
    assert list(candidates) == ["bundled", "of the system"]
    assert candidates["of the system"] == f"libratelite.so.{_abi.ABI_VERSION}"


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    code = (
        "import os; os.environ['RATELITE_LIBRARY'] = '/nonexistent'; import ratelite\n"
        "print(ratelite._library._loaded)"
    )
    assert run_python(code).stdout.strip() == "{}"
