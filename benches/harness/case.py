"""What is measured: a peer under a workload."""

from __future__ import annotations

from dataclasses import dataclass

from .peers import Peer

#: Nothing is ever denied: more than any run hits, and within 32 bits.
ALLOW = 1_000_000_000
#: Nearly everything is denied.
DENY = 10
#: No window ends during a measurement, unless it runs over midnight UTC.
WINDOW_MS = 86_400_000

HOT = "hot"
UNIFORM = "uniform"
ZIPF = "zipf"
#: Each key, one after the other, all of which were hit before.
LIVE = "live"

#: What ratelite's table has by default is for so many keys.
_KEYS_BY_DEFAULT = 100_000
_MANY_SLOTS = 4_194_304


@dataclass(frozen=True)
class Case:
    """One line of a table. Its scenario says what is done."""

    scenario: str
    peer: Peer
    keys: str = UNIFORM
    key_count: int = 10_000
    limit: int = ALLOW
    processes: int = 1
    #: Of each process, all of which wait for an answer at once.
    connections: int = 1
    think_us: int = 0
    rules: int = 1
    #: Rows in the store before.
    rows: int = 0
    #: In memory, where the peer can: what a call costs without a file.
    in_memory: bool = False

    @property
    def table_slots(self) -> int:
        """Of ratelite's table, 0: its default. Peers get room for all keys too."""
        return 0 if self.key_count <= _KEYS_BY_DEFAULT else _MANY_SLOTS

    def __str__(self) -> str:
        parts = [self.scenario, self.peer.id, self.keys]
        many = self.keys == LIVE or (self.limit == DENY and self.keys == UNIFORM)
        parts += [f"{self.key_count} keys"] if many else []
        parts += ["deny-heavy"] if self.limit == DENY else []
        parts += [f"{self.processes} processes"] if self.processes > 1 else []
        parts += [f"of {self.connections} connections"] if self.connections > 1 else []
        parts += [f"{self.rules} rules"] if self.rules > 1 else []
        parts += [f"{self.rows} rows"] if self.rows else []
        return " ".join(parts)
