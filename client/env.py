"""The typed client."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from orbital_ops_env.models import (
    OrbitalOpsAction,
    OrbitalOpsObservation,
    OrbitalOpsState,
)


class EpisodeError(RuntimeError):
    """The session has no running episode; call `reset`."""


class EpisodeNotStarted(EpisodeError):
    """`step` before the first `reset`."""


class EpisodeOver(EpisodeError):
    """`step` after the end."""


class EpisodeLost(EpisodeError):
    """The connection dropped and came back as a new session: the episode is gone, nothing of it counts."""


class OrbitalOpsEnv(EnvClient[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]):
    """Flies missions on a server. One client flies one episode at a time; `.sync()` blocks.

    Example:
        with OrbitalOpsEnv("http://localhost:8000").sync() as env:
            result = env.reset(family="retarget-v0", level=3, seed=17)
    """

    _started = False

    async def reset(self, **options: Any) -> StepResult[OrbitalOpsObservation]:
        """Start an episode.

        Args:
            **options: `family`, `level`, `seed`, `episode_seed`, `episode_id`.

        Raises:
            RuntimeError: The server refused an option or is at capacity; the message says which.
            ConnectionError: The server cannot be reached.
        """
        result = await super().reset(**options)
        self._started = True
        return result

    async def step(self, action: OrbitalOpsAction, **options: Any) -> StepResult[OrbitalOpsObservation]:
        """Fly one command.

        Raises:
            EpisodeNotStarted: `reset` was never called.
            EpisodeOver: The episode has ended.
            EpisodeLost: The server holds no episode for this session any more.
        """
        try:
            return await super().step(action, **options)
        except RuntimeError as error:
            raise _named(error, started=self._started) from error

    def _step_payload(self, action: OrbitalOpsAction) -> dict[str, Any]:
        return action.model_dump(mode="json")

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[OrbitalOpsObservation]:
        fields = payload["observation"] | {"reward": payload["reward"], "done": payload["done"]}
        observation = OrbitalOpsObservation.model_validate(fields)
        return StepResult(observation, reward=payload["reward"], done=payload["done"])

    def _parse_state(self, payload: dict[str, Any]) -> OrbitalOpsState:
        return OrbitalOpsState.model_validate(payload)


def _named(error: RuntimeError, *, started: bool) -> RuntimeError:
    text = str(error)
    if "EpisodeOver:" in text:
        return EpisodeOver(text)
    if "EpisodeNotStarted:" not in text:
        return error
    if started:
        return EpisodeLost("the connection or the simulation was lost and the episode with it; call reset")
    return EpisodeNotStarted(text)
