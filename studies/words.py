"""Mission and flight in words: directives, rules, faults, commands, and why a mission was lost."""

import math
from typing import Final

import numpy as np

from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.directives import Charge, Directive, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import (
    BatteryFloor,
    FlightRule,
    KeepOut,
    QuietWindow,
    RateCap,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.sim.faults import (
    Fault,
    GyroBias,
    GyroDrift,
    Leak,
    PanelLoss,
    StuckClosed,
    StuckOpen,
    TrackerOutage,
    WeakThruster,
)
from orbital_ops_env.studies.record import Record, knowledge_error_deg

UNITS: Final = {"rate_deg_s": "°/s", "deadband_deg": "°", "duration_s": " s", "on_time_s": " s"}
"""Unit by argument of a command."""
ASTRAY_DEG: Final = 1.0
"""[deg] by which the estimated attitude must get worse to be worth a word."""
ASTRAY_DEG_S: Final = 0.1
"""[deg/s] the same for the estimated body rate; the gyro's noise is a tenth of it."""
ASTRAY_G: Final = 0.05
"""[g] the same for the gas counted on board; without a fault it is right within 0.001 g."""


def goal(directive: Directive) -> str:
    """What a directive asks for."""
    if isinstance(directive, ReduceRate):
        return f"body rate under {math.degrees(directive.rate_rad_s):g}°/s"
    if isinstance(directive, Charge):
        return f"battery at {100 * directive.level:.0f} %, the panel at the Sun"
    within = math.degrees(directive.tolerance_rad)
    task = {"point": "point at", "image": "image", "downlink": "downlink to"}[directive.kind]
    return f"{task} {directive.target} within {within:g}°"


def limit(rule: FlightRule) -> str:
    """What a flight rule asks for."""
    match rule:
        case QuietWindow():
            return f"nothing fires from {rule.opens_s:.0f} s to {rule.closes_s:.0f} s"
        case SunKeepOut():
            what = f"payload at least {math.degrees(rule.angle_rad):g}° from the Sun"
        case KeepOut():
            what = f"payload at least {math.degrees(rule.angle_rad):g}° from {rule.target}"
        case Reserve():
            what = f"propellant never under {1e3 * rule.propellant_kg:g} g"
        case BatteryFloor():
            what = f"battery never under {100 * rule.level:.0f} %"
        case RateCap():
            what = f"body rate under {math.degrees(rule.rate_rad_s):g}°/s"
    since = f" from {rule.from_s:.0f} s" if rule.from_s or rule.until_s else ""
    return f"{what}{since}" + (f" to {rule.until_s:.0f} s" if rule.until_s else "")


def damage(fault: Fault) -> str:
    """What a fault breaks, how and when."""
    match fault:
        case StuckClosed() | StuckOpen() | WeakThruster():
            what = f"thruster {fault.unit} {_how(fault)}"
        case GyroBias():
            what = f"gyro biased by {math.degrees(math.hypot(*fault.bias_rad_s)):.2g}°/s"
        case GyroDrift():
            what = f"gyro drifting by {math.degrees(math.hypot(*fault.drift_rad_s2)):.2g}°/s²"
        case TrackerOutage():
            what = "star tracker out"
        case Leak():
            what = f"tank leaking {1e6 * fault.flow_kg_s:.2g} mg/s"
        case PanelLoss():
            what = f"panel down to {100 * fault.share:.0f} %"
    return f"{what} at {fault.onset_s:.0f} s"


def _how(fault: StuckClosed | StuckOpen | WeakThruster) -> str:
    if isinstance(fault, WeakThruster):
        return f"at {100 * fault.share:.0f} % of its thrust"
    return fault.kind.replace("_", " ")


def label(command: AnyCommand) -> str:
    """A command and its arguments."""
    arguments = command.model_dump(exclude={"command"}, exclude_none=True)
    words = (f"{value:g}{UNITS[key]}" if key in UNITS else str(value) for key, value in arguments.items())
    return " ".join([command.command, *words])


def brief(spec: MissionSpec) -> list[str]:
    """The mission in words: directives in order, rules, budget."""
    asked = [
        f"D{n}  {goal(d)} for {d.dwell_s:.0f} s, between {d.opens_s:.0f} s and {d.closes_s:.0f} s"
        for n, d in enumerate(spec.directives, start=1)
    ]
    rules = [f"{'Hard' if rule.hard else 'Soft'} rule: {limit(rule)}" for rule in spec.rules]
    gas = f"{1e3 * spec.start.propellant_kg:.2f} g of propellant"
    return [*asked, *rules, f"Budget: {gas}, {spec.turns} commands, {spec.clock_s:.0f} s"]


def verdict(flown: Record) -> str:
    """Why the mission was won or lost, in a few sentences."""
    spec, end = flown.flight.spec, flown.progress[-1]
    gas = f"{1e3 * end.propellant_kg:.2f} of {1e3 * spec.start.propellant_kg:.2f} g"
    broke = " and ".join(damage(fault) for fault in flown.broke)
    if flown.flight.succeeded:
        despite = f" That was in spite of {broke}." if broke else ""
        return (
            f"Every directive done at {end.t:.0f} s, {spec.clock_s - end.t:.0f} s before the clock ran "
            f"out, with {gas} of propellant left then.{despite}"
        )
    before = f"Broken before that: {broke}{_aftermath(flown)}. " if broke else ""
    done = f"{end.done} of {len(spec.directives)} directives done"
    return f"{_loss(flown)}. {before}{done}, {gas} of propellant left then."


def _loss(flown: Record) -> str:
    """What the mission was lost by."""
    spec, end = flown.flight.spec, flown.progress[-1]
    if spec.violated(end):
        hard = [spec.rules[k] for k in sorted(end.broken) if spec.rules[k].hard]
        return f"Hard rule broken at {end.t:.0f} s: {'; '.join(_breach(flown, rule) for rule in hard)}"
    asked = f"D{end.done + 1} ({goal(spec.directives[end.done])})"
    if spec.missed(end):
        return f"{asked} was not done when its window closed: {_standing(flown)}"
    how = {"ended": "Given up", "timed_out": "Out of time"}.get(flown.flight.outcome, "Out of commands")
    return f"{how} at {end.t:.0f} s, before {asked} was done"


def _breach(flown: Record, rule: FlightRule) -> str:
    """A rule, and what broke it where that says more."""
    if not isinstance(rule, QuietWindow):
        return limit(rule)
    ends = [snapshot.t for snapshot in flown.flight.snapshots[1:]]
    number = int(np.searchsorted(ends, flown.over_s))
    return (
        f"{limit(rule)}, yet a thruster did in command {number + 1} ({label(flown.flight.commands[number])})"
    )


def _standing(flown: Record) -> str:
    """How far the current directive was when the mission was decided."""
    spec, end = flown.flight.spec, flown.progress[-1]
    directive = spec.directives[end.done]
    last = int(np.searchsorted(flown.truth.t, end.t))
    held = f"held for {end.dwelt:.0f} of {directive.dwell_s:.0f} s"
    if isinstance(directive, Charge):
        return f"{100 * flown.truth.battery[last]:.1f} % at {end.t:.0f} s, {held}"
    error = math.degrees(directive.errors(flown.truth, spec)[last])
    unit = "°/s" if isinstance(directive, ReduceRate) else "°"
    return f"{error:.3g}{unit} at {end.t:.0f} s, {held}"


def _aftermath(flown: Record) -> str:
    """What went wrong between the first fault and the end of the mission; empty if nothing did by much."""
    truth, estimate = flown.truth, flown.estimate
    rows = (truth.t >= flown.broke[0].onset_s) & (truth.t <= flown.over_s)
    spin = np.degrees(np.linalg.norm(estimate.omega_BN_B - truth.omega_BN_B, axis=1))[rows]
    astray = knowledge_error_deg(flown)[rows]
    missing = 1e3 * (estimate.propellant_kg - truth.propellant_kg)[rows]
    more_g = missing[-1] - missing[0]
    words: list[str] = []
    if spin.max() - spin[0] > ASTRAY_DEG_S:
        words.append(f"estimated body rate up to {spin.max():.2g}°/s wrong")
    if astray.max() - astray[0] > ASTRAY_DEG:
        words.append(f"estimated attitude up to {astray.max():.3g}° wrong")
    if abs(more_g) > ASTRAY_G:
        words.append(f"{abs(more_g):.2f} g {'more' if more_g > 0 else 'less'} gas used than counted on board")
    return f"; since then {', '.join(words)}" if words else ""
