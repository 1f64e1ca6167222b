"""The machine that is measured on."""

from __future__ import annotations

import os
import platform
import statistics
import time
from pathlib import Path

#: Of a counter's page, the least that a commit writes.
_PAGE = b"\0" * 4096
_SYNCS = 50


def describe(work: Path) -> dict[str, str]:
    """Names and values, for people. `work` is where the stores stand."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory_bytes() / 2**30:.0f} GiB",
        "system": f"{_distribution()}, Linux {_kernel()}",
        "filesystem of the stores": _filesystem(work),
        "writing and syncing 4 KiB there": f"{_sync_ns(work) / 1e3:,.0f} µs (median of {_SYNCS})",
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown distribution"


def _kernel() -> str:
    """Without what a builder added to its number."""
    return platform.release().partition("-")[0]


def _filesystem(place: Path) -> str:
    """The type of the filesystem that is mounted nearest above a place."""
    best = ("", "unknown")
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        if place.is_relative_to(mount) and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]


def _sync_ns(place: Path) -> float:
    path = place / "sync"
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(_SYNCS):
            begin = time.perf_counter_ns()
            file.write(_PAGE)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter_ns() - begin)
    path.unlink()
    return statistics.median(times)
