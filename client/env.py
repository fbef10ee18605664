"""The typed client."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from websockets.exceptions import ConnectionClosed

from orbital_ops_env.client.tasks import Tasks
from orbital_ops_env.models import (
    OrbitalOpsAction,
    OrbitalOpsObservation,
    OrbitalOpsState,
)

LOST = "the connection or the simulation was lost and the episode with it; call reset"


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

    `reset(family, level, seed, episode_seed, episode_id)` starts an episode, `reset(split, index)` one of the
    server's `tasks`, `reset(split, index, run_id, member)` one of a slot of the server's `Runs`;
    `step(action)` flies one command and `state()` says where the episode stands. Example:

        with OrbitalOpsEnv("http://localhost:8000").sync() as env:
            result = env.reset(family="retarget-v0", level=3, seed=17)

    Raises:
        RuntimeError: The server refused an option or is at capacity; the message says which.
        ConnectionError: The server cannot be reached.
        TypeError: `step` of something else than an `OrbitalOpsAction`; nothing is sent.
        EpisodeNotStarted: `step` before the first `reset`.
        EpisodeOver: `step` after the end.
        EpisodeLost: The episode is gone: the connection dropped, or the simulation failed.
    """

    _started = False

    @property
    def tasks(self) -> Tasks:
        """The server's splits and their tasks; needs no episode.

        Raises:
            RuntimeError: The client was made without an address and is not connected yet.
        """
        if self.base_url is None:
            raise RuntimeError("there is no server yet: connect first")
        return Tasks(self.base_url, self._headers)

    # The hooks behind `reset` and `step`, whether awaited, called plainly or through `.sync()`.

    async def _reset_async(self, **kwargs: Any) -> StepResult[OrbitalOpsObservation]:
        try:
            result = await super()._reset_async(**kwargs)
        except ConnectionClosed as error:
            raise EpisodeLost(LOST) from error
        self._started = True
        return result

    async def _step_async(self, action: OrbitalOpsAction, **kwargs: Any) -> StepResult[OrbitalOpsObservation]:
        try:
            return await super()._step_async(action, **kwargs)
        except RuntimeError as error:
            raise _named(error, started=self._started) from error
        except (ConnectionClosed, ConnectionError) as error:
            if not self._started:
                raise
            raise EpisodeLost(LOST) from error

    def _step_payload(self, action: OrbitalOpsAction) -> dict[str, Any]:
        if not isinstance(action, OrbitalOpsAction):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"expected an OrbitalOpsAction, got {type(action).__name__}; "
                "a reply becomes one by OrbitalOpsAction(command=commands.parse(reply))"
            )
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
        return EpisodeLost(LOST)
    return EpisodeNotStarted(text)
