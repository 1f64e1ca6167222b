"""Where things are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCHES = ROOT / "benches"
WORKERS = BENCHES / "workers"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
LIBRARY = TARGET / "release" / "libratelite.so"

#: All that the benchmark makes and installs.
BENCH = TARGET / "bench"


def environment() -> dict[str, str]:
    """Of a worker: the library under test, and this Python with what is installed for it."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "RATELITE_LIBRARY": str(LIBRARY),
    }
