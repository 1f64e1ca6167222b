"""One process that hits, and the talk with it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

#: How long a worker may take to read its keys and to open.
READY_SECONDS = 60
#: To write millions of rows out, where a limiter does so at its end.
END_SECONDS = 120


class WorkerError(Exception):
    """A worker did not keep the protocol. Says what it wrote to its error output."""


class Worker:
    """Started at once; `ready` must come before the first command."""

    def __init__(
        self, command: Sequence[str], job: Mapping[str, Any], environment: Mapping[str, str]
    ) -> None:
        self._name = f"{os.path.basename(os.path.dirname(command[0]))}/{job['peer']}"
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._read = b""
        try:
            self._process = subprocess.Popen(
                [*command, json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
            )
        except OSError as error:
            self._errors.close()
            raise WorkerError(f"{self._name} cannot be started: {error.strerror}") from error

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Waits until the worker has opened its limiter."""
        line = self._line(seconds)
        if line != b"ready":
            raise self._failure(f"said {line[:100]!r} instead of ready")

    def send(self, command: Mapping[str, Any]) -> None:
        """Starts a command."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._failure("has ended") from None

    def receive(self, seconds: float) -> dict[str, Any]:
        """The answer to the command that was sent."""
        line = self._line(seconds)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failure(f"answered {line[:100]!r}")
        return answer

    def has_answered(self) -> bool:
        """Whether there is something to receive."""
        return b"\n" in self._read or self._readable(0)

    def end(self) -> None:
        """Ends its input and waits for it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # It has ended already.
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def kill(self) -> None:
        """Ends it where it stands. `end` must still follow."""
        self._process.kill()

    def _line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._read:
            if not self._readable(max(0.0, deadline - time.monotonic())):
                raise self._failure(f"was silent for {seconds:g} s")
            part = os.read(self._process.stdout.fileno(), 1 << 20)
            if not part:
                raise self._failure("has ended")
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _readable(self, seconds: float) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], seconds)[0])

    def _failure(self, what: str) -> WorkerError:
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return WorkerError(": ".join([f"{self._name} {what}", *last]))
