"""The OpenEnv environment: reset, step, state."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any, Final
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import ValidationError

from orbital_ops_env.commands import describe, did_you_mean, printable
from orbital_ops_env.curriculum.engine import Paused
from orbital_ops_env.missions import catalog, splits
from orbital_ops_env.missions.splits import Task
from orbital_ops_env.models import (
    OrbitalOpsAction,
    OrbitalOpsObservation,
    OrbitalOpsState,
    ResetOptions,
    Split,
    TaskCard,
    TaskEntry,
    reset_options,
)
from orbital_ops_env.server import console, tasks
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.runs import Runs, Seat

TASK_OPTIONS: Final = ("split", "index")
RUN_OPTIONS: Final = (*TASK_OPTIONS, "run_id")
SLOT_OPTIONS: Final = (*RUN_OPTIONS, "member")


class Refused(ValueError):
    """What was asked for is unknown or out of range; the message says what was expected."""


class OrbitalOpsEnvironment(Environment[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]):
    """A small satellite on thrusters, flown on Basilisk; the agent is its flight controller.

    Args:
        runs: The server's curricula; None where there are none.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, runs: Runs | None = None) -> None:
        super().__init__()
        self._runs = runs
        self._episode: Episode | None = None
        self._seat: Seat | None = None
        self._state = OrbitalOpsState(episode_id=str(uuid4()))

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> OrbitalOpsObservation:
        """Start an episode.

        Args:
            seed: Seed of the mission.
            episode_id: Echoed in the state.
            **options: Those of `ResetOptions`: a mission, a task, or a slot of a run.

        Raises:
            Refused: An option is unknown or out of range; the episode before stays as it was.
        """
        chosen = _chosen({"seed": seed, "episode_id": episode_id, **options})
        task, seat = self._named(chosen)
        episode_seed = task.episode_seed if chosen.episode_seed is None else chosen.episode_seed
        if self._seat:
            self._seat.abandon()
        self._episode, self._seat = Episode(task.spec, episode_seed), seat
        self.rubric = self._episode.rubric
        self._state = OrbitalOpsState(
            episode_id=chosen.episode_id or str(uuid4()),
            family=task.spec.family,
            level=task.spec.level,
            seed=task.spec.seed,
            episode_seed=episode_seed,
            spec_hash=task.spec.content_hash,
            split=chosen.split,
            index=chosen.index,
            run_id=chosen.run_id,
            member=chosen.member,
            outcome="ongoing",
        )
        return self._episode.observation

    def step(
        self, action: OrbitalOpsAction, timeout_s: float | None = None, **kwargs: Any
    ) -> OrbitalOpsObservation:
        """Fly one command.

        Raises:
            RuntimeError: There is no episode, it is over, or the simulation failed.
        """
        if self._episode is None:
            raise RuntimeError("EpisodeNotStarted: this session has no episode, call reset first")
        if self._episode.outcome != "ongoing":
            raise RuntimeError(f"EpisodeOver: the episode is over ({self._episode.outcome}), call reset")
        episode, self._episode = self._episode, None
        with self._seat.step(episode) if self._seat else nullcontext():
            observation = episode.step(action.command)
        self._episode = episode
        self._state.step_count = episode.turns
        self._state.outcome = episode.outcome
        return observation

    @property
    def state(self) -> OrbitalOpsState:
        """Where the episode stands."""
        return self._state

    def close(self) -> None:
        """Discard the episode and its simulation; a slot of a run may be flown anew until its lease ends."""
        self._episode = self._seat = None

    def list_splits(self) -> list[Split]:
        """The splits, with the number of their tasks."""
        return tasks.list_splits()

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has; an unknown split is `Refused`, here and in the next three."""
        with _refusing():
            return splits.num_tasks(split)

    def list_tasks(self, split: str) -> list[TaskEntry]:
        """The first tasks of a split, as many as one answer holds."""
        with _refusing():
            return tasks.entries(split, 0, tasks.LISTED)

    async def get_task(self, split: str, index: int) -> TaskCard:
        """A task, with its brief; an IndexError if the split has none of that index.

        It may have to be drawn, which takes seconds for the longest missions: that is nobody else's time.
        """
        with _refusing():
            return await asyncio.to_thread(tasks.card, split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[TaskEntry]:
        """Tasks of a split from `start` up to `stop`, which count as in a slice; refused if too many."""
        with _refusing():
            return tasks.entries(split, start, stop)

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, description and version for `/metadata`."""
        return EnvironmentMetadata(
            name="orbital_ops_env",
            description="A language model is the flight controller of a small satellite, flown on Basilisk.",
            version="0.1.0",
        )

    def _named(self, chosen: ResetOptions) -> tuple[Task, Seat | None]:
        """The task that the options name, with a seat if it is a slot of a run."""
        given = chosen.model_fields_set - {"episode_id"}
        with _refusing(LookupError, Paused):
            match chosen.split, chosen.index, chosen.run_id, chosen.member:
                case None, None, None, None:
                    spec = catalog.generate(chosen.family, chosen.level, chosen.seed)
                    return Task(spec, chosen.seed), None
                case splits.CURRICULUM, int(slot), str(run), member:
                    _only(given, SLOT_OPTIONS)
                    return self._seated(run, slot, member)
                case str(split), int(index), None, None if split != splits.CURRICULUM:
                    _only(given - {"episode_seed"}, TASK_OPTIONS)
                    return splits.task(split, index), None
                case _:
                    raise Refused(_misnamed(chosen, given))

    def _seated(self, run: str, slot: int, member: int | None) -> tuple[Task, Seat]:
        if self._runs is None:
            raise Refused("this environment has no curricula: expected a server's")
        if run not in self._runs.archive.runs():
            raise Refused(f"no run {run!r}: expected the name of one that its trainer has created")
        return self._runs.seat(run, slot, member)

    def render_web(self, observation: dict[str, Any]) -> str | None:
        """The console page: brief, gauges, telemetry text and, after the end, the score."""
        return console.page(self._episode, observation) if self._episode else None

    def web_actions(self, observation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Ready-made commands for the console."""
        return console.buttons(self._episode, observation) if self._episode else []


def _chosen(options: dict[str, Any]) -> ResetOptions:
    """The options of a reset."""
    known = tuple(ResetOptions.model_fields)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise Refused(f"no reset option {printable(name)!r}{hint} Known: {', '.join(known)}.")
    try:
        return reset_options(options)
    except ValidationError as error:
        raise Refused(f"reset option {describe(error)}.") from error


def _misnamed(chosen: ResetOptions, given: set[str]) -> str:
    """What is wrong with options that name neither a mission nor a task nor a slot."""
    wanted = RUN_OPTIONS if chosen.split == splits.CURRICULUM else TASK_OPTIONS
    told, of_run = ", ".join(name for name in SLOT_OPTIONS if name in given), {"run_id", "member"} & given
    if of_run and wanted is TASK_OPTIONS:
        return f"reset with {told}: run_id and member are for split {splits.CURRICULUM!r}."
    missing = " and ".join(name for name in wanted if name not in given)
    return f"reset with {told}: expected {missing} too."


def _only(given: set[str], expected: tuple[str, ...]) -> None:
    """Refuse other options beside those that name a task."""
    if more := given - set(expected):
        raise Refused(f"reset with a task and {', '.join(sorted(more))}: expected one or the other.")


@contextmanager
def _refusing(*more: type[Exception]) -> Generator[None]:
    """Turns a ValueError, and more kinds of error, into `Refused`."""
    try:
        yield
    except (ValueError, *more) as error:
        raise Refused(str(error)) from error
