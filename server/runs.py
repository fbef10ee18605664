"""Curricula on this server: who flies which member of which group, and what became of it."""

import os
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from orbital_ops_env.curriculum import metrics, snapshot
from orbital_ops_env.curriculum.archive import Archive, Outcome
from orbital_ops_env.curriculum.background import LEASE_S, Background
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine
from orbital_ops_env.missions.splits import Task
from orbital_ops_env.models import HeldOut, RunStatus
from orbital_ops_env.server import flight
from orbital_ops_env.server.episode import Episode

WORKERS: Final = max(1, (os.cpu_count() or 1) // 2)
"""[-] processes that certify missions."""
SLOW_S: Final = 5.0
"""[s] that nobody waits for a slot, however busy the machine is; a generation takes minutes."""


class Runs:
    """The server's curricula.

    Args:
        path: The database, or `IN_MEMORY`.
        workers: [-] processes that certify missions.
        lease_s: [s] without a step after which an episode is a failure.

    Raises:
        RuntimeError: Another process has the database.
    """

    def __init__(
        self, path: Path | str = IN_MEMORY, workers: int = WORKERS, lease_s: float = LEASE_S
    ) -> None:
        self.archive = Archive(Database(path))
        self.engine = Engine(self.archive)
        self._lock, self._resets = threading.Lock(), Counter[str]()
        self._release_all()
        self.background = Background(self.engine, flight.by_name, workers, lease_s)

    def _release_all(self) -> None:
        """Episodes that a server before this one was flying when it ended are no failures of anybody."""
        for seat, run, slot, member in self.archive.unseen(float("inf")):
            self.archive.leave(seat)
            self.archive.note(run, "released", {"slot": slot, "member": member, "error": "server ended"})

    def seat(self, run: str, slot: int, member: int | None) -> "tuple[Task, Seat]":
        """The mission of a slot, and the seat of a member who flies it; raises as `Engine.assign` does.

        Without a member the episode is of the first one that nobody has flown when it begins.
        """
        making, began = self.background.making is not None, time.monotonic()
        task = self.engine.assign(run, slot, member or 0)
        slow = time.monotonic() - began > SLOW_S
        with self._lock:
            self._resets.update({"all": 1, "making": making, "slow": slow})
        return task, Seat(self, run, slot, member)

    def pause(self, run: str, paused: bool) -> RunStatus:
        """Let no new slot of a run be bound, or let it again; raises as `status` does."""
        self.archive.run(run)
        self.archive.pause(run, paused)
        return self.status(run)

    def report(self, run: str, held_out: HeldOut) -> RunStatus:
        """Keep how the model does on missions that are not trained on, beside how it does in training."""
        training = metrics.training_success(self.archive, self.archive.run(run))
        self.archive.note(run, "held_out", held_out.model_dump() | {"training": training})
        return self.status(run)

    def restore(self, run: str, content: bytes) -> RunStatus:
        """Put a run back as it was; what is being flown of it does not count any more.

        Raises:
            ValueError: It is no snapshot, or one of another run.
        """
        snapshot.restore(self.archive, run, content)
        self.engine.waiting.set()
        return self.status(run)

    def status(self, name: str) -> RunStatus:
        """Where a run stands.

        Raises:
            LookupError: There is no such run.
        """
        run, count = self.archive.run(name), self.archive.counts(name)
        told = metrics.windows(self.archive, run)
        with self._lock:
            resets = dict(self._resets)
        return RunStatus(
            run_id=name,
            preset=run.preset.model_dump(),
            families=run.families,
            seed=run.seed,
            paused=self.archive.paused(name),
            generation=self.archive.last_generation(name),
            waiting=any(each == name for each, _ in self.archive.pending()),
            making=self.background.making == name,
            **count,
            resets=resets.get("all", 0),
            resets_while_making=resets.get("making", 0),
            slow_resets=resets.get("slow", 0),
            alarms=tuple(metrics.alarms(self.archive, run, told)),
        )

    def close(self) -> None:
        """Stop what goes on beside the resets and close the file."""
        self.background.close()
        self.archive.database.close()


class Seat:
    """A member of a group while it flies an episode; the episode counts from its first step.

    Whoever begins the member's episode anew has its place from then on, and what became of this one does not
    count: a socket that broke off is followed by another.

    Args:
        runs: The server's curricula.
        run: Name of the run.
        slot: Of the group.
        member: Of the group; None for the first that nobody has flown.
    """

    def __init__(self, runs: Runs, run: str, slot: int, member: int | None) -> None:
        self._runs, self._run, self._slot, self._member = runs, run, slot, member
        self._id, self._begun = uuid4().hex, False

    @contextmanager
    def step(self, episode: Episode) -> Generator[None]:
        """What a step happens in: the outcome is kept; a failure of the simulation is nobody's."""
        archive = self._runs.archive
        if self._begun:
            archive.renew(self._id)
        else:
            self._begin()
        try:
            yield
        except Exception as error:
            if archive.leave(self._id):
                self._note("released", error=repr(error))
            raise
        if episode.outcome != "ongoing":
            self._end(Outcome(episode.outcome == "succeeded", episode.rubric.value, episode.outcome))

    def abandon(self) -> None:
        """The trainer has begun another episode; once this one is begun and not over, that is a failure."""
        self._end(Outcome(False, 0.0, "abandoned"))

    def _begin(self) -> None:
        """Take the member's place; an episode of a group that is whole has none, and does not count."""
        archive, self._begun = self._runs.archive, True
        with archive.change():
            if self._member is None:
                self._member = archive.free_member(archive.run(self._run), self._slot)
            if self._member is None or archive.take(self._run, self._slot, self._member, self._id):
                self._note("again")

    def _end(self, outcome: Outcome) -> None:
        archive = self._runs.archive
        with archive.change():
            if self._member is None or not archive.leave(self._id):
                return
            if not self._runs.engine.record(self._run, self._slot, self._member, outcome):
                self._note("again")

    def _note(self, what: str, **detail: str) -> None:
        told = {"slot": self._slot, "member": self._member}
        self._runs.archive.note(self._run, what, told | detail)
