"""Hits without end: in a closed loop, or with time to think between two."""

from __future__ import annotations

from ..case import LIVE, ZIPF, Case
from ..peers import REDIS, Store
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import round_of

#: So many hits come before a measurement in memory.
KNOWN_KEYS = 20_000
#: Of a fast peer one hit of so many is timed, so that its rate is not the clock's.
SAMPLE = 64
#: A fast peer warms up so many times as long where its keys are many: each has pages to touch.
MANY_KEYS = 3


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """First the rate, in a loop that reads the clock seldom, then the time of each hit."""
    store = rig.filled(case.peer, case.rows) if case.rows else rig.store(case.peer)
    with store as place, rig.crew(case, place) as crew:
        if case.keys == LIVE:
            crew.do({"do": "hits", "count": case.key_count})
        if case.scenario == REDIS:
            # A new key costs more, and a slow peer would meet more of them in its time.
            crew.first_does({"do": "hits", "count": case.key_count // case.connections})
        many = MANY_KEYS if case.peer.fast and case.keys == ZIPF else 1
        crew.run(plan.warm_seconds * many, every=0)
        if case.peer.store is Store.MEMORY:
            # In favour of those that pay more for a new key than for a known one. On disk it
            # would take minutes.
            crew.do({"do": "hits", "count": KNOWN_KEYS})
        if case.think_us:
            timed = crew.run(plan.think_seconds, every=1, think_us=case.think_us)
            return round_of(timed, timed)
        if case.peer.fast:
            plain = crew.run(plan.plain_seconds, every=SAMPLE)
            return round_of(plain, crew.run(plan.longest_seconds, every=1))
        plain = crew.run(plan.plain_seconds, every=0)
        return round_of(plain, crew.run(plan.timed_seconds, every=1))
