"""Whether a budget that several processes share is kept."""

from __future__ import annotations

import time

from ..case import WINDOW_MS, Case
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import round_of

#: Each process hits so often.
HITS = 500
#: More than a measurement takes, so that no window ends in it.
CLEARANCE_SECONDS = 120


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """All processes hit one key, more often in sum than the limit grants."""
    _wait_for_a_window()
    with rig.store(case.peer) as store, rig.crew(case, store) as crew:
        answers = crew.do({"do": "hits", "count": HITS})
    one = round_of(answers, answers)
    one.values["granted"] = sum(answer.allowed for answer in answers)
    return one


def _wait_for_a_window() -> None:
    left = WINDOW_MS / 1000 - time.time() % (WINDOW_MS / 1000)
    if left < CLEARANCE_SECONDS:
        time.sleep(left + 1)
