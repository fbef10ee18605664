"""The telecommands as tools: what TRL's `environment_factory` wants.

The documented alternative to `training.rollout`, for models with a tool-call syntax of their own:

    GRPOTrainer(..., environment_factory=partial(OrbitalOpsTools, "http://localhost:8000"))

TRL takes every public method but `reset` and `get_reward` for a tool, so `OrbitalOpsTools` has no other. A
prompt is `TOOL_PROMPT` as the system's message and a user's message, to which TRL adds the first telemetry.
"""

import json
import weakref
from collections.abc import Callable
from inspect import Parameter, Signature
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self, get_args, get_type_hints

from orbital_ops_env.client.env import EpisodeOver, OrbitalOpsEnv
from orbital_ops_env.client.prompt import SYSTEM_PROMPT
from orbital_ops_env.client.render import PolicyView, render, view
from orbital_ops_env.commands import AnyCommand, Telecommand, parse
from orbital_ops_env.models import OrbitalOpsAction, OrbitalOpsObservation, Outcome

ROW: Final = ("family", "level", "seed", "episode_seed", "split", "index", "run_id", "member")
"""Columns of a dataset that `reset` takes; it ignores the others."""
ARGUMENTS: Final = {
    "target": "a name of TARGETS",
    "station": "a station among TARGETS",
    "rate_deg_s": "[deg/s]",
    "deadband_deg": "[deg]",
    "duration_s": "[s]",
    "axis": "body axis to turn about, and which way",
    "on_time_s": "[s]",
    "branch": "the one to open",
    "unit": "thruster, 1 to 12",
    "source": "the instrument",
    "subsystem": "the one to look at",
    "kind": "the fault",
}
"""What an argument is, by name; its menu is added."""

_INTRODUCTION, _, _commands = SYSTEM_PROMPT.partition("\nCommands:\n")
_COMMANDS: Final = {
    line.partition(" ")[0]: line for line in _commands.partition("\nExamples:\n")[0].splitlines()
}
TOOL_PROMPT: Final = "\n".join(
    [
        _INTRODUCTION.replace(
            "reply with one command as one-line JSON, nothing else",
            "call exactly one tool, which is one command, and write nothing else; when the mission is over, "
            "stop",
        ),
        _COMMANDS["slew"],
    ]
)
"""The system prompt where commands are tools: the tools' schemas stand for the list and the examples."""


class OrbitalOpsTools:
    """One session on a server, whose telecommands are methods; it flies one episode at a time.

    A telecommand takes its arguments by name and returns the next telemetry text. A wrong, missing or unknown
    argument is an unreadable reply: it costs a turn, and the text says why. For loggers, `outcome` and
    `components` say how the episode stands. The session is closed at the end of a `with` block, or when the
    object is no longer used.

    Args:
        url: Address of the server or Space.

    Raises:
        ConnectionError: The server cannot be reached; the message names its address.
        EpisodeNotStarted: A telecommand before the first `reset`.
        EpisodeOver: A telecommand after the end.
        EpisodeLost: The connection dropped, or the simulation failed, and the episode is gone.
    """

    def __init__(self, url: str) -> None:
        self.outcome: Outcome = "ongoing"
        self.components: dict[str, float] = {}
        self._return, self._lost = 0.0, False
        self._view: PolicyView | None = None
        self._env: Any = OrbitalOpsEnv(url).sync()  # pyright: ignore[reportUnknownMemberType]
        self._unused = weakref.finalize(self, _hang_up, self._env)
        self._unused.atexit = False  # the operating system closes the socket
        self._env.connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unused.detach()
        self._env.close()

    def reset(self, **row: Any) -> str:
        """Start the next episode on the same session.

        Args:
            **row: A row of the dataset; what `OrbitalOpsEnv.reset` takes, but `episode_id`, is taken, the
                rest is ignored, and what is absent has the server's default.

        Returns:
            The brief and the first telemetry.

        Raises:
            RuntimeError: The server refused an option, or has no room for another session.
            ConnectionError: The server cannot be reached.
        """
        self._lost = True  # until the new one has begun, also where the server refuses it
        result = self._env.reset(**{name: row[name] for name in ROW if name in row})
        self._return, self._lost, self._view = 0.0, False, None
        return self._hear(result.observation)

    def get_reward(self) -> float | None:
        """[-] return so far, the sum of the step rewards; None of a lost episode, of which nothing counts."""
        return None if self._lost else self._return

    def _fly(self, command: AnyCommand) -> str:
        if self.outcome != "ongoing":
            raise EpisodeOver(f"the mission is over ({self.outcome}); no further command is possible, stop")
        try:
            result = self._env.step(OrbitalOpsAction(command=command))
        except Exception:
            self._lost = True
            raise
        return self._hear(result.observation)

    def _hear(self, observation: OrbitalOpsObservation) -> str:
        text = render(observation, self._view)
        self._view = view(observation, self._view)
        self.outcome, self.components = observation.outcome, dict(observation.components)
        self._return += observation.reward or 0.0
        return text


def _hang_up(env: Any) -> None:
    """Close a session; in a thread of its own, since garbage may be collected in the session's thread."""
    Thread(target=env.close, daemon=True).start()


# -- tools -------------------------------------------------------------------------------------


def _tool(kind: type[Telecommand]) -> Callable[..., str]:
    """The method for a telecommand, with the name, signature and docstring that become the tool's schema."""

    def tool(self: OrbitalOpsTools, /, **arguments: Any) -> str:
        return self._fly(_command(kind, arguments))  # pyright: ignore[reportPrivateUsage]

    arguments = _arguments(kind)
    itself = Parameter("self", Parameter.POSITIONAL_ONLY)
    tool.__name__ = _name(kind)
    tool.__qualname__ = f"{OrbitalOpsTools.__qualname__}.{tool.__name__}"
    tool.__doc__ = "\n".join([f"{kind.__doc__}", *_documented(kind)])
    tool.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    vars(tool)["__signature__"] = Signature([itself, *arguments], return_annotation=str)
    return tool


def _arguments(kind: type[Telecommand]) -> list[Parameter]:
    hints = get_type_hints(kind)
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.is_required() else field.default,
            annotation=hints[name],
        )
        for name, field in kind.model_fields.items()
        if name != "command"
    ]


def _name(kind: type[Telecommand]) -> str:
    return kind.model_fields["command"].default


def _documented(kind: type[Telecommand]) -> list[str]:
    """Lines of a docstring; `get_json_schema` of transformers reads `(choices: ...)` as an enumeration."""
    schemas = kind.model_json_schema()["properties"]
    lines = [
        f"    {name}: {ARGUMENTS[name]}{_choices(schema.get('enum', ()))}"
        for name, schema in schemas.items()
        if name != "command"
    ]
    return ["", "Args:", *lines] if lines else []


def _choices(menu: list[Any]) -> str:
    short = [int(item) if isinstance(item, float) and item.is_integer() else item for item in menu]
    return f" (choices: {json.dumps(short)})" if short else ""


def _command(kind: type[Telecommand], arguments: dict[str, Any]) -> AnyCommand:
    """The telecommand with these arguments, or `Unreadable` where there is none."""
    given = (("command", _name(kind)), *arguments.items())
    return parse("{" + ",".join(f"{json.dumps(k)}:{json.dumps(v, default=str)}" for k, v in given) + "}")


for _kind in get_args(Telecommand):
    setattr(OrbitalOpsTools, _name(_kind), _tool(_kind))
