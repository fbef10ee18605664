"""The curriculum as a trainer meets it: slots are bound to missions, outcomes come in, generations follow.

A slot is bound at its first reset and then is the same mission and episode seed for every member of its
group. The first outcome of a member stays. No bind ever waits for a generation to be made: once all missions
of the last one are bound, further slots are bound to those of them that taught most, or to all if none
taught, and do not count for it. A generation is over when most of its groups are whole, or when twice as
many slots have been asked for as it has missions.
"""

import hashlib
import itertools
import math
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from orbital_ops_env.curriculum.archive import Archive, Binding, Outcome, Run
from orbital_ops_env.curriculum.certificate import Certificate
from orbital_ops_env.curriculum.creator import Entry, Graded, informativeness, next_generation
from orbital_ops_env.curriculum.ladder import Ladder
from orbital_ops_env.curriculum.space import Certify, Edge, MissionSpace
from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import Task, held_out

M = TypeVar("M")
FIRST_SEED: Final = 5_000_000_000
"""Mission seeds from here on are for curricula; nothing else draws them."""
SEEDS: Final = 1_000_000_000
AHEAD: Final = 4096
"""[-] slots that may be asked for beyond as many as are bound."""


class Paused(RuntimeError):
    """A slot that is not bound yet was asked for while its run is paused."""


class Engine:
    """Binds slots and hears outcomes; safe to share between threads.

    Args:
        archive: Where everything is kept.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.waiting = threading.Event()
        """Set when a generation waits for its successor; for whoever makes it to clear."""

    def create(self, run: Run) -> None:
        """Begin a run; a first generation is drawn from the families' tables, easy levels in turn.

        Raises:
            ValueError: There is a run of that name, or a family that has no missions for a curriculum.
        """
        check_families(run.families)
        first = _first(run) if run.preset.kind == "evolve" else None
        with self.archive.change():
            self.archive.add_run(run)
            if first:
                self.archive.add_generation(run.id, 0, first, {}, ())

    # -- slots -----------------------------------------------------------------------------------

    def assign(self, name: str, slot: int, member: int) -> Task:
        """The mission of a slot, bound to it now if it is not yet.

        Args:
            name: Of the run.
            slot: One for each group, counted from 0 without gaps.
            member: Of the group, 0 or more.

        Raises:
            LookupError: No such run.
            ValueError: No such member.
            Paused: The slot is new and the run is paused.
        """
        run = self.archive.run(name)
        if slot < 0 or not 0 <= member < run.preset.members:
            expected = f"expected a slot from 0 on and a member from 0 to {run.preset.members - 1}"
            raise ValueError(f"slot {slot}, member {member} of run {name!r}: {expected}")
        bound = self.archive.binding(name, slot)
        if bound is None:
            most = self.archive.slots(name) + AHEAD
            if slot > most:
                raise ValueError(
                    f"slot {slot} of run {name!r}: expected {most} at most, {AHEAD} beyond those bound"
                )
            bound = self._bind(run, slot)
        return Task(self.archive.mission(name, bound.mission), bound.episode_seed)

    def _bind(self, run: Run, slot: int) -> Binding:
        """Bind a slot, unless another thread was faster."""
        while True:
            level = None if run.preset.kind == "evolve" else self._level(run, slot)
            drawn_at_level = None if level is None else _table(run, slot, level, "mission")  # takes a while
            with self.archive.change():
                if bound := self.archive.binding(run.id, slot):
                    return bound
                if self.archive.paused(run.id):
                    raise Paused(f"run {run.id!r} is paused and slot {slot} is new: resume the run")
                if drawn_at_level is None:
                    return self._from_generation(run, slot)
                if level == self._level(run, slot):
                    self.archive.add_mission(run.id, drawn_at_level)
                    bound = Binding(drawn_at_level.content_hash, drawn(run, "episode", slot))
                    self.archive.bind(run.id, slot, bound)
                    return bound

    def _level(self, run: Run, slot: int) -> int:
        """Of the mission that a slot is to be, where none evolve."""
        if run.preset.kind == "uniform":
            return drawn(run, "level", slot) % len(LEVELS)
        return self.ladder(run).level

    def _from_generation(self, run: Run, slot: int) -> Binding:
        """Bind a slot to a free place of the last generation; else to one of those that taught most.

        Slots in a row get places in a row, in whatever order they are asked for.
        """
        number = self.archive.last_generation(run.id)
        assert number is not None  # a run that evolves has a first one
        places = self.archive.places(run.id, number)
        seed = drawn(run, "episode", slot)
        if free := self.archive.free(run.id, number):
            place = min(free, key=lambda each: (each - slot) % len(places))
            bound = Binding(places[place], seed, number, place)
        else:
            best = self._taught_most(run, number, places) or places
            bound = Binding(best[slot % len(best)], seed, number)
        self.archive.bind(run.id, slot, bound)
        self._close_if_over(run, number)
        return bound

    def _taught_most(self, run: Run, number: int, places: Sequence[str]) -> list[str]:
        """Hashes of missions of a generation that taught; none is read, since somebody waits for this."""
        outcomes = self._by_place(run, number)
        graded = [_grade(Entry(places[place], "", ""), rows) for place, rows in outcomes]
        told = [(informativeness(run.preset.informativeness, each), each.entry.mission) for each in graded]
        taught = sorted((each for each in told if each[0] > 0), key=lambda each: -each[0])
        return [mission for _, mission in taught[: math.ceil(run.preset.repeated * run.preset.missions)]]

    def ladder(self, run: Run) -> Ladder:
        """Where a ladder is after all groups that are whole, in the order in which they became so."""
        ladder = Ladder(run.preset)
        for level, mean_return in self.archive.group_returns(run.id, run.preset.members):
            ladder.hear(level, mean_return)
        return ladder

    # -- outcomes and generations ----------------------------------------------------------------

    def record(self, name: str, slot: int, member: int, outcome: Outcome) -> bool:
        """Keep the first outcome of a member; False if it has one, or nobody asked for the slot."""
        run = self.archive.run(name)
        with self.archive.change():
            if not self.archive.add_outcome(name, slot, member, outcome):
                return False
            if (generation := self.archive.last_generation(name)) is not None:
                self._close_if_over(run, generation)
            return True

    def _close_if_over(self, run: Run, generation: int) -> None:
        """Let a generation that is over wait for its successor."""
        size, members = run.preset.missions, run.preset.members
        if self.archive.free(run.id, generation):
            return
        groups = self.archive.whole_groups(run.id, generation, members)
        over = groups >= run.preset.reported * size or self.archive.repeated(run.id, generation) >= size
        if over and self.archive.close_generation(run.id, generation):
            self.waiting.set()

    def job(self, name: str, generation: int) -> "Job":
        """What the generation after a closed one is made from; the same outcomes give the same job."""
        run = self.archive.run(name)
        return Job(
            run,
            generation + 1,
            tuple(self.archive.entries(name, generation)),
            tuple(self.graded(run, generation, self.archive.closed_by(name, generation))),
            frozenset(self.archive.known(name)),
        )

    def add(self, made: "Made") -> bool:
        """Take a generation in; False if its run was put back to another state while it was made."""
        run, number = made.job.run.id, made.job.number
        with self.archive.change():
            if (run, number - 1) not in self.archive.pending() or self.job(run, number - 1) != made.job:
                return False
            self.archive.add_generation(run, number, made.entries, made.edges, made.certificates)
            return True

    def graded(self, run: Run, generation: int, until: int | None) -> list[Graded[MissionSpec]]:
        """The missions of a generation whose groups are whole, in the order of their places."""
        entries = self.archive.entries(run.id, generation)
        return [
            _grade(entries[place], rows)
            for place, rows in self._by_place(run, generation, until)
            if len(rows) == run.preset.members
        ]

    def _by_place(
        self, run: Run, generation: int, until: int | None = None
    ) -> list[tuple[int, list[sqlite3.Row]]]:
        """Places of a generation that have outcomes, in order, with these."""
        found: dict[int, list[sqlite3.Row]] = {}
        for row in self.archive.outcomes(run.id, generation, until):
            found.setdefault(row["position"], []).append(row)
        return sorted(found.items())


@dataclass(frozen=True)
class Job:
    """A generation to be made."""

    run: Run
    number: int
    before: tuple[Entry[MissionSpec], ...]
    """The generation before,"""
    graded: tuple[Graded[MissionSpec], ...]
    """and what became of those of it whose groups are whole."""
    known: frozenset[str]
    """Missions that do not come again, by `flown_as`."""


@dataclass(frozen=True)
class Made:
    """A generation that was made."""

    job: Job
    entries: Sequence[Entry[MissionSpec]]
    edges: Mapping[str, Edge]
    certificates: Sequence[Certificate]


def make(job: Job, certify: Certify) -> Made:
    """Make a generation; the same job and certificates always give the same one."""
    preset = job.run.preset
    space = MissionSpace(set(job.known), certify if preset.certified else None)
    rng = np.random.default_rng([job.run.seed, job.number])
    entries = next_generation(rng, preset, job.before, job.graded, space)
    return Made(job, entries, space.edges, space.certificates)


def _first(run: Run) -> list[Entry[MissionSpec]]:
    """The first generation."""
    levels = run.preset.first_levels
    numbers = range(run.preset.missions)
    specs = [_table(run, n, levels[n // len(run.families) % len(levels)], "first") for n in numbers]
    return [Entry(spec, spec.content_hash, spec.family) for spec in specs]


def _table(run: Run, number: int, level: int, what: str) -> MissionSpec:
    """A mission of the families' tables that is not nearly a held-out one; families take turns."""
    first, family = drawn(run, what, number), run.families[number % len(run.families)]
    seeds = (FIRST_SEED + (first + attempt) % SEEDS for attempt in itertools.count())
    return next(spec for seed in seeds if not held_out().near(spec := generate(family, level, seed)))


def check_families(families: Sequence[str]) -> None:
    """Raise a ValueError for families that no curriculum can be of."""
    if not families or set(families) - set(SHORT_FAMILIES) or len(set(families)) < len(families):
        raise ValueError(
            f"families {list(families)}: expected some of {', '.join(SHORT_FAMILIES)}, each once"
        )


def _grade(entry: Entry[M], rows: Sequence[sqlite3.Row]) -> Graded[M]:
    ordered = sorted(rows, key=lambda row: row["member"])
    returns = tuple(row["return"] for row in ordered)
    return Graded(entry, returns, tuple(bool(row["success"]) for row in ordered))


def drawn(run: Run, what: str, number: int) -> int:
    """A number of 32 bits that only the run's seed and two words decide."""
    digest = hashlib.sha256(f"{run.seed} {what} {number}".encode()).digest()
    return int.from_bytes(digest[:4])
