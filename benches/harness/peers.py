"""Who is measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Store(Enum):
    """Where a peer keeps its counters."""

    FILE = "a file"
    #: Shared with every process on the machine, and in a file an interval later.
    TABLE = "shared memory and a file"
    REDIS = "Redis"
    #: The same server, not by TCP.
    REDIS_SOCKET = "Redis, by a unix socket"
    MEMORY = "its own memory"


class Crowd(Enum):
    """What stands for N processes. The value is the job's member, if it is one worker."""

    PROCESSES = ""
    #: Threads, for a peer that lives in the memory of one process.
    THREADS = "threads"
    #: Children of one parent, which is what shares APCu.
    CHILDREN = "processes"


@dataclass(frozen=True)
class Peer:
    """A limiter in a language, as its worker knows it."""

    language: str
    name: str
    store: Store
    crowd: Crowd = Crowd.PROCESSES
    #: Why it is not measured on more than one key, if so.
    one_key: str = ""
    #: Another way to use a peer, measured only where it differs.
    variant: bool = False
    #: The only scenario in which it is measured, if so.
    only: str = ""

    @property
    def id(self) -> str:
        """Its name among all."""
        return f"{self.language}/{self.name}"

    @property
    def ours(self) -> bool:
        """Whether it is ratelite."""
        return self.name.startswith("ratelite")

    @property
    def at_once(self) -> str:
        """The job's member for hits that one worker makes at once, on a connection each."""
        return "processes" if self.language == "php" else "threads"

    @property
    def on_redis(self) -> bool:
        """Whether it is given the address of a Redis."""
        return self.store in (Store.REDIS, Store.REDIS_SOCKET)

    @property
    def on_file(self) -> bool:
        """Whether it is given a file."""
        return self.store in (Store.FILE, Store.TABLE)

    @property
    def fast(self) -> bool:
        """Whether a reading of the clock at each hit would be no small part of it."""
        return self.store in (Store.MEMORY, Store.TABLE)

    @property
    def shared(self) -> bool:
        """Whether the processes that are measured share one budget by design."""
        return self.store is not Store.MEMORY or self.crowd is not Crowd.PROCESSES


#: The scenario of those that count on a server.
REDIS = "redis"

PEERS = (
    Peer("rust", "ratelite", Store.TABLE),
    Peer("rust", "ratelite-hit", Store.FILE),
    Peer("rust", "ratelite-format-key", Store.TABLE, variant=True),
    Peer("rust", "how-to", Store.FILE),
    Peer("rust", "sqlite-busy-timeout", Store.FILE),
    Peer("rust", "governor", Store.MEMORY, Crowd.THREADS),
    Peer("rust", "governor-std-clock", Store.MEMORY, Crowd.THREADS, variant=True),
    Peer("rust", "governor-foldhash", Store.MEMORY, Crowd.THREADS, variant=True),
    Peer("rust", "governor-format-key", Store.MEMORY, Crowd.THREADS, variant=True),
    Peer("python", "ratelite", Store.TABLE),
    Peer("python", "ratelite-hit", Store.FILE),
    Peer("python", "how-to", Store.FILE),
    Peer(
        "python",
        "pyrate-sqlite",
        Store.FILE,
        one_key="a bucket is a table with a connection of its own, so many keys need as many files",
    ),
    Peer("python", "limits-redis", Store.REDIS),
    Peer("python", "limits-memory", Store.MEMORY),
    Peer("python", "throttled-memory", Store.MEMORY),
    Peer("php", "ratelite", Store.TABLE),
    Peer("php", "ratelite-hit", Store.FILE),
    Peer("php", "how-to", Store.FILE),
    Peer("php", "symfony-pdo", Store.FILE),
    Peer("php", "symfony-apcu", Store.MEMORY, Crowd.CHILDREN),
    Peer("php", "apcu-inc", Store.MEMORY, Crowd.CHILDREN),
    Peer("node", "rlf-sqlite", Store.FILE),
    Peer("node", "rlf-sqlite-wal", Store.FILE),
    Peer("node", "rlf-redis", Store.REDIS),
    Peer("node", "rlf-memory", Store.MEMORY),
    Peer("rust", "ratelite-redis", Store.REDIS, only=REDIS),
    Peer("rust", "ratelite-redis-denied", Store.REDIS, only=REDIS),
    Peer("rust", "ratelite-redis-socket", Store.REDIS_SOCKET, only=REDIS),
    Peer("rust", "redis-script", Store.REDIS, only=REDIS),
    Peer("rust", "redis-script-socket", Store.REDIS_SOCKET, only=REDIS),
    Peer("python", "ratelite-redis", Store.REDIS, only=REDIS),
    Peer("python", "ratelite-redis-denied", Store.REDIS, only=REDIS),
    Peer("python", "redis-script", Store.REDIS, only=REDIS),
    Peer("php", "ratelite-redis", Store.REDIS, only=REDIS),
    Peer("php", "ratelite-redis-denied", Store.REDIS, only=REDIS),
    Peer("node", "rlf-redis-block", Store.REDIS, only=REDIS),
)

#: Those that take part in every scenario.
COMMON = tuple(one for one in PEERS if not one.only)

#: What people call the languages.
LANGUAGES = {"rust": "Rust", "python": "Python", "php": "PHP", "node": "Node.js"}


def peer(identity: str) -> Peer:
    """The peer of a name such as `rust/ratelite`."""
    return next(peer for peer in PEERS if peer.id == identity)
