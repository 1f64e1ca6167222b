"""Hits without end: in a closed loop, or with time to think between two."""

from __future__ import annotations

from ..case import Case
from ..peers import Store
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import round_of

#: So many hits come before a measurement in memory.
KNOWN_KEYS = 20_000


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """First the rate, in a loop that reads the clock seldom, then the time of each hit."""
    store = rig.filled(case.peer, case.rows) if case.rows else rig.store(case.peer)
    with store as place, rig.crew(case, place) as crew:
        crew.run(plan.warm_seconds, each=False)
        if case.peer.store is Store.MEMORY:
            # In favour of those that pay more for a new key than for a known one. On disk it
            # would take minutes.
            crew.do({"do": "hits", "count": KNOWN_KEYS, "each": False})
        if case.think_us:
            timed = crew.run(plan.think_seconds, each=True, think_us=case.think_us)
            return round_of(timed, timed)
        plain = crew.run(plan.plain_seconds, each=False)
        return round_of(plain, crew.run(plan.timed_seconds, each=True))
