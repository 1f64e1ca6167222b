"""Clients that are far over their limit go on hitting."""

from __future__ import annotations

from ..case import Case
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import round_of

#: So often each process hits each key before: together far more often than the limit grants.
BEFORE = 2


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """A closed loop after every key has used up its limit. Says what it let in all the same."""
    with rig.store(case.peer) as store, rig.crew(case, store) as crew:
        crew.do({"do": "hits", "count": BEFORE * case.key_count})
        crew.run(plan.warm_seconds, every=0)
        plain = crew.run(plan.plain_seconds, every=0)
        timed = crew.run(plan.timed_seconds, every=1)
    one = round_of(plain, timed)
    one.values["let_in"] = sum(answer.allowed for answer in (*plain, *timed))
    return one
