"""What travels on the wire: action, observation, state and reset options.

Numbers carry their unit as a suffix. Everything in an observation is what instruments and onboard software
know; the score components ride along for loggers and never reach the text that a policy reads.
"""

from typing import Annotated, Any, Literal

from openenv.core.env_server.types import Action, Observation, State
from pydantic import BaseModel, ConfigDict, Field, Strict

from orbital_ops_env.commands import AnyCommand, Text

EndReason = Literal["start", "completed", "window_edge", "limit", "alarm", "duration", "refused"]
Outcome = Literal["ongoing", "succeeded", "failed", "timed_out", "out_of_turns", "ended"]
SurplusAxis = Literal["", "+x", "-x", "+y", "-y", "+z", "-z"]
Seed = Annotated[int, Strict(), Field(ge=0, lt=2**63)]
RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
"""Name of a run; whoever knows it can fly its slots."""


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OrbitalOpsAction(Action):
    """One telecommand, or the unreadable reply that stands for one."""

    command: AnyCommand
    metadata: dict[str, Any] = Field(default_factory=dict, max_length=0)
    """OpenEnv's own; nothing reads it, so it must be empty."""


class DirectiveBrief(_Wire):
    """One thing to achieve, in the order of the brief."""

    kind: Literal["rate", "charge", "point", "image", "downlink"]
    target: str | None = None
    """Where to point, the Sun for a charge directive; None for a rate directive."""
    rate_deg_s: float | None = None
    """Body rate to stay under; None for other directives."""
    battery_pct: float | None = None
    """Charge to reach; None for other directives."""
    tolerance_deg: float | None = None
    """Pointing error to stay under; None for rate and charge directives."""
    dwell_s: float
    opens_s: float
    closes_s: float
    turn_deg: float | None = None
    """Full turn from the directive before; None where nobody can know it."""


class RuleBrief(_Wire):
    """One standing flight rule."""

    kind: Literal["sun_keep_out", "keep_out", "reserve", "battery", "rate_cap", "quiet"]
    hard: bool
    """A hard rule fails the mission, a soft one costs safety."""
    limit: float
    """deg for the keep-outs, g for `reserve`, % for `battery`, deg/s for `rate_cap`, 0 for `quiet`: nothing
    may fire."""
    target: str | None = None
    """What a `keep_out` keeps the payload off."""
    from_s: float = 0.0
    until_s: float | None = None
    """None for a rule that lasts."""


class Brief(_Wire):
    """The mission as given at reset."""

    family: str
    level: int
    turns: int
    clock_s: float
    propellant_g: float
    targets: tuple[str, ...]
    directives: tuple[DirectiveBrief, ...]
    rules: tuple[RuleBrief, ...]


class Telemetry(_Wire):
    """Measured or computed on board at the end of a command."""

    time_s: float
    turns_left: int
    reason: EndReason
    detail: str
    """Which limit or alarm ended a command, why it was refused, or both as `limit: why`; empty otherwise."""
    directive: int
    """Number of the directive the onboard sequencer works on, from 1; directives + 1 when all are done."""
    dwell_s: float
    """Longest dwell of that directive so far, by the onboard estimate."""
    turn_deg: float | None
    """Full turn to the attitude of the next pointing directive's target; None without one."""
    error_deg: float | None
    """Pointing error to that target; None without one."""
    rate_deg_s: float
    """Magnitude of the body rate, gyro less estimated bias."""
    propellant_g: float
    """Usable propellant, counted from valve on-time."""
    tank_residual_g: float
    """Propellant by pressure and temperature less propellant counted."""
    tracker_valid: bool
    innovation_deg: float
    """Star tracker against propagated attitude at its last valid solution."""
    gyro_tracker_deg_s: float | None
    """Gyro rate less star tracker rate, magnitudes; None unless its last two solutions were valid."""
    surplus_deg_s: float
    """Rate change beyond what the fired valves explain, since the command began; magnitude."""
    surplus_axis: SurplusAxis
    """Body axis of most of it; empty while it is small."""
    sun_residual_deg: float | None
    """Sun sensors against the attitude estimate; None in the dark."""
    battery_pct: float
    panel_w: float
    stored_pct: float
    """Data in the storage."""
    on_time_s: float
    """Valve on-time of this command, all thrusters."""
    branch: Literal["A", "B"]
    source: Literal["star_tracker", "sun_sensors", "gyro"]
    check: dict[str, float] = Field(default_factory=dict)
    """Residuals of the subsystem that a `check` looked at."""

    @property
    def ended_by(self) -> str:
        """The limit or alarm that ended the command, one that cut a refusal short included; else `detail`."""
        return self.detail.partition(":")[0]


class OrbitalOpsObservation(Observation):
    """Telemetry after a command, with the brief at reset."""

    telemetry: Telemetry
    brief: Brief | None = None
    """The mission; given at reset only."""
    outcome: Outcome = "ongoing"
    components: dict[str, float] = Field(default_factory=dict)
    """Return so far and its terms, for logs; never part of the text."""


class OrbitalOpsState(State):
    """Where an episode stands."""

    family: str | None = None
    level: int | None = None
    seed: int | None = None
    episode_seed: int | None = None
    spec_hash: str | None = None
    split: str | None = None
    index: int | None = None
    """The task, where one was asked for,"""
    run_id: str | None = None
    member: int | None = None
    """and who flies it in which run, if it is a slot of a curriculum."""
    outcome: Outcome | None = None


class Split(_Wire):
    """A set of numbered tasks."""

    name: str
    type: Literal["train", "validation", "test"]
    num_tasks: int


class TaskEntry(_Wire):
    """A task as it is listed."""

    split: str
    index: int
    family: str
    level: int


class TaskCard(TaskEntry):
    """A task with all that may be known before it is flown."""

    seed: int
    episode_seed: int
    spec_hash: str
    brief: Brief


class ResetOptions(_Wire):
    """What `reset` takes; unknown options are refused.

    A mission is named by `family`, `level` and `seed`, or as a task by `split` and `index`; a slot of a
    curriculum by `split="curriculum"`, `index`, `run_id` and, if the trainer counts them, `member`.
    """

    family: Annotated[str, Field(max_length=64)] = "detumble-v0"
    level: Annotated[int, Strict(), Field(ge=0, le=9)] = 0
    seed: Seed = 0
    episode_seed: Seed | None = None
    """Sensor noise, tip-off details and disturbances; the task's, or the same as `seed`, when absent."""
    split: Annotated[str, Field(max_length=64)] | None = None
    index: Annotated[int, Strict(), Field(gt=-(2**63), lt=2**63)] | None = None
    run_id: RunId | None = None
    member: Annotated[int, Strict(), Field(ge=0)] | None = None
    """Of the group that flies the slot, each of whom flies it once; the next one when absent."""
    episode_id: Annotated[Text, Field(max_length=255)] | None = None
    """Echoed in the state; drawn when absent."""


def reset_options(options: dict[str, Any]) -> ResetOptions:
    """Validated reset options; what is None counts as absent."""
    return ResetOptions.model_validate({k: v for k, v in options.items() if v is not None})


# -- curricula ---------------------------------------------------------------------------------


class RunOptions(_Wire):
    """A curriculum to begin."""

    run_id: RunId
    preset: str = "eva"
    """`uniform`, `ladder030`, `eva_literal` or `eva`,"""
    changes: dict[str, Any] = Field(default_factory=dict)
    """with other numbers than the preset has, by name; `members` is the trainer's group size."""
    families: tuple[str, ...] = (
        "detumble-v0",
        "retarget-v0",
        "coast-v0",
        "hold-v0",
        "recovery-v0",
        "shift-v0",
    )
    seed: Seed = 0


class HeldOut(_Wire):
    """How a model does on missions that are not trained on."""

    success: float = Field(ge=0, le=1)
    """[-] share of them that succeed,"""
    episodes: int = Field(ge=1)
    """of so many,"""
    split: str = Field(default="val", max_length=64)
    """of this split."""


class RunStatus(_Wire):
    """Where a curriculum stands."""

    run_id: str
    preset: dict[str, Any]
    families: tuple[str, ...]
    seed: int
    paused: bool
    generation: int | None
    """The last one; None for a run without generations."""
    waiting: bool
    """Whether the last generation is over: the next one is being made, or will be after those of others."""
    making: bool
    """Whether the next generation is being made just now."""
    slots: int
    """[-] slots that are bound."""
    repeated: int
    """[-] slots that were bound to a mission for another time, since there was no next generation yet."""
    outcomes: int
    """[-] episodes that are over."""
    abandoned: int
    """[-] outcomes of episodes that were left, or not stepped any more."""
    released: int
    """[-] episodes that ended with the server or the simulation, which count for nobody."""
    again: int
    """[-] episodes that were flown anew: of members that had an outcome, which stays, or were flying one."""
    flying: int
    """[-] episodes that are begun and not over."""
    resets: int
    """[-] resets of slots of all runs since the server began."""
    resets_while_making: int
    """[-] resets of slots of all runs while a generation was made."""
    slow_resets: int
    """[-] resets of slots of all runs for which the mission took longer than five seconds to be told."""
    alarms: tuple[str, ...]
    """What somebody should look at."""
