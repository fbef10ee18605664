"""The OpenEnv environment: reset, step, state."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import ValidationError

from orbital_ops_env.commands import describe, did_you_mean, printable
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

MISSION_OPTIONS: Final = {"family", "level", "seed"}
TASK_OPTIONS: Final = {"split", "index"}


class Refused(ValueError):
    """What was asked for is unknown or out of range; the message says what was expected."""


class OrbitalOpsEnvironment(Environment[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]):
    """A small satellite on thrusters, flown on Basilisk; the agent is its flight controller."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._episode: Episode | None = None
        self._state = OrbitalOpsState(episode_id=str(uuid4()))

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> OrbitalOpsObservation:
        """Start an episode.

        Args:
            seed: Seed of the mission.
            episode_id: Echoed in the state.
            **options: `family`, `level`, `episode_seed`, `split`, `index` (`ResetOptions`).

        Raises:
            Refused: An option is unknown or out of range; the episode before stays as it was.
        """
        chosen, task = _chosen({"seed": seed, "episode_id": episode_id, **options})
        episode_seed = task.episode_seed if chosen.episode_seed is None else chosen.episode_seed
        self._episode = Episode(task.spec, episode_seed)
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
        """Discard the episode and its simulation."""
        self._episode = None

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

    def render_web(self, observation: dict[str, Any]) -> str | None:
        """The console page: brief, gauges, telemetry text and, after the end, the score."""
        return console.page(self._episode, observation) if self._episode else None

    def web_actions(self, observation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Ready-made commands for the console."""
        return console.buttons(self._episode, observation) if self._episode else []


def _chosen(options: dict[str, Any]) -> tuple[ResetOptions, Task]:
    """The options of a reset, and the task that they name."""
    known = tuple(ResetOptions.model_fields)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise Refused(f"no reset option {printable(name)!r}{hint} Known: {', '.join(known)}.")
    try:
        chosen = reset_options(options)
    except ValidationError as error:
        raise Refused(f"reset option {describe(error)}.") from error
    with _refusing(IndexError):
        return chosen, _named(chosen)


def _named(chosen: ResetOptions) -> Task:
    """The task of a split, or the mission of a family, level and seed."""
    given = chosen.model_fields_set
    if chosen.split is None and chosen.index is None:
        return Task(catalog.generate(chosen.family, chosen.level, chosen.seed), chosen.seed)
    if chosen.split is None or chosen.index is None:
        raise Refused(f"reset with {' and '.join(given & TASK_OPTIONS)} alone: expected split and index.")
    if both := given & MISSION_OPTIONS:
        raise Refused(f"reset with a task and {', '.join(sorted(both))}: expected one or the other.")
    return splits.task(chosen.split, chosen.index)


@contextmanager
def _refusing(*more: type[Exception]) -> Generator[None]:
    """Turns a ValueError, and more kinds of error, into `Refused`."""
    try:
        yield
    except (ValueError, *more) as error:
        raise Refused(str(error)) from error
