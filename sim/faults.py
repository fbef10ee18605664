"""What can break on the spacecraft, when and how badly; it acts on physics or sensors and is never named."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from orbital_ops_env.commands import Unit

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
    kind: Literal["stuck_closed"] = "stuck_closed"


@dataclass(frozen=True)
class StuckOpen:
    """A thruster fires without a command until its branch is latched closed, isolated or not."""

    onset_s: Onset
    unit: Unit
    kind: Literal["stuck_open"] = "stuck_open"


Fault = GyroBias | TrackerOutage | StuckClosed | StuckOpen


def unit_of(fault: Fault) -> int | None:
    """[-] The thruster that is broken; None for a fault of another subsystem."""
    return fault.unit if isinstance(fault, StuckClosed | StuckOpen) else None
