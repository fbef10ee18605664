"""A flight with its history in one piece, in numbers and in words, truth included."""

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.mission import (
    Directive,
    FlightRule,
    MissionSpec,
    Point,
    Progress,
    QuietWindow,
    RateCap,
    ReduceRate,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.server.flight import Flight
from orbital_ops_env.sim.faults import Fault, GyroBias, StuckClosed, StuckOpen, TrackerOutage
from orbital_ops_env.sim.frames import angles_between, dcm_from_mrp, relative, rotation_angle
from orbital_ops_env.sim.state import Thrusters, Track

UNITS: Final = {"rate_deg_s": "°/s", "deadband_deg": "°", "duration_s": " s", "on_time_s": " s"}
"""Unit by argument of a command."""
ASTRAY_DEG: Final = 1.0
"""[deg] by which the estimated attitude must get worse to be worth a word."""
ASTRAY_DEG_S: Final = 0.1
"""[deg/s] the same for the estimated body rate; the gyro's noise is a tenth of it."""
ASTRAY_G: Final = 0.05
"""[g] the same for the gas counted on board; without a fault it is right within 0.001 g."""


@dataclass(frozen=True)
class Record:
    """A flight with its history in one piece."""

    name: str
    flight: Flight
    truth: Track
    estimate: Track
    progress: tuple[Progress, ...]
    """True progress at each row of `truth`."""

    @property
    def over_s(self) -> float:
        """[s] mission time from which nothing counts any more."""
        return self.progress[-1].t

    def done_at(self, number: int) -> float | None:
        """[s] mission time at which directive `number` (from 0) was done; None if it never was."""
        return next((p.t for p in self.progress if p.done > number), None)

    def held(self, number: int) -> list[tuple[float, float]]:
        """[s] Spans in which the condition of directive `number` (from 0) held while it was current."""
        spans: dict[float, float] = {}
        for before, now in pairwise(self.progress):
            if now.done == number and not math.isinf(now.since):
                spans[now.since] = now.t
            elif before.done == number < now.done:
                spans[min(before.since, now.t)] = now.t
        return list(spans.items())

    @property
    def broke(self) -> list[Fault]:
        """Faults that acted before the mission was decided, in order of onset."""
        faults = sorted(self.flight.spec.faults, key=lambda fault: fault.onset_s)
        return [fault for fault in faults if fault.onset_s < self.over_s]


def record(name: str, flight: Flight) -> Record:
    """The history of a flight, judged row by row."""
    truth = _joined([snapshot.truth for snapshot in flight.snapshots])
    estimate = _joined([snapshot.estimate for snapshot in flight.snapshots])
    progress = [flight.spec.begin()]
    for rows in pairwise(range(len(truth.t))):
        progress.append(flight.spec.advance(progress[-1], _rows(truth, list(rows))))
    return Record(name, flight, truth, estimate, tuple(progress))


def _joined(tracks: list[Track]) -> Track:
    """Tracks end to end; a command's first row is the last row of the one before."""
    head, *rest = tracks
    return Track(
        **{
            f.name: np.concatenate([getattr(head, f.name), *(getattr(t, f.name)[1:] for t in rest)])
            for f in fields(Track)
        }
    )


def _rows(track: Track, rows: list[int]) -> Track:
    return Track(**{f.name: getattr(track, f.name)[rows] for f in fields(Track)})


def goal(directive: Directive) -> str:
    """What a directive asks for."""
    if isinstance(directive, ReduceRate):
        return f"body rate under {math.degrees(directive.rate_rad_s):g}°/s"
    within = math.degrees(directive.tolerance_rad)
    return f"point at {directive.target} within {within:g}°"


def limit(rule: FlightRule) -> str:
    """What a flight rule asks for."""
    match rule:
        case SunKeepOut():
            return f"payload at least {math.degrees(rule.angle_rad):g}° from the Sun"
        case Reserve():
            return f"propellant never under {1e3 * rule.propellant_kg:g} g"
        case RateCap():
            since = f" from {rule.from_s:.0f} s" if rule.from_s else ""
            return f"body rate under {math.degrees(rule.rate_rad_s):g}°/s{since}"
        case QuietWindow():
            return f"nothing fires from {rule.opens_s:.0f} s to {rule.closes_s:.0f} s"


def damage(fault: Fault) -> str:
    """What a fault breaks, how and when."""
    match fault:
        case GyroBias():
            what = f"gyro biased by {math.degrees(math.hypot(*fault.bias_rad_s)):.2g}°/s"
        case TrackerOutage():
            what = "star tracker out"
        case StuckClosed():
            what = f"thruster {fault.unit} stuck closed"
        case StuckOpen():
            what = f"thruster {fault.unit} stuck open"
    return f"{what} at {fault.onset_s:.0f} s"


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
            f"out, with {gas} of propellant left.{despite}"
        )
    before = f"Broken before that: {broke}{_aftermath(flown)}. " if broke else ""
    done = f"{end.done} of {len(spec.directives)} directives done"
    return f"{_loss(flown)}. {before}{done}, {gas} of propellant left."


def _loss(flown: Record) -> str:
    """What the mission was lost by."""
    spec, end = flown.flight.spec, flown.progress[-1]
    if spec.violated(end):
        hard = [spec.rules[k] for k in sorted(end.broken) if spec.rules[k].hard]
        return f"Hard rule broken at {end.t:.0f} s: {'; '.join(_breach(flown, rule) for rule in hard)}"
    asked = f"D{end.done + 1} ({goal(spec.directives[end.done])})"
    if spec.missed(end):
        return f"{asked} was not done when its window closed: {_standing(flown)}"
    how = "Given up" if flown.flight.outcome == "ended" else "Out of commands"
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


def _standing(flown: Record) -> str:
    """How far the current directive was when the mission was decided."""
    spec, end = flown.flight.spec, flown.progress[-1]
    directive = spec.directives[end.done]
    last = int(np.searchsorted(flown.truth.t, end.t))
    error = math.degrees(float(directive.errors(_rows(flown.truth, [last]), spec)[0]))
    unit = "°/s" if isinstance(directive, ReduceRate) else "°"
    held = f"held for {end.dwelt:.0f} of {directive.dwell_s:.0f} s"
    return f"{error:.3g}{unit} at {end.t:.0f} s, {held}"


def label(command: AnyCommand) -> str:
    """A command and its arguments."""
    arguments = command.model_dump(exclude={"command"}, exclude_none=True)
    words = (f"{value:g}{UNITS[key]}" if key in UNITS else str(value) for key, value in arguments.items())
    return " ".join([command.command, *words])


def pointing_error_deg(flown: Record, track: Track) -> NDArray[np.float64]:
    """[deg] (n,) Error to the next pointing directive's target; NaN where there is none."""
    spec = flown.flight.spec
    error = np.full(len(track.t), np.nan)
    done = np.array([p.done for p in flown.progress])
    for number, directive in reversed(list(enumerate(spec.directives))):
        if isinstance(directive, Point):
            error = np.where(done <= number, np.degrees(directive.errors(track, spec)), error)
    return error


def knowledge_error_deg(flown: Record) -> NDArray[np.float64]:
    """[deg] (n,) Angle between estimated and true attitude."""
    pairs = zip(flown.estimate.sigma_BN, flown.truth.sigma_BN, strict=True)
    turns = [rotation_angle(relative(dcm_from_mrp(here), dcm_from_mrp(true))) for here, true in pairs]
    return np.degrees(turns)


def body_rate_deg_s(flown: Record, track: Track) -> NDArray[np.float64]:
    """[deg/s] (n,) Magnitude of the body rate."""
    return np.degrees(np.linalg.norm(track.omega_BN_B, axis=1))


def sun_angle_deg(flown: Record, track: Track) -> NDArray[np.float64]:
    """[deg] (n,) Payload to Sun."""
    return np.degrees(angles_between(track.payload_N, flown.flight.spec.start.orbit.sun_hat_N[None]))


def propellant_g(flown: Record, track: Track) -> NDArray[np.float64]:
    """[g] (n,) Usable propellant."""
    return 1e3 * track.propellant_kg


def open_valves(flown: Record) -> dict[str, NDArray[np.float64]]:
    """[-] (n,) Mean number of valves commanded open over the second before, by branch.

    The split between branches is that of the commanded on-times of each command.
    """
    truth, snapshots = flown.truth, flown.flight.snapshots
    spent = np.diff(truth.on_time_s, prepend=truth.on_time_s[0])
    rate = spent / np.maximum(np.diff(truth.t, prepend=truth.t[0] - 1.0), 1e-9)
    share_b = np.zeros(len(truth.t))
    for before, after in pairwise(snapshots):
        units = after.sensed.valve_on_s - before.sensed.valve_on_s
        if units.sum() > 0:
            rows = (truth.t > after.began) & (truth.t <= after.t)
            share_b[rows] = units[len(units) // 2 :].sum() / units.sum()
    return {"A": rate * (1 - share_b), "B": rate * share_b}


def flowing_valves(flown: Record) -> NDArray[np.float64]:
    """[-] (n,) Mean number of valves that truly let gas out over the second before."""
    mass, time = flown.truth.propellant_kg, flown.truth.t
    spent = -np.diff(mass, prepend=mass[0])
    return spent / np.maximum(np.diff(time, prepend=time[0] - 1.0), 1e-9) / Thrusters().flow_kg_s


def fired_in_quiet(flown: Record, rule: QuietWindow) -> NDArray[np.bool_]:
    """(n,) Rows of `truth` at which a thruster fired in a quiet window."""
    return rule.broken(flown.truth, flown.flight.spec)
