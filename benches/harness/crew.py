"""Workers that hit at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from .answer import Answer
from .paths import WORKERS, environment
from .worker import Worker

#: What a command may take beyond its own time: others may hold a lock for their whole patience.
GRACE_SECONDS = 90
#: Several begin at one moment, so long after the first is told of it.
LEAD_NS = 10_000_000

Job = Mapping[str, Any]


class Crew:
    """Starts a worker for each job; all are ready when the block begins."""

    def __init__(self, language: str, jobs: Sequence[Job]) -> None:
        self._command = [str(WORKERS / language / "worker")]
        self._jobs = jobs
        self.workers: list[Worker] = []

    def __enter__(self) -> Crew:
        try:
            # The first alone: it makes the store, which not every peer can do in several at once.
            self._begin(self._jobs[:1])
            self._begin(self._jobs[1:])
        except BaseException:
            self._end(killed=True)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(killed=error is not None)

    def start(self, command: Mapping[str, Any]) -> None:
        """Has all workers begin a command, at the same moment if they are several."""
        if sum(job.get("threads", 1) * job.get("processes", 1) for job in self._jobs) > 1:
            command = {**command, "at_ns": time.monotonic_ns() + LEAD_NS}
        for worker in self.workers:
            worker.send(command)

    def gather(self, seconds: float) -> list[Answer]:
        """Waits for all."""
        return [Answer.of(worker.receive(seconds + GRACE_SECONDS)) for worker in self.workers]

    def do(self, command: Mapping[str, Any]) -> list[Answer]:
        """Has all workers do a command at the same time."""
        self.start(command)
        return self.gather(command.get("seconds", 0))

    def first_does(self, command: Mapping[str, Any]) -> Answer:
        """Has the first worker alone do a command."""
        self.workers[0].send(command)
        return Answer.of(self.workers[0].receive(GRACE_SECONDS))

    def run(self, seconds: float, *, every: int, think_us: int = 0) -> list[Answer]:
        """Has all workers hit for a time, and time one hit of `every` by itself; 0: none."""
        return self.do({"do": "run", "seconds": seconds, "think_us": think_us, "every": every})

    def _begin(self, jobs: Sequence[Job]) -> None:
        workers = [Worker(self._command, job, environment()) for job in jobs]
        self.workers += workers
        for worker in workers:
            worker.wait_ready()

    def _end(self, killed: bool) -> None:
        for worker in self.workers:
            if killed:
                worker.kill()
        for worker in self.workers:
            worker.end()
