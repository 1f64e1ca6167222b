"""The job that a worker is started with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """What is to be measured. Members as in the protocol."""

    peer: str
    store: str
    keys: tuple[str, ...]
    limit: int
    window_ms: int
    rules: int
    threads: int
    #: Of ratelite's table, 0 for its default.
    table_slots: int

    @staticmethod
    def parse(text: str) -> Job:
        """Reads the JSON of the worker's argument, and the keys that it names."""
        members = json.loads(text)
        keys = tuple(Path(members["keys"]).read_text(encoding="utf-8").split())
        if not keys:
            raise ValueError(f"no key in {members['keys']}")
        return Job(
            peer=members["peer"],
            store=members.get("store") or "",
            keys=keys,
            limit=members["limit"],
            window_ms=members["window_ms"],
            rules=members.get("rules", 1),
            threads=members.get("threads", 1),
            table_slots=members.get("table_slots", 0),
        )
