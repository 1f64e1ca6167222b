"""Few and dull: what several test files need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT / "tests" / "cases"

#: A time to inject, 5 s before a minute ends.
NOW = 1_700_000_035

#: Windows that no test outlives, for what runs by the wall clock.
LONG = "366d"


def run_python(
    code: str, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter; its output is captured."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
