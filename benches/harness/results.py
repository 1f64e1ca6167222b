"""What was measured."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .case import Case
from .peers import peer


@dataclass
class Round:
    """One measurement of a case. What the scenario does not measure is NaN."""

    #: Answered hits a second.
    rate: float = math.nan
    p50_ns: float = math.nan
    p99_ns: float = math.nan
    p999_ns: float = math.nan
    max_ns: float = math.nan
    #: Hits of the slowest process, as a part of those of the fastest.
    fairness: float = math.nan
    hits: int = 0
    errors: int = 0
    error: str | None = None
    #: What only this scenario measures.
    values: dict[str, float] = field(default_factory=dict)


@dataclass
class Outcome:
    """The rounds of a case, or why there is none."""

    rounds: list[Round] = field(default_factory=list)
    failure: str | None = None

    def median(self, name: str) -> float:
        """Of a member of Round, or of one of its values; NaN if it was not measured."""
        numbers = [number for number in self._numbers(name) if not math.isnan(number)]
        return statistics.median(numbers) if numbers else math.nan

    def worst(self, name: str) -> float:
        """The largest in any round."""
        return max(self._numbers(name), default=math.nan)

    @property
    def errors(self) -> int:
        """Failed hits in all rounds."""
        return sum(one.errors for one in self.rounds)

    @property
    def hits(self) -> int:
        """Tried hits in all rounds."""
        return sum(one.hits for one in self.rounds)

    def _numbers(self, name: str) -> list[float]:
        return [one.values.get(name, getattr(one, name, math.nan)) for one in self.rounds]


class Results:
    """All outcomes of a run."""

    def __init__(self) -> None:
        self._outcomes: dict[Case, Outcome] = {}
        #: Peers that could not be started at all, and why.
        self.absent: dict[str, str] = {}
        #: What the peers say they are, and what a reading of their clock costs in ns.
        self.versions: dict[str, str] = {}
        self.clocks: dict[str, float] = {}
        #: What the loop of a language costs a hit, in ns.
        self.loops: dict[str, float] = {}
        self.machine: dict[str, str] = {}
        self.plan = ""

    def of(self, case: Case) -> Outcome:
        """The outcome of a case; an empty one if it was not measured."""
        return self._outcomes.get(case, Outcome())

    def add(self, case: Case, one: Round) -> None:
        """Keeps a round."""
        self._outcomes.setdefault(case, Outcome()).rounds.append(one)

    def fail(self, case: Case, why: str) -> None:
        """Keeps why a round of a case failed."""
        self._outcomes.setdefault(case, Outcome()).failure = why

    def all(self) -> Iterator[tuple[Case, Outcome]]:
        """In the order in which they were measured."""
        return iter(self._outcomes.items())

    def cases(self, scenario: str) -> Iterator[tuple[Case, Outcome]]:
        """All of a scenario."""
        return ((case, outcome) for case, outcome in self.all() if case.scenario == scenario)

    def failures(self) -> list[tuple[Case, str]]:
        """Cases in which a round failed."""
        return [(case, outcome.failure) for case, outcome in self.all() if outcome.failure]

    def save(self, path: Path) -> None:
        """Writes everything as JSON."""
        members: dict[str, Any] = dict(vars(self))
        members["_outcomes"] = [
            {"case": {**asdict(case), "peer": case.peer.id}, "outcome": asdict(outcome)}
            for case, outcome in self._outcomes.items()
        ]
        path.write_text(json.dumps(members, indent=1), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Results:
        """Reads what `save` wrote."""
        members = json.loads(path.read_text(encoding="utf-8"))
        results = Results()
        for entry in members.pop("_outcomes"):
            case = Case(**{**entry["case"], "peer": peer(entry["case"]["peer"])})
            rounds = [Round(**one) for one in entry["outcome"]["rounds"]]
            results._outcomes[case] = Outcome(rounds, entry["outcome"]["failure"])
        vars(results).update(members)
        return results
