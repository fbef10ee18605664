"""Truth becomes telemetry here, and nowhere else.

Only instruments and onboard software speak: `observe` reads `Snapshot.sensed` and the estimated track, never
the true one.
"""

import math
from typing import Final, get_args

import numpy as np

from orbital_ops_env.commands import AnyCommand, Check
from orbital_ops_env.missions.directives import Aimed, Charge, Directive, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec, Progress
from orbital_ops_env.missions.rules import (
    BatteryFloor,
    FlightRule,
    KeepOut,
    QuietWindow,
    RateCap,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.models import Brief, DirectiveBrief, RuleBrief, SurplusAxis, Telemetry
from orbital_ops_env.sim.constants import NITROGEN_GAS_CONSTANT
from orbital_ops_env.sim.frames import (
    Vec3,
    angle_between,
    dcm_from_mrp,
    relative,
    rotation_angle,
    unit,
)
from orbital_ops_env.sim.state import (
    PANEL_B,
    TRACKER_B,
    Sensed,
    Snapshot,
    Tank,
    pointing_axis,
    target_directions,
    target_frame,
)

PASCAL_PER_BAR = 1e5
NOTABLE_DEG_S = 0.08
"""[deg/s] unexplained rate change on an axis above which telemetry names the axis; 0.06 at most in health."""
SURPLUS_AXES: Final[tuple[SurplusAxis, ...]] = get_args(SurplusAxis)[1:]


def observe(
    spec: MissionSpec,
    snapshot: Snapshot,
    onboard: Progress,
    turns_used: int,
    command: AnyCommand | None,
) -> Telemetry:
    """The telemetry of a snapshot.

    Args:
        spec: The mission.
        snapshot: The end of a command.
        onboard: Progress as the onboard sequencer judges it, on the estimated track.
        turns_used: Commands sent so far.
        command: The command that ended; None at reset.
    """
    sensed = snapshot.sensed
    turn_deg, error_deg = _aim(spec, snapshot, onboard)
    gyro_rate = float(np.linalg.norm(sensed.gyro_rad_s))
    lit = bool(np.any(sensed.sun_B))
    expected_sun_B = dcm_from_mrp(sensed.sigma_BN) @ spec.start.orbit.sun_hat_N
    on_time = snapshot.estimate.on_time_s
    return Telemetry(
        time_s=snapshot.t,
        turns_left=spec.turns - turns_used,
        reason=snapshot.reason,
        detail=snapshot.detail,
        directive=onboard.done + 1,
        dwell_s=onboard.dwelt,
        turn_deg=turn_deg,
        error_deg=error_deg,
        rate_deg_s=math.degrees(gyro_rate),
        propellant_g=1e3 * sensed.propellant_kg,
        tank_residual_g=1e3 * (_gauged_kg(sensed) - sensed.propellant_kg),
        tracker_valid=sensed.tracker_valid,
        innovation_deg=math.degrees(sensed.innovation_rad),
        gyro_tracker_deg_s=math.degrees(gyro_rate - sensed.tracker_rate_rad_s)
        if sensed.tracker_rate_rad_s is not None
        else None,
        surplus_deg_s=math.degrees(float(np.linalg.norm(sensed.surplus_rate_rad_s))),
        surplus_axis=_surplus_axis(np.degrees(sensed.surplus_rate_rad_s)),
        sun_residual_deg=math.degrees(angle_between(expected_sun_B, sensed.sun_B)) if lit else None,
        battery_pct=100 * sensed.battery_fraction,
        panel_w=sensed.panel_w,
        stored_pct=100 * sensed.stored,
        on_time_s=float(on_time[-1] - on_time[0]),
        branch=sensed.branch,
        source=sensed.source,
        check=_check(command, snapshot, nadir_N=-unit(spec.start.orbit.state(snapshot.t)[0])),
    )


def _surplus_axis(surplus_deg_s: np.ndarray) -> SurplusAxis:
    """The body axis of most unexplained rate change; none while it is small."""
    axis = int(np.argmax(np.abs(surplus_deg_s)))
    most = float(surplus_deg_s[axis])
    if abs(most) < NOTABLE_DEG_S:
        return ""
    return SURPLUS_AXES[2 * axis + (most < 0)]


def _aim(spec: MissionSpec, snapshot: Snapshot, onboard: Progress) -> tuple[float | None, float | None]:
    """[deg] Full turn and pointing error to the target of the next directive that has one, as estimated."""
    ahead = (d for d in spec.directives[onboard.done :] if not isinstance(d, ReduceRate))
    directive = next(ahead, None)
    if directive is None:
        return None, None
    target, orbit = spec.target(directive.target), spec.start.orbit
    attitude = dcm_from_mrp(snapshot.sensed.sigma_BN)
    frame = target_frame(target, orbit, snapshot.t)
    axis = attitude[int(np.argmax(pointing_axis(target)))]
    direction = target_directions(target, orbit, np.array([snapshot.t]))[0]
    turn = rotation_angle(relative(attitude, frame))
    return math.degrees(turn), math.degrees(angle_between(axis, direction))


def _gauged_kg(sensed: Sensed) -> float:
    """[kg] Usable propellant by pressure and temperature."""
    tank = Tank()
    gas = sensed.pressure_pa * tank.volume_m3 / (NITROGEN_GAS_CONSTANT * sensed.temperature_k)
    return gas - tank.unusable_kg


def _check(command: AnyCommand | None, snapshot: Snapshot, nadir_N: Vec3) -> dict[str, float]:
    """What a `check` adds to the telemetry, at most three numbers."""
    if not isinstance(command, Check) or snapshot.reason == "refused":
        return {}
    sensed = snapshot.sensed
    match command.subsystem:
        case "gyro":
            return _axes("w", np.degrees(sensed.gyro_rad_s))
        case "star_tracker":
            nadir = angle_between(dcm_from_mrp(sensed.sigma_BN)[int(np.argmax(TRACKER_B))], nadir_N)
            sun = _sun("sun", TRACKER_B, sensed)
            return {"age": sensed.tracker_age_s, **sun, "nadir": math.degrees(nadir)}
        case "thrusters":
            return _axes("dw", np.degrees(sensed.surplus_rate_rad_s))
        case "tank":
            return {"bar": sensed.pressure_pa / PASCAL_PER_BAR, "kelvin": sensed.temperature_k}
        case "power":
            return _sun("panel_sun", PANEL_B, sensed)


def _sun(name: str, axis_B: np.ndarray, sensed: Sensed) -> dict[str, float]:
    """[deg] An axis to the Sun by the Sun sensors; nothing in the dark."""
    return {name: math.degrees(angle_between(axis_B, sensed.sun_B))} if np.any(sensed.sun_B) else {}


def _axes(name: str, vector: np.ndarray) -> dict[str, float]:
    return {f"{name}_{axis}": float(value) for axis, value in zip("xyz", vector, strict=True)}


def brief(spec: MissionSpec) -> Brief:
    """The mission as the flight controller is told it."""
    return Brief(
        family=spec.family,
        level=spec.level,
        turns=spec.turns,
        clock_s=spec.clock_s,
        propellant_g=1e3 * spec.start.propellant_kg,
        targets=tuple(name for name, _ in spec.targets),
        directives=tuple(_directive_brief(directive) for directive in spec.directives),
        rules=tuple(_rule_brief(rule) for rule in spec.rules),
    )


def _directive_brief(directive: Directive) -> DirectiveBrief:
    aimed = directive if isinstance(directive, Aimed) else None
    return DirectiveBrief(
        kind=directive.kind,
        target=None if isinstance(directive, ReduceRate) else directive.target,
        rate_deg_s=math.degrees(directive.rate_rad_s) if isinstance(directive, ReduceRate) else None,
        battery_pct=100 * directive.level if isinstance(directive, Charge) else None,
        tolerance_deg=math.degrees(aimed.tolerance_rad) if aimed else None,
        dwell_s=directive.dwell_s,
        opens_s=directive.opens_s,
        closes_s=directive.closes_s,
        turn_deg=_turn_deg(directive),
    )


def _turn_deg(directive: Directive) -> float | None:
    """[deg] The full turn to a directive's target; None where nobody can know it."""
    return None if isinstance(directive, ReduceRate) else math.degrees(directive.turn_rad) or None


def _rule_brief(rule: FlightRule) -> RuleBrief:
    span = (rule.opens_s, rule.closes_s) if isinstance(rule, QuietWindow) else (rule.from_s, rule.until_s)
    return RuleBrief(
        kind=rule.kind,
        hard=rule.hard,
        limit=_limit(rule),
        target=rule.target if isinstance(rule, KeepOut) else None,
        from_s=span[0],
        until_s=span[1],
    )


def _limit(rule: FlightRule) -> float:
    """A rule's number, in the unit of the wire."""
    match rule:
        case SunKeepOut() | KeepOut():
            return math.degrees(rule.angle_rad)
        case Reserve():
            return 1e3 * rule.propellant_kg
        case BatteryFloor():
            return 100 * rule.level
        case RateCap():
            return math.degrees(rule.rate_rad_s)
        case QuietWindow():
            return 0.0
