"""`pip install ./bindings/python` builds the library and bundles it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from helpers import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip builds, with cargo."""
    directory = tmp_path_factory.mktemp("wheel")
    environment = {name: value for name, value in os.environ.items() if name != "RATELITE_LIBRARY"}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(directory)]
    subprocess.run([*command, str(ROOT / "bindings/python")], env=environment, check=True)
    (built,) = directory.iterdir()
    return built


def test_the_wheel_is_for_any_python_3_of_one_platform(wheel: Path) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"ratelite-0.1.0-py3-none-{platform}.whl"


def test_the_wheel_holds_the_package_its_types_and_one_library(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        str(path.relative_to(ROOT / "bindings/python"))
        for path in (ROOT / "bindings/python/ratelite").rglob("*.py")
    }
    libraries = {name for name in names if "libratelite" in name}
    assert len(libraries) == 1
    assert {name for name in names if ".dist-info/" not in name} == (
        sources | libraries | {"ratelite/py.typed"}
    )


def test_what_is_installed_finds_its_own_library(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    # Isolated: no PYTHONPATH, so that nothing but what was installed can be found.
    code = (
        "import os, sys; os.environ.pop('RATELITE_LIBRARY', None)\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from ratelite import Limiter, _library\n"
        "print(_library.load()._name, Limiter('limits.db', '3/min').hit('alice').remaining)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(site)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    (library,) = (site / "ratelite").glob("libratelite.*")
    assert done.stdout == f"{library} 2\n"
