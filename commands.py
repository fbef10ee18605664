"""Telecommand dictionary: everything a flight controller may order, and the strict parser of a reply.

Arguments come from closed menus, so that a small model need not do arithmetic. A reply is either
exactly one telecommand in JSON or it is `Unreadable`; nothing is guessed, repaired or stripped.
"""

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

DETUMBLE_RATES_DEG_S: Final = (0.05, 0.1, 0.2, 0.5)
SLEW_RATES_DEG_S: Final = (0.2, 0.5, 1.0, 2.0)
DEADBANDS_DEG: Final = (0.2, 0.5, 1.0, 3.0)
DURATIONS_S: Final = (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0)
CALIBRATION_DURATIONS_S: Final = (60.0, 120.0)
SAFE_MODE_DURATIONS_S: Final = (300.0, 600.0, 1200.0)
ON_TIMES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

SWITCH_S: Final = 5.0
"""[s] what a configuration command takes."""
CHECK_S: Final = 30.0
"""[s] what a subsystem check takes."""
REFUSED_S: Final = 10.0
"""[s] what a refused or an unreadable command costs."""
DETUMBLE_LIMIT_S: Final = 600.0
"""[s] longest detumble."""
TEXT_LIMIT: Final = 200
"""[-] longest reply that is read, and longest text kept of one that is not a telecommand, characters."""
NAME_LIMIT: Final = 24
"""[-] longest name of a target, characters."""
CUT: Final = "…"
"""Ends a text of which no more is kept."""

FaultKind = Literal[
    "gyro_bias",
    "gyro_drift",
    "star_tracker",
    "stuck_closed",
    "stuck_open",
    "weak_thruster",
    "leak",
    "panel",
]
THRUSTER_FAULTS: Final = ("stuck_closed", "stuck_open", "weak_thruster")
Subsystem = Literal["gyro", "star_tracker", "thrusters", "tank", "power"]
AttitudeSource = Literal["star_tracker", "sun_sensors", "gyro"]
Branch = Literal["A", "B"]


@dataclass(frozen=True)
class _Menu:
    """Accepts the listed numbers only, and shows them as an enumeration in the JSON schema."""

    values: tuple[float, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._member, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self.values)}

    def _member(self, value: float) -> float:
        if value not in self.values:
            menu = "|".join(f"{v:g}" for v in self.values)
            raise PydanticCustomError("menu", "expected one of {menu}", {"menu": menu})
        return value


DetumbleRate = Annotated[float, Strict(), _Menu(DETUMBLE_RATES_DEG_S)]
SlewRate = Annotated[float, Strict(), _Menu(SLEW_RATES_DEG_S)]
Deadband = Annotated[float, Strict(), _Menu(DEADBANDS_DEG)]
Duration = Annotated[float, Strict(), _Menu(DURATIONS_S)]
CalibrationDuration = Annotated[float, Strict(), _Menu(CALIBRATION_DURATIONS_S)]
SafeModeDuration = Annotated[float, Strict(), _Menu(SAFE_MODE_DURATIONS_S)]
OnTime = Annotated[float, Strict(), _Menu(ON_TIMES_S)]


def printable(text: str) -> str:
    """At most `TEXT_LIMIT` characters of a text, with a space for each control character or surrogate."""
    return _blanked(text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - len(CUT)] + CUT)


def _blanked(text: Any) -> Any:
    return "".join(c if c.isprintable() else " " for c in text) if isinstance(text, str) else text


Text = Annotated[str, BeforeValidator(_blanked)]
"""Free text, with a space for each control character or surrogate."""
Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT, pattern=r"^[A-Za-z0-9_-]+$")]
Unit = Annotated[int, Strict(), Field(ge=1, le=12)]


class _Telecommand(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Detumble(_Telecommand):
    """Null the body rates; ends when the estimated rate stays under `rate_deg_s` for 10 s."""

    command: Literal["detumble"] = "detumble"
    rate_deg_s: DetumbleRate


class Slew(_Telecommand):
    """Turn to a target at a limited rate; ends when settled, or after twice the nominal time."""

    command: Literal["slew"] = "slew"
    target: Name
    rate_deg_s: SlewRate


class Hold(_Telecommand):
    """Hold a target within a deadband."""

    command: Literal["hold"] = "hold"
    target: Name
    deadband_deg: Deadband
    duration_s: Duration


class Coast(_Telecommand):
    """Drift with the valves inhibited."""

    command: Literal["coast"] = "coast"
    duration_s: Duration


class Fire(_Telecommand):
    """Fire one torque channel of the selected branch, open loop."""

    command: Literal["fire"] = "fire"
    axis: Literal["+x", "-x", "+y", "-y", "+z", "-z"]
    on_time_s: OnTime


class SelectBranch(_Telecommand):
    """Open one thruster branch's latch valve and close the other's."""

    command: Literal["select_branch"] = "select_branch"
    branch: Branch


class IsolateThruster(_Telecommand):
    """Take one thruster out of the allocation; a stuck-open valve goes on firing."""

    command: Literal["isolate_thruster"] = "isolate_thruster"
    unit: Unit


class CalibrateGyro(_Telecommand):
    """Estimate the gyro bias against the star tracker."""

    command: Literal["calibrate_gyro"] = "calibrate_gyro"
    duration_s: CalibrationDuration


class SelectAttitudeSource(_Telecommand):
    """Choose what corrects the gyro-propagated attitude."""

    command: Literal["select_attitude_source"] = "select_attitude_source"
    source: AttitudeSource


class SafeMode(_Telecommand):
    """Spin slowly about the Sun line on the coarse sensors."""

    command: Literal["safe_mode"] = "safe_mode"
    duration_s: SafeModeDuration


class Check(_Telecommand):
    """Look at one subsystem's residuals in detail."""

    command: Literal["check"] = "check"
    subsystem: Subsystem


class ReportFault(_Telecommand):
    """State a diagnosis; `unit` is given for thruster faults and absent otherwise."""

    command: Literal["report_fault"] = "report_fault"
    kind: FaultKind
    unit: Unit | None = None


class Image(_Telecommand):
    """Take an image of a target."""

    command: Literal["image"] = "image"
    target: Name


class Downlink(_Telecommand):
    """Send stored data to a ground station in view."""

    command: Literal["downlink"] = "downlink"
    station: Name


class EndMission(_Telecommand):
    """Give up; the outcome is `ended`."""

    command: Literal["end_mission"] = "end_mission"


class Unreadable(_Telecommand):
    """What a reply becomes that is not exactly one telecommand; never a telecommand of its own."""

    command: Literal["unreadable"] = "unreadable"
    text: Annotated[Text, Field(max_length=TEXT_LIMIT)] = ""
    """The start of the reply, for the log; telemetry has `complaint(text)`, which repeats nothing of it."""


Telecommand = (
    Detumble
    | Slew
    | Hold
    | Coast
    | Fire
    | SelectBranch
    | IsolateThruster
    | CalibrateGyro
    | SelectAttitudeSource
    | SafeMode
    | Check
    | ReportFault
    | Image
    | Downlink
    | EndMission
)
"""What a flight controller may order."""

AnyCommand = Annotated[Telecommand | Unreadable, Field(discriminator="command")]
"""What travels on the wire: a telecommand, or the unreadable reply in its place."""

NAMES: Final = tuple(kind.model_fields["command"].default for kind in get_args(Telecommand))
ARGUMENTS: Final = frozenset(name for kind in get_args(Telecommand) for name in kind.model_fields)
_TELECOMMAND: Final[TypeAdapter[Telecommand]] = TypeAdapter(
    Annotated[Telecommand, Field(discriminator="command")]
)


def parse(reply: str) -> Telecommand | Unreadable:
    """The telecommand that the whole reply is, or `Unreadable` with the start of the reply."""
    try:
        return _telecommand(reply)
    except ValueError:
        return Unreadable(text=printable(reply))


def complaint(text: str) -> str:
    """Why the text of an `Unreadable` is not a telecommand.

    The words are ours: nothing of the text is repeated but the names of telecommands and arguments.
    """
    try:
        _telecommand(text)
    except ValidationError as error:
        return describe(error)
    except ValueError as error:
        return str(error)
    return "a control character in it"  # which is a space by now


def encode(command: BaseModel) -> str:
    """The one-line JSON that `parse` reads back."""
    fields = command.model_dump(exclude_none=True)
    short = {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in fields.items()}
    return json.dumps(short, separators=(",", ":"))


def _telecommand(reply: str) -> Telecommand:
    return _TELECOMMAND.validate_python(_fields(reply))


def _fields(reply: str) -> Any:
    if len(reply) > TEXT_LIMIT or reply[TEXT_LIMIT - len(CUT) :] == CUT:
        raise ValueError(f"longer than {TEXT_LIMIT} characters")
    if reply.startswith("```"):
        raise ValueError("no Markdown fence, only the JSON object")
    if not (reply.startswith("{") and reply.endswith("}")):
        raise ValueError("only one JSON object, nothing before or after it")
    try:
        return json.loads(reply, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not one JSON object: {error}") from error


def describe(error: ValidationError) -> str:
    """The first complaint of a validation error, in one short line that repeats no free text."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "union_tag_not_found":
        return 'no "command" in it'
    if first["type"] == "union_tag_invalid":
        given = str(first.get("ctx", {}).get("tag", ""))
        return f"no such command{did_you_mean(given, NAMES)}"
    if not first["loc"]:
        return first["msg"].removeprefix("Value error, ")
    field = next(each for each in reversed(first["loc"]) if isinstance(each, str))
    if first["type"] == "extra_forbidden" and field not in ARGUMENTS:
        field = "unknown argument"
    return f"{field}: {first['msg']}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the known one nearest to it, if there is one."""
    near = difflib.get_close_matches(given[:TEXT_LIMIT], known, n=1)
    return f", did you mean {near[0]}?" if near else "."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key is given twice")
    return fields


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a finite number")


def spin_axis(axis: str) -> tuple[int, int]:
    """(axis index 0..2, sign +1 or -1) of a `Fire.axis`."""
    return "xyz".index(axis[1]), 1 if axis[0] == "+" else -1
