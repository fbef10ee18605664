"""A run as text, to be kept with a checkpoint of the model and put back.

`replay` proves that a run is what its log says: the tests make runs again with it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from orbital_ops_env.curriculum.archive import Archive, Outcome
from orbital_ops_env.curriculum.certificate import Certificate, Flown
from orbital_ops_env.curriculum.database import IN_MEMORY, TABLES, Database
from orbital_ops_env.curriculum.engine import Engine, check_families, make
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import held_out

FORMAT: Final = 1
KEPT: Final = tuple(table for table in TABLES if table != "episode")
"""Tables of a snapshot: all but who is flying just now."""
PASSING: Final = ("event",)
"""Of those, what a replay of the log does not give again: when what was done."""

WRONG: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    Database.Error,
)
"""What may come of a text that is no snapshot."""

Rows = dict[str, list[list[Any]]]


def dump(archive: Archive, run: str) -> bytes:
    """A run with everything in it, as JSON: the same bytes for the same state.

    Raises:
        LookupError: There is no such run.
    """
    archive.run(run)
    with archive.change():
        told = {table: [list(row) for row in _of(archive, table, run)] for table in KEPT}
    return json.dumps({"format": FORMAT, "run": run, "tables": told}, separators=(",", ":")).encode()


def restore(archive: Archive, run: str, content: bytes) -> None:
    """Put a run back as it was, in place of what there is of it.

    What is being flown does not count any more. A snapshot is as trustworthy as whoever brings it: its
    outcomes are taken as they are; a mission near a held-out one is not taken.

    Args:
        archive: Where to; nothing in it changes if this raises.
        run: Its name.
        content: What `dump` gave.

    Raises:
        ValueError: It is no such thing, or of another run.
    """
    try:
        told = json.loads(content)
        if (told["format"], told["run"]) != (FORMAT, run):
            raise ValueError(f"run {told['run']!r}, format {told['format']}, expected {run!r}, {FORMAT}")
        with archive.change():
            _put(archive, run, told["tables"])
            _check(archive, run)
    except WRONG as error:
        told = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"not a snapshot of run {run!r}: {told}") from error


def _put(archive: Archive, name: str, tables: Rows) -> None:
    with archive.change() as db:
        for table in reversed(TABLES):
            db.execute(f"DELETE FROM {table} WHERE {_key(table)} = ?", (name,))
        for table in KEPT:
            for row in tables[table]:
                if row[0] != name:
                    raise ValueError(f"a row of run {row[0]!r} in a snapshot of {name!r}")
                marks = ", ".join("?" * len(row))
                db.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        for _, content_hash, spec, _ in tables["mission"]:
            mission = MissionSpec.model_validate_json(spec)
            if mission.content_hash != content_hash:
                raise ValueError(f"mission {content_hash} is another one")
            if held_out().near(mission):
                raise ValueError(f"mission {content_hash} is nearly one of a held-out split")


def _check(archive: Archive, name: str) -> None:
    """Raise a ValueError for a run that could not be flown."""
    run = archive.run(name)
    check_families(run.families)
    if run.preset.kind != "evolve":
        return
    last = archive.last_generation(name)
    if last is None:
        raise ValueError("it has no generation")
    query = "SELECT position FROM place WHERE run = ? AND generation = ? ORDER BY position"
    for number in range(last + 1):
        places = [row["position"] for row in archive.database.rows(query, name, number)]
        if places != list(range(run.preset.missions)):
            expected = f"expected 0 to {run.preset.missions - 1}"
            raise ValueError(f"generation {number} with {len(places)} places from {places[:1]}: {expected}")


def _of(archive: Archive, table: str, run: str) -> list[Any]:
    return archive.database.rows(f"SELECT * FROM {table} WHERE {_key(table)} = ? ORDER BY 2, 3", run)


def _key(table: str) -> str:
    return "id" if table == "run" else "run"


# -- replay ------------------------------------------------------------------------------------


def replay(archive: Archive, run: str) -> Archive:
    """The run made again from its log: how it began, which slots were asked for, and how episodes ended.

    Args:
        archive: Has the run; its certificates are taken for those that the missions would get again.
        run: Its name.

    Returns:
        An archive in memory, for the caller to close; but for `PASSING`, its dump is that of the run.
    """
    again = Archive(Database(IN_MEMORY))
    engine = Engine(again)
    engine.create(archive.run(run))
    again.pause(run, False)
    for at, row in _log(archive, run):
        if at == "outcome":
            outcome = Outcome(bool(row["success"]), row["return"], row["reason"])
            engine.record(run, row["slot"], row["member"], outcome)
        else:
            _follow(archive, engine, run, row["generation"])
            engine.assign(run, row["slot"], 0)
    _follow(archive, engine, run, archive.last_generation(run))
    again.pause(run, archive.paused(run))
    return again


def _log(archive: Archive, run: str) -> Iterator[tuple[str, Any]]:
    """Bindings and outcomes in the order in which they came."""
    bindings = archive.database.rows("SELECT * FROM binding WHERE run = ? ORDER BY number", run)
    outcomes = archive.database.rows("SELECT * FROM outcome WHERE run = ? ORDER BY number", run)
    heard = 0
    for binding in bindings:
        while heard < binding["heard"]:
            yield "outcome", outcomes[heard]
            heard += 1
        yield "binding", binding
    for outcome in outcomes[heard:]:
        yield "outcome", outcome


def _follow(archive: Archive, engine: Engine, run: str, generation: int | None) -> None:
    """Make generations until there is one of a number."""

    def certify(missions: Sequence[MissionSpec]) -> list[Certificate]:
        return [_certificate(archive, run, each.content_hash) for each in missions]

    while (last := engine.archive.last_generation(run)) is not None and last < (generation or 0):
        engine.add(make(engine.job(run, last), certify))


def _certificate(archive: Archive, run: str, content_hash: str) -> Certificate:
    query = "SELECT verdict, evidence FROM certificate WHERE run = ? AND hash = ?"
    row = archive.database.row(query, run, content_hash)
    return Certificate(
        content_hash, row["verdict"], tuple(Flown(*each) for each in json.loads(row["evidence"]))
    )
