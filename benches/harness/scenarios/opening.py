"""A request a process: open, hit once, close."""

from __future__ import annotations

from ..case import Case
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import round_of


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """Every opening is timed; a reading of the clock is small beside it."""
    with rig.store(case.peer) as store, rig.crew(case, store) as crew:
        crew.do({"do": "open", "seconds": plan.warm_seconds})
        timed = crew.do({"do": "open", "seconds": plan.open_seconds, "every": 1})
        return round_of(timed, timed)
