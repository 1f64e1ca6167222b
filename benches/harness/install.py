"""Has every language install its peers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from .paths import WORKERS, environment
from .peers import LANGUAGES

SECONDS = 900
_REDIS = (
    ["apt-get", "update", "-q"],
    ["apt-get", "install", "-q", "-y", "--no-install-recommends", "redis-server"],
)


def install(say: Callable[[str], None]) -> None:
    """A failure is said, and shows again when a peer is started: others are measured anyway."""
    for language in LANGUAGES:
        setup = WORKERS / language / "setup"
        if setup.exists():
            say(f"set-up of {language}")
            _run([str(setup)], say)
    if shutil.which("redis-server") is None:
        say("set-up of Redis")
        for command in _REDIS:
            _run(command, say)


def _run(command: list[str], say: Callable[[str], None]) -> None:
    try:
        done = subprocess.run(
            command,
            env={
                **environment(),
                "DEBIAN_FRONTEND": "noninteractive",
                "TERM": os.environ.get("TERM", "dumb"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"failed: {error}")
        return
    if done.returncode:
        say("failed: " + "\n".join(done.stdout.strip().splitlines()[-5:]))
