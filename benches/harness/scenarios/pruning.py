"""Expired rows are removed while others hit."""

from __future__ import annotations

from dataclasses import replace

from ..answer import Answer
from ..case import HOT, Case
from ..plan import Plan
from ..results import Round
from ..rig import Rig
from ..summary import latency_of, round_of

#: A look at whether the pruning is over comes between two such spans of hits.
SPAN_SECONDS = 0.2
PRUNE_SECONDS = 120


def measure(rig: Rig, case: Case, plan: Plan) -> Round:
    """The hitters' times, before and during one call that removes all expired rows."""
    alone = replace(case, keys=HOT, processes=1)
    with (
        rig.filled(case.peer, case.rows, expired=True) as store,
        rig.crew(case, store) as hitters,
        rig.crew(alone, store) as others,
    ):
        (pruner,) = others.workers
        hitters.run(plan.warm_seconds, every=0)
        before = latency_of(hitters.run(plan.timed_seconds, every=1))
        during = []
        pruner.send({"do": "prune"})
        while True:
            during += hitters.run(SPAN_SECONDS, every=1)
            if pruner.has_answered():
                break
        pruned = Answer.of(pruner.receive(PRUNE_SECONDS))
    one = round_of(during, during)
    one.rate = sum(answer.hits - answer.errors for answer in during) / sum(
        answer.seconds for answer in during[:: case.processes]
    )
    one.errors += pruned.errors
    one.error = one.error or pruned.error
    one.values = {
        "seconds": pruned.seconds,
        "removed": pruned.removed,
        "before_p999_ns": before.percentile(99.9),
        "before_max_ns": before.max_ns,
    }
    return one
