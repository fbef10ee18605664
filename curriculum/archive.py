"""What a curriculum has made and seen: runs, missions and their lineage, slots, and outcomes."""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orbital_ops_env.curriculum.certificate import Certificate
from orbital_ops_env.curriculum.creator import Entry
from orbital_ops_env.curriculum.database import Database
from orbital_ops_env.curriculum.presets import Preset
from orbital_ops_env.curriculum.space import Edge, flown_as
from orbital_ops_env.missions.mission import MissionSpec

LAST: Final = 2**62
"""No outcome has a number as high."""
ABANDONED: Final = ("abandoned", "expired")
"""Reasons of outcomes that are no end of an episode."""


@dataclass(frozen=True)
class Run:
    """A curriculum that a trainer follows."""

    id: str
    preset: Preset
    families: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Binding:
    """Which mission a slot of a run is, for every member of its group."""

    mission: str
    episode_seed: int
    generation: int | None = None
    position: int | None = None
    """Its place in the generation; None for a slot beyond it, which does not count for it."""


@dataclass(frozen=True)
class Outcome:
    """How an episode of a run ended."""

    success: bool
    return_: float
    reason: str


class Archive:
    """Typed access to the database.

    Args:
        database: The file.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.change = database.change
        self._rows, self._row = database.rows, database.row

    # -- runs and missions -----------------------------------------------------------------------

    def add_run(self, run: Run) -> None:
        """A new run.

        Raises:
            ValueError: There is one of that name.
        """
        families = json.dumps(run.families)
        if not self.database.add("run", run.id, run.preset.model_dump_json(), families, run.seed, 0):
            raise ValueError(f"there is a run {run.id!r} already: expected a new name")

    def runs(self) -> list[str]:
        """Names of all runs."""
        return [row["id"] for row in self._rows("SELECT id FROM run ORDER BY id")]

    def run(self, name: str) -> Run:
        """The run of a name.

        Raises:
            LookupError: There is none.
        """
        found = self._rows("SELECT * FROM run WHERE id = ?", name)
        if not found:
            names = ", ".join(self.runs()[:10])
            expected = f"expected one of {names}" if names else "there is none yet, create one"
            raise LookupError(f"no run {name!r}: {expected}")
        row = found[0]
        families = tuple(json.loads(row["families"]))
        return Run(name, Preset.model_validate_json(row["preset"]), families, row["seed"])

    def paused(self, run: str) -> bool:
        """Whether no new slot of a run is bound."""
        return bool(self._row("SELECT paused FROM run WHERE id = ?", run)["paused"])

    def pause(self, run: str, paused: bool) -> None:
        """Let no new slot be bound, or let it again."""
        with self.change() as db:
            db.execute("UPDATE run SET paused = ? WHERE id = ?", (paused, run))

    def add_mission(self, run: str, spec: MissionSpec) -> None:
        """Keep a mission."""
        self.database.add("mission", run, spec.content_hash, spec.canonical_json, flown_as(spec))

    def mission(self, run: str, content_hash: str) -> MissionSpec:
        """The mission of a hash.

        Raises:
            LookupError: The run has none.
        """
        found = self._rows("SELECT spec FROM mission WHERE run = ? AND hash = ?", run, content_hash)
        if not found:
            raise LookupError(f"run {run!r} has no mission {content_hash!r}")
        return MissionSpec.model_validate_json(found[0]["spec"])

    # -- slots -----------------------------------------------------------------------------------

    def binding(self, run: str, slot: int) -> Binding | None:
        """What a slot is bound to, if it is."""
        found = self._rows("SELECT * FROM binding WHERE run = ? AND slot = ?", run, slot)
        names = ("mission", "episode_seed", "generation", "position")
        return Binding(*(found[0][name] for name in names)) if found else None

    def bind(self, run: str, slot: int, bound: Binding) -> None:
        """Bind a slot, after all outcomes so far."""
        with self.change():
            number = self.database.next_number("binding", run)
            heard = self.database.next_number("outcome", run) - 1
            mission, seed = bound.mission, bound.episode_seed
            self.database.add(
                "binding", run, slot, number, mission, seed, bound.generation, bound.position, heard
            )

    # -- episodes and outcomes -------------------------------------------------------------------

    def take(self, run: str, slot: int, member: int, seat: str) -> bool:
        """A seat begins the episode of a member; whether another one had it, which has it no more."""
        place = (run, slot, member)
        with self.change() as db:
            if self.binding(run, slot) is None:
                return False
            had = self._rows("SELECT 1 FROM episode WHERE (run, slot, member) = (?, ?, ?)", *place)
            db.execute("REPLACE INTO episode VALUES (?, ?, ?, ?, ?)", (*place, seat, time.time()))
            return bool(had)

    def free_member(self, run: Run, slot: int) -> int | None:
        """The first member of a group that has no outcome and is not being flown; None if there is none."""
        query = "SELECT member FROM outcome WHERE run = ?1 AND slot = ?2 UNION"
        query += " SELECT member FROM episode WHERE run = ?1 AND slot = ?2"
        taken = {row["member"] for row in self._rows(query, run.id, slot)}
        return min(set(range(run.preset.members)) - taken, default=None)

    def renew(self, seat: str) -> None:
        """A seat goes on with its episode, if it still has it."""
        with self.change() as db:
            db.execute("UPDATE episode SET seen_s = ? WHERE seat = ?", (time.time(), seat))

    def leave(self, seat: str) -> bool:
        """A seat flies its episode no more; whether it still had it."""
        with self.change() as db:
            return db.execute("DELETE FROM episode WHERE seat = ?", (seat,)).rowcount > 0

    def unseen(self, before_s: float) -> list[tuple[str, str, int, int]]:
        """Seat, run, slot and member of episodes that were last stepped before a time."""
        rows = self._rows("SELECT seat, run, slot, member FROM episode WHERE seen_s < ?", before_s)
        return [tuple(row) for row in rows]

    def add_outcome(self, run: str, slot: int, member: int, outcome: Outcome) -> bool:
        """Keep the outcome of a member; False if it has one, or the slot is unknown."""
        with self.change():
            if self.binding(run, slot) is None:
                return False
            number = self.database.next_number("outcome", run)
            told = (outcome.success, float(outcome.return_), outcome.reason)
            return self.database.add("outcome", run, number, slot, member, *told)

    def outcomes(self, run: str, generation: int, until: int | None) -> list[sqlite3.Row]:
        """Outcomes of the slots that count for a generation, up to a number, in order."""
        return self._rows(
            "SELECT o.*, b.position FROM outcome o JOIN binding b USING (run, slot)"
            " WHERE o.run = ? AND b.generation = ? AND b.position IS NOT NULL AND o.number <= ?"
            " ORDER BY o.number",
            run,
            generation,
            LAST if until is None else until,
        )

    def whole_share(self, run: str, first: int, last: int, members: int) -> float:
        """[-] Share of the slots bound as number `first` to `last` whose groups have all their outcomes."""
        found = self._row(
            "SELECT avg((SELECT count(*) FROM outcome o WHERE (o.run, o.slot) = (b.run, b.slot)) = ?) whole"
            " FROM binding b WHERE b.run = ? AND b.number BETWEEN ? AND ?",
            members,
            run,
            first,
            last,
        )
        return found["whole"]

    def group_returns(self, run: str, members: int) -> list[tuple[int, float]]:
        """Level and mean return of each whole group, in the order in which they became whole."""
        found = self._rows(
            "SELECT m.spec ->> '$.level' AS level, avg(o.return) AS mean FROM outcome o"
            " JOIN binding b USING (run, slot) JOIN mission m ON m.run = b.run AND m.hash = b.mission"
            " WHERE o.run = ? GROUP BY o.slot HAVING count(*) = ? ORDER BY max(o.number)",
            run,
            members,
        )
        return [(int(row["level"]), row["mean"]) for row in found]

    def slots(self, run: str) -> int:
        """How many slots are bound."""
        return self._row("SELECT count(*) AS n FROM binding WHERE run = ?", run)["n"]

    def counts(self, run: str) -> dict[str, int]:
        """How many slots, outcomes, events and episodes there are, by the names of `RunStatus`."""
        repeated = "run = ? AND generation IS NOT NULL AND position IS NULL"
        conditions = {
            "slots": ("binding", "run = ?"),
            "repeated": ("binding", repeated),
            "outcomes": ("outcome", "run = ?"),
            "abandoned": ("outcome", f"run = ? AND reason IN {ABANDONED}"),
            "released": ("event", "run = ? AND kind = 'released'"),
            "again": ("event", "run = ? AND kind = 'again'"),
            "flying": ("episode", "run = ?"),
        }
        return {
            name: self._row(f"SELECT count(*) AS n FROM {table} WHERE {condition}", run)["n"]
            for name, (table, condition) in conditions.items()
        }

    # -- generations -----------------------------------------------------------------------------

    def add_generation(
        self,
        run: str,
        number: int,
        entries: Sequence[Entry[MissionSpec]],
        edges: Mapping[str, Edge],
        certificates: Sequence[Certificate],
    ) -> None:
        """Keep a generation, how its missions were made, and what was certified for it; once."""
        with self.change():
            if not self.database.add("generation", run, number, None):
                return
            for each in certificates:
                told = (edges[each.spec_hash].operator, each.verdict, _evidence(each))
                self.database.add("certificate", run, each.spec_hash, number, *told)
            for position, each in enumerate(entries):
                self.add_mission(run, each.mission)
                self._add_edges(run, each.mission, edges)
                self.database.add("place", run, number, position, each.mission.content_hash, each.root)

    def _add_edges(self, run: str, mission: MissionSpec, edges: Mapping[str, Edge]) -> None:
        """Keep the chain of edits that made a mission."""
        while edge := edges.get(mission.content_hash):
            self.add_mission(run, edge.parent)
            told = (mission.content_hash, edge.parent.content_hash, edge.operator, edge.harder)
            if not self.database.add("edge", run, *told):
                return
            mission = edge.parent

    def entries(self, run: str, generation: int) -> list[Entry[MissionSpec]]:
        """The missions of a generation in order."""
        rows = self._rows(
            "SELECT p.root, m.spec FROM place p JOIN mission m ON m.run = p.run AND m.hash = p.mission"
            " WHERE p.run = ? AND generation = ? ORDER BY position",
            run,
            generation,
        )
        specs = [MissionSpec.model_validate_json(row["spec"]) for row in rows]
        return [Entry(spec, row["root"], spec.family) for spec, row in zip(specs, rows, strict=True)]

    def last_generation(self, run: str) -> int | None:
        """The number of the last generation; None if a run has none."""
        return self._row("SELECT max(number) AS number FROM generation WHERE run = ?", run)["number"]

    def free(self, run: str, generation: int) -> list[int]:
        """Places of a generation that no slot is bound to, in order."""
        query = "SELECT position FROM place WHERE run = ?1 AND generation = ?2 EXCEPT"
        query += " SELECT position FROM binding WHERE run = ?1 AND generation = ?2 ORDER BY position"
        return [row["position"] for row in self._rows(query, run, generation)]

    def repeated(self, run: str, generation: int) -> int:
        """How many slots were bound to missions of a generation beyond its places."""
        query = "SELECT count(*) AS n FROM binding WHERE run = ? AND generation = ? AND position IS NULL"
        return self._row(query, run, generation)["n"]

    def places(self, run: str, generation: int) -> list[str]:
        """Hashes of the missions of a generation in order."""
        query = "SELECT mission FROM place WHERE run = ? AND generation = ? ORDER BY position"
        return [row["mission"] for row in self._rows(query, run, generation)]

    def whole_groups(self, run: str, generation: int, members: int) -> int:
        """How many groups of a generation have all their outcomes."""
        found = self._row(
            "SELECT count(*) AS n FROM (SELECT 1 FROM outcome o JOIN binding b USING (run, slot)"
            " WHERE o.run = ? AND b.generation = ? AND b.position IS NOT NULL"
            " GROUP BY o.slot HAVING count(*) = ?)",
            run,
            generation,
            members,
        )
        return found["n"]

    def close_generation(self, run: str, number: int) -> bool:
        """Let the last outcome so far be the last that counts for a generation; False if one is already."""
        with self.change() as db:
            outcome = self.database.next_number("outcome", run) - 1
            query = "UPDATE generation SET closed_by = ? WHERE run = ? AND number = ? AND closed_by IS NULL"
            return db.execute(query, (outcome, run, number)).rowcount > 0

    def closed_by(self, run: str, number: int) -> int | None:
        """The last outcome that counts for a generation; None while all do."""
        query = "SELECT closed_by FROM generation WHERE run = ? AND number = ?"
        return self._row(query, run, number)["closed_by"]

    def pending(self) -> list[tuple[str, int]]:
        """Run and number of generations that are closed and have no successor."""
        rows = self._rows(
            "SELECT run, max(number) AS number FROM generation GROUP BY run HAVING closed_by IS NOT NULL"
        )
        return [(row["run"], row["number"]) for row in rows]

    def known(self, run: str) -> set[str]:
        """All missions that a run has had, by `flown_as`."""
        return {row["flown_as"] for row in self._rows("SELECT flown_as FROM mission WHERE run = ?", run)}

    # -- events ----------------------------------------------------------------------------------

    def note(self, run: str, kind: str, detail: Mapping[str, Any]) -> None:
        """Keep something that happened."""
        with self.change():
            number = self.database.next_number("event", run)
            self.database.add("event", run, number, kind, json.dumps(detail))

    def events(self, run: str, *kinds: str) -> list[dict[str, Any]]:
        """What happened of some kinds, in order."""
        marks = ", ".join("?" * len(kinds))
        query = f"SELECT detail FROM event WHERE run = ? AND kind IN ({marks}) ORDER BY number"
        return [json.loads(row["detail"]) for row in self._rows(query, run, *kinds)]


def _evidence(certificate: Certificate) -> str:
    """The flights that show it."""
    return json.dumps([[each.policy, each.episode_seed, each.succeeded] for each in certificate.evidence])
