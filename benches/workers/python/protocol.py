"""The protocol: a job as argument, commands on the input, an answer to each."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import loop
from job import Job
from peers import Peer, opener
from tally import Tally

Command = dict[str, Any]


def serve(text: str) -> None:
    """Works on a job until the input ends."""
    worker = Worker(Job.parse(text))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.work(json.loads(line))), flush=True)
    worker.close()


class Worker:
    """A job, with the limiter opened."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._open = opener(job)
        self._peer = self._open()
        self._peer.hit(f"worker-{os.getpid()}")
        # Threads begin at different places of the same round.
        self._keys = [
            itertools.cycle(job.keys[start:] + job.keys[:start])
            for start in (len(job.keys) * n // job.threads for n in range(job.threads))
        ]

    def work(self, command: Command) -> dict[str, Any]:
        """Does what a command says, and answers."""
        do = command["do"]
        if do == "about":
            return {
                "version": self._peer.version(),
                "clock_ns": loop.clock_ns(),
                "loop_ns": loop.idle_ns(self._keys[0], command.get("every", 0)),
            }
        if do == "prune":
            return self._prune()
        if do == "open":
            return self._hits(self._open_hit_close, command).answer()
        if do in ("run", "hits"):
            return self._hits(self._peer.hit, command).answer()
        raise ValueError(f"unknown command {do!r}")

    def close(self) -> None:
        """Closes the limiter."""
        self._peer.close()

    def _hits(self, hit: loop.Hit, command: Command) -> Tally:
        manner = loop.Manner(**{name: value for name, value in command.items() if name != "do"})
        if len(self._keys) == 1:
            return loop.run(hit, self._keys[0], manner)
        with ThreadPoolExecutor(len(self._keys)) as threads:
            parts = list(threads.map(lambda keys: loop.run(hit, keys, manner), self._keys))
        for part in parts[1:]:
            parts[0].merge(part)
        return parts[0]

    def _open_hit_close(self, key: str) -> bool:
        peer = self._open()
        try:
            return peer.hit(key)
        finally:
            peer.close()

    def _prune(self) -> dict[str, Any]:
        begin, removed, tally = loop.clock(), 0, Tally()
        try:
            removed = prune(self._peer)
        except Exception as error:
            tally.fail(error)
        tally.seconds = (loop.clock() - begin) / 1e9
        return {**tally.answer(), "removed": removed}


def prune(peer: Peer) -> int:
    """Removes expired rows, where the peer can."""
    remove: Callable[[], int] | None = getattr(peer, "prune", None)
    if remove is None:
        raise NotImplementedError("this peer has no call that removes expired rows")
    return remove()
