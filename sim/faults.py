"""What can break on the spacecraft, when and how badly; it acts on physics or sensors and is never named."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from orbital_ops_env.commands import Unit

BRANCH_UNITS: Final = 6
"""[-] thrusters of a branch."""
Onset = Annotated[float, Field(ge=0, multiple_of=1)]
"""[s] mission time from which a fault acts, a whole second."""


@dataclass(frozen=True)
class GyroBias:
    """The gyro measures a rate that is not there; a calibration against the star tracker takes it out."""

    onset_s: Onset
    bias_rad_s: tuple[float, float, float]
    """[rad/s] (3,) in B."""
    kind: Literal["gyro_bias"] = "gyro_bias"


@dataclass(frozen=True)
class TrackerOutage:
    """The star tracker sends no solution any more; gyro and Sun sensors are left."""

    onset_s: Onset
    kind: Literal["star_tracker"] = "star_tracker"


@dataclass(frozen=True)
class StuckClosed:
    """A thruster that is commanded gives neither thrust nor gas; the other branch has full authority."""

    onset_s: Onset
    unit: Unit
    """What breaks: its mirror if the other branch is selected at the onset, so that nobody can dodge it."""
    kind: Literal["stuck_closed"] = "stuck_closed"


@dataclass(frozen=True)
class StuckOpen:
    """A thruster fires without a command until its branch is latched closed, isolated or not."""

    onset_s: Onset
    unit: Unit
    """As that of `StuckClosed`."""
    kind: Literal["stuck_open"] = "stuck_open"


@dataclass(frozen=True)
class WeakThruster:
    """A half-blocked thruster gives a share of its thrust and takes the same share of its gas."""

    onset_s: Onset
    unit: Unit
    """As that of `StuckClosed`."""
    share: Annotated[float, Field(gt=0, lt=1)]
    """[-] of thrust and flow that is left."""
    kind: Literal["weak_thruster"] = "weak_thruster"


@dataclass(frozen=True)
class GyroDrift:
    """The gyro's bias grows; a calibration takes out what there is of it by then."""

    onset_s: Onset
    drift_rad_s2: tuple[float, float, float]
    """[rad/s^2] (3,) in B."""
    kind: Literal["gyro_drift"] = "gyro_drift"


@dataclass(frozen=True)
class Leak:
    """The tank loses gas through a hole, whose jet turns the craft; nothing on board can close it.

    The flow through a small hole into the vacuum is choked, so flow and torque are in proportion to the
    pressure, and that to the gas left.
    """

    onset_s: Onset
    flow_kg_s: Annotated[float, Field(gt=0)]
    """[kg/s] as it begins."""
    torque_n_m: tuple[float, float, float]
    """[N m] (3,) in B, as it begins."""
    kind: Literal["leak"] = "leak"


@dataclass(frozen=True)
class PanelLoss:
    """A part of the solar panel gives no more power."""

    onset_s: Onset
    share: Annotated[float, Field(ge=0, lt=1)]
    """[-] of its power that is left."""
    kind: Literal["panel"] = "panel"


ThrusterFault = StuckClosed | StuckOpen | WeakThruster
Fault = GyroBias | GyroDrift | TrackerOutage | ThrusterFault | Leak | PanelLoss


def on_branch(fault: ThrusterFault, branch: int) -> ThrusterFault:
    """A fault as it strikes while a branch is selected, 0 for A, 1 for B."""
    return replace(fault, unit=(fault.unit - 1) % BRANCH_UNITS + BRANCH_UNITS * branch + 1)


def unit_of(fault: Fault) -> int | None:
    """[-] The thruster that is broken; None for a fault of another subsystem."""
    return fault.unit if isinstance(fault, ThrusterFault) else None
