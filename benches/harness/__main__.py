"""`benches/run`: installs, measures, writes RESULTS.md and the plots.

A whole run writes into `benches`, a quick one or a part into `target/bench/quick` or `…/part`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import machine, plots
from .install import install
from .matrix import groups
from .measure import Progress, introduce, measure
from .paths import BENCH, BENCHES, LIBRARY
from .peers import PEERS
from .plan import FULL, QUICK, Plan
from .report import report
from .results import Results
from .rig import Rig


def main() -> None:
    """Reads the arguments and runs."""
    parser = argparse.ArgumentParser(prog="benches/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, shorter: 7 minutes")
    parser.add_argument("--only", action="append", default=[], metavar="SCENARIO")
    parser.add_argument("--peer", action="append", default=[], metavar="LANGUAGE/NAME")
    parser.add_argument("--out", type=Path, metavar="DIRECTORY")
    parser.add_argument("--rewrite", action="store_true", help="measure nothing, write it anew")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else FULL
    is_part = bool(arguments.only or arguments.peer)
    kind = "part" if is_part else plan.name
    raw = BENCH / f"results-{kind}.json"
    out = arguments.out or (BENCHES if kind == FULL.name else BENCH / kind)
    if not arguments.rewrite:
        if not LIBRARY.exists():
            sys.exit("target/release/libratelite.so is missing: run make build")
        run(plan, set(arguments.only), set(arguments.peer)).save(raw)
    results = Results.load(raw)
    out.mkdir(parents=True, exist_ok=True)
    drawn = plots.draw(results, out / "plots")
    text = report(results, plan, drawn)
    (out / "RESULTS.md").write_text(text, encoding="utf-8")


def run(plan: Plan, scenarios: set[str], peers: set[str]) -> Results:
    """Measures everything, or the scenarios and peers that are named."""
    progress = Progress()
    results = Results()
    install(progress.say)
    with Rig() as rig:
        results.machine = machine.describe(rig.work)
        if rig.redis is not None:
            results.machine["Redis"] = f"{rig.redis.version()}, nothing on disk"
        if peers:
            others = (one.id for one in PEERS if one.id not in peers)
            results.absent = dict.fromkeys(others, "not asked for")
        introduce(rig, results, progress)
        for group in groups(plan):
            if not scenarios or group.cases[0].scenario in scenarios:
                measure(rig, group, plan, results, progress)
    progress.say("measured")
    return results


if __name__ == "__main__":
    main()
