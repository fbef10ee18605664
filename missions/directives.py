"""What a mission asks for, one thing after another, and how far each is on a history.

Progress is judged on the true history for the score, and on the estimated one for what the onboard sequencer
reports. All of it is pure.
"""

import math
from typing import Annotated, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from orbital_ops_env.sim.frames import angles_between
from orbital_ops_env.sim.state import Start, Sun, Target, Track, target_directions


class Frozen(BaseModel):
    """A part of a mission."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Sky(Protocol):
    """Where the targets of a mission are; a `MissionSpec` knows."""

    @property
    def start(self) -> Start:
        """The craft at mission time 0, its orbit included."""
        ...

    def target(self, name: str) -> Target:
        """The target of a name."""
        ...


Second = Annotated[float, Field(ge=0, multiple_of=1)]
"""[s] a whole second, as histories are judged."""


class Window(Frozen):
    """A span of mission time."""

    opens_s: Second
    """[s] mission time from which it counts."""
    closes_s: Second
    """[s] mission time until which; a directive must be done by then."""

    @model_validator(mode="after")
    def _opens_before_it_closes(self) -> Self:
        if self.opens_s >= self.closes_s:
            raise ValueError(
                f"a window of {self.opens_s:g} to {self.closes_s:g} s: expected to open before it closes"
            )
        return self


class _Directive(Window):
    dwell_s: float = Field(gt=0)
    """[s] how long the condition must hold without a break."""

    @property
    def limit(self) -> float:
        """The error up to which the condition holds."""
        return 0.0

    def holds(self, track: Track, errors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) rows at which the condition holds, windows apart.

        Args:
            track: A history.
            errors: (n,) its `errors`.
        """
        return errors <= self.limit

    def progress(self, first: float, best: float, dwelt: float) -> float:
        """How far a directive is, in [0, 1]: half for coming nearer, half for staying.

        Args:
            first: Error when the directive became current, any unit.
            best: Least error since, same unit.
            dwelt: [s] longest time that the condition held.
        """
        nearer = 1 - min(best / first, 1.0) if first > 0 else 0.0
        return 0.5 * nearer + 0.5 * min(dwelt / self.dwell_s, 1.0)


class ReduceRate(_Directive):
    """Bring the body rate under a limit."""

    kind: Literal["rate"] = "rate"
    rate_rad_s: float = Field(gt=0)

    @property
    def limit(self) -> float:
        """[rad/s] the error up to which the condition holds."""
        return self.rate_rad_s

    def errors(self, track: Track, sky: Sky) -> NDArray[np.float64]:
        """[rad/s] (n,) body rate."""
        return np.linalg.norm(track.omega_BN_B, axis=1)


FACING_RAD = math.radians(15.0)
"""[rad] panel to Sun up to which a craft charges on purpose; it costs 3 % of the power."""
ASTRAY = 0.01
"""[-] share of the capacity that a craft that does not face the Sun misses at least."""


class Charge(_Directive):
    """Bring the battery to a level, with the panel at the Sun."""

    kind: Literal["charge"] = "charge"
    level: float = Field(gt=0, le=1)
    """[-] share of the battery's capacity."""
    target: Literal["sun"] = "sun"
    turn_rad: float = Field(ge=0)
    """[rad] full turn from the previous directive's attitude; 0 if that is not known beforehand."""

    def errors(self, track: Track, sky: Sky) -> NDArray[np.float64]:
        """[-] (n,) share of the capacity that is missing; never 0 while the panel is not at the Sun."""
        missing = np.maximum(self.level - track.battery, 0.0)
        off = angles_between(track.panel_N, sky.start.orbit.sun_hat_N[None]) > FACING_RAD
        return np.where(off, np.maximum(missing, ASTRAY), missing)


class _Aimed(_Directive):
    target: str
    tolerance_rad: float = Field(gt=0)
    turn_rad: float = Field(ge=0)
    """[rad] full turn from the previous directive's attitude; 0 if that is not known beforehand."""

    @property
    def limit(self) -> float:
        """[rad] the error up to which the condition holds."""
        return self.tolerance_rad

    def errors(self, track: Track, sky: Sky) -> NDArray[np.float64]:
        """[rad] (n,) angle between the pointing axis and the target."""
        target = sky.target(self.target)
        axis = track.panel_N if isinstance(target, Sun) else track.payload_N
        return angles_between(axis, target_directions(target, sky.start.orbit, track.t))


class Point(_Aimed):
    """Point at a target: the panel at the Sun, the payload at all else."""

    kind: Literal["point"] = "point"


class TakeImage(_Aimed):
    """Expose the imager to a target."""

    kind: Literal["image"] = "image"

    def holds(self, track: Track, errors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) rows at which the condition holds, windows apart."""
        return (errors <= self.limit) & track.imaging


class SendData(_Aimed):
    """Send stored data to a ground station while it sees the craft."""

    kind: Literal["downlink"] = "downlink"

    def holds(self, track: Track, errors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) rows at which the condition holds, windows apart."""
        return (errors <= self.limit) & track.sending


Aimed = Point | TakeImage | SendData
"""Directives with a target to point at."""
Directive = Annotated[ReduceRate | Charge | Point | TakeImage | SendData, Field(discriminator="kind")]
