"""Goes through the matrix and keeps what comes of it."""

from __future__ import annotations

import sys
import time

from .case import Case
from .matrix import Group
from .peers import PEERS
from .plan import Plan
from .results import Results
from .rig import Rig
from .scenarios.load import SAMPLE
from .worker import WorkerError

ABOUT_SECONDS = 60


class Progress:
    """Lines on the error output, with the time since the start."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def say(self, line: str) -> None:
        """Says what is done now."""
        minutes, seconds = divmod(int(time.monotonic() - self._begin), 60)
        print(f"{minutes:2}:{seconds:02} {line}", file=sys.stderr, flush=True)


def introduce(rig: Rig, results: Results, progress: Progress) -> None:
    """Asks each peer what it is. Who does not answer is left out, with the reason."""
    for peer in PEERS:
        if peer.id in results.absent:
            continue
        case = Case("about", peer)
        try:
            with rig.store(peer) as store, rig.crew(case, store) as crew:
                (worker,) = crew.workers
                worker.send({"do": "about", "every": SAMPLE})
                about = worker.receive(ABOUT_SECONDS)
        except (WorkerError, RuntimeError) as error:
            results.absent[peer.id] = str(error)
            progress.say(f"not measured: {error}")
        else:
            results.versions[peer.id] = about["version"]
            results.clocks.setdefault(peer.language, about["clock_ns"])
            results.loops.setdefault(peer.language, about["loop_ns"])


def measure(rig: Rig, group: Group, plan: Plan, results: Results, progress: Progress) -> None:
    """Measures the rounds of a group, peer by peer, so that noise hits all alike."""
    for number in range(1, group.rounds + 1):
        for case in group.cases:
            # A case that failed once would spoil the rhythm, and most often fails again.
            if case.peer.id in results.absent or results.of(case).failure:
                continue
            progress.say(f"{case}, round {number} of {group.rounds}")
            try:
                one = group.measure(rig, case, plan)
            except WorkerError as error:
                results.fail(case, str(error))
                progress.say(f"failed: {error}")
            else:
                results.add(case, one)
                if one.error:
                    progress.say(f"{one.errors} of {one.hits} hits failed: {one.error}")
    rig.discard_filled()
