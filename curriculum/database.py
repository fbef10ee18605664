"""The SQLite file of the curricula: its tables, and how they are changed.

Outcomes are only ever added, and all that is known of a mission's worth is a fold over them. Every change is
one transaction that holds the write lock from its beginning (`BEGIN IMMEDIATE`), so that what it reads cannot
change under it, and a process that is killed leaves the state before or after a change.
"""

import fcntl
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

IN_MEMORY: Final = ":memory:"
"""Instead of a path: nothing outlives the process."""
PRAGMAS: Final = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, preset TEXT NOT NULL, families TEXT NOT NULL, seed INTEGER NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS mission (
    run TEXT NOT NULL REFERENCES run, hash TEXT NOT NULL, spec TEXT NOT NULL, flown_as TEXT NOT NULL,
    PRIMARY KEY (run, hash)
) STRICT;
CREATE TABLE IF NOT EXISTS certificate (
    run TEXT NOT NULL REFERENCES run, hash TEXT NOT NULL, generation INTEGER NOT NULL,
    operator TEXT NOT NULL, verdict TEXT NOT NULL, evidence TEXT NOT NULL, PRIMARY KEY (run, hash)
) STRICT;
CREATE TABLE IF NOT EXISTS generation (
    run TEXT NOT NULL REFERENCES run, number INTEGER NOT NULL, closed_by INTEGER, PRIMARY KEY (run, number)
) STRICT;
CREATE TABLE IF NOT EXISTS place (
    run TEXT NOT NULL, generation INTEGER NOT NULL, position INTEGER NOT NULL,
    mission TEXT NOT NULL, root TEXT NOT NULL,
    PRIMARY KEY (run, generation, position),
    FOREIGN KEY (run, generation) REFERENCES generation, FOREIGN KEY (run, mission) REFERENCES mission
) STRICT;
CREATE TABLE IF NOT EXISTS edge (
    run TEXT NOT NULL, child TEXT NOT NULL, parent TEXT NOT NULL, operator TEXT NOT NULL,
    harder INTEGER NOT NULL,
    PRIMARY KEY (run, child),
    FOREIGN KEY (run, child) REFERENCES mission, FOREIGN KEY (run, parent) REFERENCES mission
) STRICT;
CREATE TABLE IF NOT EXISTS binding (
    run TEXT NOT NULL, slot INTEGER NOT NULL, number INTEGER NOT NULL, mission TEXT NOT NULL,
    episode_seed INTEGER NOT NULL, generation INTEGER, position INTEGER, heard INTEGER NOT NULL,
    PRIMARY KEY (run, slot), UNIQUE (run, number), FOREIGN KEY (run, mission) REFERENCES mission
) STRICT;
CREATE INDEX IF NOT EXISTS binding_by_place ON binding (run, generation, position);
CREATE TABLE IF NOT EXISTS episode (
    run TEXT NOT NULL, slot INTEGER NOT NULL, member INTEGER NOT NULL, seat TEXT NOT NULL,
    seen_s REAL NOT NULL,
    PRIMARY KEY (run, slot, member), FOREIGN KEY (run, slot) REFERENCES binding
) STRICT;
CREATE TABLE IF NOT EXISTS outcome (
    run TEXT NOT NULL, number INTEGER NOT NULL, slot INTEGER NOT NULL, member INTEGER NOT NULL,
    success INTEGER NOT NULL, return REAL NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (run, number), UNIQUE (run, slot, member), FOREIGN KEY (run, slot) REFERENCES binding
) STRICT;
CREATE TABLE IF NOT EXISTS event (
    run TEXT NOT NULL REFERENCES run, number INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;
"""
TABLES: Final = (
    "run",
    "mission",
    "certificate",
    "generation",
    "place",
    "edge",
    "binding",
    "episode",
    "outcome",
    "event",
)
"""In an order in which rows can be put in."""


class Database:
    """The file, opened once in a process and by one process at a time; safe to share between threads.

    Args:
        path: Where it is, made if it is not there; or `IN_MEMORY`.

    Raises:
        RuntimeError: Another process has it, or it is something else.
    """

    Error = sqlite3.Error

    def __init__(self, path: Path | str) -> None:
        self._owned = None if path == IN_MEMORY else _own(Path(path))
        self._lock = threading.RLock()
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError as error:
            if self._owned:
                self._owned.close()
            raise RuntimeError(f"{path} is no database of curricula: {error}") from error

    @contextmanager
    def change(self) -> Generator[sqlite3.Connection]:
        """A transaction: nothing of it stays if it raises, and one inside it is part of it."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """What a query finds."""
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> sqlite3.Row:
        """The one row that a query finds."""
        (found,) = self.rows(query, *values)
        return found

    def add(self, table: str, *values: object) -> bool:
        """Put a row in; False if one of its key is there."""
        marks = ", ".join("?" * len(values))
        with self.change() as db:
            inserted = db.execute(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING", values)
            return inserted.rowcount > 0

    def next_number(self, table: str, run: str) -> int:
        """The number of a run's next row of a table whose rows are counted from 1."""
        return self.row(f"SELECT coalesce(max(number), 0) + 1 AS next FROM {table} WHERE run = ?", run)[
            "next"
        ]

    def close(self) -> None:
        """Close the file and let others have it."""
        with self._lock:
            self._db.close()
            if self._owned:
                self._owned.close()


def _open(path: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    try:
        db.executescript(PRAGMAS + SCHEMA)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _own(path: Path) -> IO[str]:
    """Hold the lock beside a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f"{path.name}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise RuntimeError(f"{path} is in use by another server: expected a file of its own") from error
    return lock
