"""The OpenEnv environment: reset, step, state."""

from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import ValidationError

from orbital_ops_env.commands import describe, did_you_mean, printable
from orbital_ops_env.missions import catalog
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import (
    OrbitalOpsAction,
    OrbitalOpsObservation,
    OrbitalOpsState,
    ResetOptions,
    reset_options,
)
from orbital_ops_env.server import console
from orbital_ops_env.server.episode import Episode


class ResetRefused(ValueError):
    """A reset option is unknown or out of range; the message says what was expected."""


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
            **options: `family`, `level`, `episode_seed` (`ResetOptions`).

        Raises:
            ResetRefused: An option is unknown or out of range; the episode before stays as it was.
        """
        chosen, spec = _chosen({"seed": seed, "episode_id": episode_id, **options})
        episode_seed = chosen.seed if chosen.episode_seed is None else chosen.episode_seed
        self._episode = Episode(spec, episode_seed)
        self.rubric = self._episode.rubric
        self._state = OrbitalOpsState(
            **chosen.model_dump(exclude={"episode_id", "episode_seed"}),
            episode_id=chosen.episode_id or str(uuid4()),
            episode_seed=episode_seed,
            spec_hash=spec.content_hash,
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


def _chosen(options: dict[str, Any]) -> tuple[ResetOptions, MissionSpec]:
    """The options of a reset, and the mission they name."""
    known = tuple(ResetOptions.model_fields)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ResetRefused(f"no reset option {printable(name)!r}{hint} Known: {', '.join(known)}.")
    try:
        chosen = reset_options(options)
        return chosen, catalog.generate(chosen.family, chosen.level, chosen.seed)
    except ValidationError as error:
        raise ResetRefused(f"reset option {describe(error)}.") from error
    except ValueError as error:
        raise ResetRefused(str(error)) from error
