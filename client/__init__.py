"""What a trainer installs: the client, its types, and the text that a policy reads."""

from orbital_ops_env.client.env import (
    EpisodeError,
    EpisodeLost,
    EpisodeNotStarted,
    EpisodeOver,
    OrbitalOpsEnv,
)
from orbital_ops_env.client.formats import FORMATS
from orbital_ops_env.client.prompt import SYSTEM_PROMPT
from orbital_ops_env.client.render import PolicyView, parse, render, view
from orbital_ops_env.client.runs import Runs
from orbital_ops_env.client.tasks import Tasks
from orbital_ops_env.models import (
    HeldOut,
    OrbitalOpsAction,
    OrbitalOpsObservation,
    OrbitalOpsState,
    RunOptions,
    RunStatus,
    Split,
    TaskCard,
    TaskEntry,
)

__all__ = [
    "FORMATS",
    "SYSTEM_PROMPT",
    "EpisodeError",
    "EpisodeLost",
    "EpisodeNotStarted",
    "EpisodeOver",
    "HeldOut",
    "OrbitalOpsAction",
    "OrbitalOpsEnv",
    "OrbitalOpsObservation",
    "OrbitalOpsState",
    "PolicyView",
    "RunOptions",
    "RunStatus",
    "Runs",
    "Split",
    "TaskCard",
    "TaskEntry",
    "Tasks",
    "parse",
    "render",
    "view",
]
