"""Builds the shared library with cargo and bundles it: one wheel a platform, for any Python 3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "libratelite.dylib" if sys.platform == "darwin" else "libratelite.so"


class LibraryHook(BuildHookInterface[Any]):
    """Runs for wheels; the source distribution holds Python alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        library = Path(self.directory) / FILE
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._library(), library)
        self._strip(library)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{self._platform()}"
        build_data["force_include"][str(library)] = f"ratelite/{FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        (Path(self.directory) / FILE).unlink(missing_ok=True)

    def _library(self) -> Path:
        given = os.environ.get("RATELITE_LIBRARY")
        if given:
            return Path(given)
        crate = Path(self.root).parent.parent
        if not (crate / "Cargo.toml").is_file():
            raise RuntimeError(
                "the library's source is not here: install from the repository, or set "
                f"RATELITE_LIBRARY to a {FILE} that was built from it"
            )
        command = ["cargo", "build", "--release", "--lib"]
        subprocess.run(command, cwd=crate, check=True)
        command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
        metadata = subprocess.run(command, cwd=crate, check=True, stdout=subprocess.PIPE)
        return Path(json.loads(metadata.stdout)["target_directory"]) / "release" / FILE

    @staticmethod
    def _strip(library: Path) -> None:
        # Three quarters of the file are debug information.
        strip = shutil.which("strip")
        if strip is not None:
            subprocess.run([strip, "-S", str(library)], check=True)

    @staticmethod
    def _platform() -> str:
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
