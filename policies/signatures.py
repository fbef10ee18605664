"""What one view of the telemetry proves about a fault.

Each fault has a signature in two channels or more; a finding needs all of them.

    stuck open     a valve draws current without a command; the rate changes along the thruster's torque
    stuck closed   the rate does not change as commanded; the tank keeps the gas that was counted
    weak thruster  the same, yet the turn comes to its end, or a test pulse is missing in part only
    gyro bias      the star tracker contradicts the gyro, in attitude (`inn`) and in rate (`dgyro`)
    gyro drift     the same, but little at first, and again after a calibration
    leak           the tank loses gas that neither valves nor an unexplained rate account for
    panel          at the Sun, the panel gives less than it should
    star tracker   blind at rest although neither Sun nor Earth is in its way
"""

from dataclasses import dataclass
from typing import Final

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import THRUSTER_FAULTS, FaultKind, ReportFault
from orbital_ops_env.models import Telemetry

BIASED_INN_DEG: Final = 0.1
"""[deg] innovation that stands with a gyro that is 0.06 deg/s off; 0.06 at most in health."""
BIASED_DGYRO_DEG_S: Final = 0.03
"""[deg/s] sizes of gyro and tracker rate apart, no more: a bias across a rate shows little of itself."""
GROWN_INN_DEG, GROWN_DGYRO_DEG_S = 0.4, 0.25
"""[deg], [deg/s] that a bias which is there at once exceeds, and one that grows does not when first seen."""
SLOW_DEG_S: Final = 0.9
"""[deg/s] under which a star tracker sees, if nothing is in its way,"""
SUN_DEG, NADIR_DEG = 37.0, 87.0
"""[deg] which is the Sun or the Earth nearer than this to its boresight."""
FRESH_S: Final = 5.0
"""[s] age of a star tracker solution that is no outage."""
SHARP_DEG_S: Final = 0.25
"""[deg/s] unexplained rate change that tank gauge and valve count can be weighed against."""
GAS_G_S_DEG: Final = 0.29
"""[g/(deg/s)] gas that a thruster takes for a rate change, mean of the axes."""
PULSE_S: Final = 0.5
"""[s] a test pulse,"""
PULSE_DEG_S: Final = {"x": 0.054, "y": 0.061, "z": 0.086}
"""[deg/s] by axis: what it gives,"""
MISSING_DEG_S: Final = 0.035
"""[deg/s] and what is missing of it that is no noise on any axis,"""
SUSPECT_DEG_S: Final = 0.02
"""[deg/s] or on the axis that was unexplained before;"""
WHOLE: Final = 0.7
"""[-] the share of a pulse that is missing, above which nothing came."""
UNITS_A: Final = 6
"""Thrusters of branch A; the others are of branch B."""
DRIFTED_DEG: Final = 6.0
"""[deg] of Sun sensors against the estimate: the gyro has carried it away."""
STEADY_DEG_S: Final = 0.3
"""[deg/s] above which the coupling of the axes looks like a missing pulse."""
LEAK_G: Final = 0.08
"""[g] that the tank lacks against the count, above which it leaks; four sigma of the gauge,"""
LEAK_SHARE: Final = 0.6
"""[-] unless the unexplained rate tells of a thruster that took that share of it."""
PANEL_W: Final = 45.7
"""[W] of a healthy panel in the Sun,"""
PANEL_SHARE: Final = 0.96
"""[-] and the share of it under which a part is lost,"""
PANEL_DEG: Final = 5.0
"""[deg] within so much of the Sun."""


@dataclass(frozen=True)
class Finding:
    """A diagnosis."""

    kind: FaultKind
    unit: int | None = None

    @property
    def part(self) -> str:
        """What is broken: one of the thrusters, the gyro, or what the kind says."""
        if self.kind in THRUSTER_FAULTS:
            return "thruster"
        return "gyro" if self.kind in ("gyro_bias", "gyro_drift") else self.kind

    @property
    def report(self) -> ReportFault:
        """It, as a telecommand."""
        return ReportFault(kind=self.kind, unit=self.unit)


def valve_open(now: Telemetry) -> Finding | None:
    """A valve that draws current without a command."""
    return Finding("stuck_open", unit_of(now, along=True)) if now.ended_by == "valve_current" else None


def gyro_off(now: Telemetry) -> Finding | None:
    """A gyro that the star tracker contradicts, in attitude and in rate: much at once, or little so far."""
    rate_deg_s = abs(now.gyro_tracker_deg_s or 0.0)
    contradicted = now.innovation_deg > BIASED_INN_DEG and rate_deg_s > BIASED_DGYRO_DEG_S
    in_charge = now.tracker_valid and now.source == "star_tracker"
    if now.ended_by != "innovation" and not (in_charge and contradicted):
        return None
    growing = now.innovation_deg < GROWN_INN_DEG and rate_deg_s < GROWN_DGYRO_DEG_S
    return Finding("gyro_drift" if growing else "gyro_bias")


def tracker_missed(now: Telemetry) -> Finding | None:
    """A star tracker that the onboard software misses, and that agreed with the Sun sensors to the last."""
    missed = now.ended_by == "attitude_source" or "no attitude fix" in now.detail
    return Finding("star_tracker") if missed and (now.sun_residual_deg or 0.0) < DRIFTED_DEG else None


def tracker_clear(now: Telemetry) -> Finding | None:
    """A star tracker check: silent with nothing in its way."""
    blocked = now.check.get("sun", 180.0) < SUN_DEG or now.check["nadir"] < NADIR_DEG
    silent = now.check["age"] >= FRESH_S and now.rate_deg_s <= SLOW_DEG_S
    return Finding("star_tracker") if silent and not blocked else None


def panel_dim(view: PolicyView) -> Finding | None:
    """A panel that, at the Sun, gives less than it should."""
    now, number = view.telemetry, view.telemetry.directive
    at_sun = view.brief.directives[number - 1 : number]
    aimed = bool(at_sun) and at_sun[0].target == "sun" and (now.error_deg or 0.0) < PANEL_DEG
    dim = aimed and now.sun_residual_deg is not None and now.panel_w < PANEL_SHARE * PANEL_W
    return Finding("panel") if dim else None


def leaking(now: Telemetry, kept_g: float) -> Finding | None:
    """A tank that lacks more than valves and an unexplained rate can have taken.

    Args:
        now: The telemetry.
        kept_g: [g] in the tank beyond the count, since it was healthy.
    """
    lacks = kept_g < -LEAK_G and GAS_G_S_DEG * now.surplus_deg_s < -LEAK_SHARE * kept_g
    return Finding("leak") if lacks else None


def weighed(now: Telemetry, kept_g: float) -> Finding | None:
    """An unexplained rate change and the tank: a thruster that gave too little, or too much.

    A turn that settles in spite of it was turned by a weak thruster; a pulse of which all is missing was not.
    """
    expected = GAS_G_S_DEG * now.surplus_deg_s
    if now.surplus_deg_s < SHARP_DEG_S or not now.surplus_axis or abs(kept_g) <= 0.5 * expected:
        return None
    if kept_g < 0:
        return Finding("stuck_open", unit_of(now, along=True))
    commanded = PULSE_DEG_S[now.surplus_axis[1]] * now.on_time_s / PULSE_S
    settled = now.reason == "completed" and now.rate_deg_s < STEADY_DEG_S
    settled = settled and now.surplus_deg_s < WHOLE * commanded
    return Finding("weak_thruster" if settled else "stuck_closed", unit_of(now, along=False))


def pulse_missing(now: Telemetry, suspect: str) -> Finding | None:
    """A thruster check: a test pulse that is missing, whole or in part.

    Args:
        now: The telemetry.
        suspect: Sign and axis of an unexplained rate change before; empty without one.
    """
    axis = max("xyz", key=lambda a: abs(now.check[f"dw_{a}"]))
    missing = now.check[f"dw_{axis}"]
    expected = suspect == ("-" if missing < 0 else "+") + axis
    if abs(missing) < (SUSPECT_DEG_S if expected else MISSING_DEG_S) or now.rate_deg_s > STEADY_DEG_S:
        return None
    channel = 2 * "xyz".index(axis) + (0 if missing < 0 else 1)
    kind = "stuck_closed" if abs(missing) > WHOLE * PULSE_DEG_S[axis] else "weak_thruster"
    return Finding(kind, 1 + channel + UNITS_A * (now.branch == "B"))


def unit_of(now: Telemetry, *, along: bool) -> int | None:
    """The thruster of the selected branch whose torque is along the unexplained change, or against it."""
    if not now.surplus_axis:
        return None
    positive = (now.surplus_axis[0] == "+") is along
    return 1 + 2 * "xyz".index(now.surplus_axis[1]) + (0 if positive else 1) + UNITS_A * (now.branch == "B")
