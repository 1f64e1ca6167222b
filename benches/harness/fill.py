"""Puts many rows into a store: into ratelite's by hits, into a peer's by SQL in its own schema."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from .case import ALLOW, WINDOW_MS, Case
from .crew import Crew
from .keys import KeyFiles
from .peers import peer

#: The fastest of ours. All read the rows of all.
OURS = peer("rust/ratelite")

#: Rows in one transaction, or in one command.
SLICE = 1_000_000

#: A row for each number from :first to :last, and the peer's own row beside it, which says what
#: window the peer writes.
_NUMBERS = """
WITH RECURSIVE
    numbers (number) AS (
        VALUES (:first) UNION ALL SELECT number + 1 FROM numbers WHERE number < :last
    ),
    own AS (SELECT * FROM {table} LIMIT 1)
INSERT INTO {table} ({columns})
SELECT {values} FROM numbers CROSS JOIN own"""

#: By table: columns, what stands in a live row, and in one that expired long ago.
_SCHEMAS = {
    "counters": (
        "key, window, n",
        "printf('client%010d', number), window, 1",
        "printf('client%010d', number), window - 864000000, 1",
    ),
    # ISO 8601: the year goes, the form stays.
    "rate_limits": (
        "client, window_start, count",
        "printf('client%010d', number), window_start, 1",
        "printf('client%010d', number), '2001' || substr(window_start, 5), 1",
    ),
}


def by_hits(store: Path, keys: KeyFiles, rows: int, *, expired: bool = False) -> None:
    """Has ratelite hit the keys 0 to rows - 1, once each. Expired: in windows of a millisecond."""
    job = {
        "peer": OURS.name,
        "store": str(store),
        "keys": str(keys.in_order(rows)),
        "limit": ALLOW,
        "window_ms": 1 if expired else WINDOW_MS,
        # Room for all: a key that has to make room costs a transaction.
        "table_slots": max(
            Case("fill", OURS, key_count=rows).table_slots,
            1 << (rows * 3 // 2).bit_length() if rows > SLICE else 0,
        ),
        "auto_prune": False,
    }
    with Crew(OURS.language, [job]) as crew:
        for first in range(0, rows, SLICE):
            crew.do({"do": "hits", "count": min(SLICE, rows - first)})
    # One file, as the others have it: with nothing left in its log.
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def by_sql(store: Path, rows: int, *, expired: bool = False) -> None:
    """Adds rows for the keys 0 to rows - 1. No other process may have the store open."""
    connection = sqlite3.connect(store, isolation_level=None)
    try:
        table = _table(connection)
        columns, live, old = _SCHEMAS[table]
        statement = _NUMBERS.format(table=table, columns=columns, values=old if expired else live)
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        # Nobody else is here, and a store that is not filled wholly is not used.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        for first in range(0, rows, SLICE):
            last = min(first + SLICE, rows) - 1
            connection.execute(statement, {"first": first, "last": last})
        connection.execute(f"PRAGMA journal_mode = {journal}")
    finally:
        connection.close()


def _table(connection: sqlite3.Connection) -> str:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return next(table for table in _SCHEMAS if table in names)
