"""Standing flight rules: what is forbidden, always or for a time; judged on the true history.

A hard rule fails the mission, a soft one costs `safety`.
"""

from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from orbital_ops_env.missions.directives import Frozen, Second, Sky, Window
from orbital_ops_env.sim.frames import angles_between
from orbital_ops_env.sim.state import Track, target_directions

FIRED_KG = 3e-6
"""[kg] of gas in a second that tell of a thruster: the shortest pulse takes 4e-6, and valves that closed at
the end of the second before may still owe 2e-6."""


class _Rule(Frozen):
    from_s: Second = 0.0
    """[s] mission time from which it is in force,"""
    until_s: Second | None = None
    """[s] and until which; None for a rule that lasts."""

    @model_validator(mode="after")
    def _begins_before_it_ends(self) -> Self:
        if self.until_s is not None and self.from_s >= self.until_s:
            raise ValueError(
                f"a rule from {self.from_s:g} to {self.until_s:g} s: expected to begin before it ends"
            )
        return self

    def in_force(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) whether it counts at mission times [s] (n,)."""
        until = np.inf if self.until_s is None else self.until_s
        return (t >= self.from_s) & (t <= until)


class SunKeepOut(_Rule):
    """Hard: the payload never looks near the Sun."""

    kind: Literal["sun_keep_out"] = "sun_keep_out"
    hard: Literal[True] = True
    angle_rad: float = Field(ge=0)

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        near = angles_between(track.payload_N, sky.start.orbit.sun_hat_N[None]) < self.angle_rad
        return near & self.in_force(track.t)


class KeepOut(_Rule):
    """Hard: the payload does not look near a target."""

    kind: Literal["keep_out"] = "keep_out"
    hard: Literal[True] = True
    target: str
    angle_rad: float = Field(ge=0)

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        directions = target_directions(sky.target(self.target), sky.start.orbit, track.t)
        return (angles_between(track.payload_N, directions) < self.angle_rad) & self.in_force(track.t)


class Reserve(_Rule):
    """Hard: usable propellant does not fall under a reserve."""

    kind: Literal["reserve"] = "reserve"
    hard: Literal[True] = True
    propellant_kg: float = Field(ge=0)

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        return (track.propellant_kg < self.propellant_kg) & self.in_force(track.t)


class BatteryFloor(_Rule):
    """Hard: the battery does not fall under a level."""

    kind: Literal["battery"] = "battery"
    hard: Literal[True] = True
    level: float = Field(ge=0, lt=1)
    """[-] share of the capacity."""

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        return (track.battery < self.level) & self.in_force(track.t)


class RateCap(_Rule):
    """Soft: the body rate stays under a cap, from when the craft has been stable."""

    kind: Literal["rate_cap"] = "rate_cap"
    hard: Literal[False] = False
    rate_rad_s: float = Field(gt=0)

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        return (np.linalg.norm(track.omega_BN_B, axis=1) > self.rate_rad_s) & self.in_force(track.t)


class QuietWindow(Window):
    """Hard: no thruster fires in a window, commanded or not."""

    kind: Literal["quiet"] = "quiet"
    hard: Literal[True] = True

    def broken(self, track: Track, sky: Sky) -> NDArray[np.bool_]:
        """(n,) rows at which the rule is broken."""
        fired = np.diff(track.propellant_kg, prepend=track.propellant_kg[0]) < -FIRED_KG
        return fired & self.in_force(track.t)

    def in_force(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) whether it counts at mission times [s] (n,): what was fired before it opens is known then."""
        return (t > self.opens_s) & (t <= self.closes_s)


FlightRule = Annotated[
    SunKeepOut | KeepOut | Reserve | BatteryFloor | RateCap | QuietWindow, Field(discriminator="kind")
]
