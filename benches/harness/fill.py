"""Puts many rows into a store that a peer has made, by SQL in the peer's own schema.

The row of the worker's own hit says which rule and window the peer writes.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

#: Rows in one transaction.
SLICE = 1_000_000

#: A row for each number from :first to :last, and the peer's own row beside it.
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
    "rate_limit_windows": (
        "expires_ms, rule, window_ms, key, attempts, admitted",
        "expires_ms, rule, window_ms, CAST(printf('client%010d', number) AS BLOB), 1, 1",
        "expires_ms - 10 * window_ms, rule, window_ms,"
        " CAST(printf('client%010d', number) AS BLOB), 1, 1",
    ),
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


def fill(store: Path, rows: int, *, expired: bool = False) -> None:
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
