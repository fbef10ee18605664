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
    RateCap,
    ReduceRate,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.server.flight import Flight
from orbital_ops_env.sim.frames import angles_between
from orbital_ops_env.sim.state import Track

UNITS: Final = {"rate_deg_s": "°/s", "deadband_deg": "°", "duration_s": " s", "on_time_s": " s"}
"""Unit by argument of a command."""


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
    """Why the mission was won or lost, in a sentence or two."""
    spec, end = flown.flight.spec, flown.progress[-1]
    gas = f"{1e3 * end.propellant_kg:.2f} of {1e3 * spec.start.propellant_kg:.2f} g"
    total = len(spec.directives)
    if flown.flight.succeeded:
        spare = spec.clock_s - end.t
        return (
            f"Every directive done at {end.t:.0f} s, {spare:.0f} s before the clock ran "
            f"out, with {gas} of propellant left."
        )
    so_far = f"{end.done} of {total} directives done, {gas} of propellant left."
    if spec.violated(end):
        rules = "; ".join(limit(spec.rules[k]) for k in sorted(end.broken) if spec.rules[k].hard)
        return f"Hard rule broken at {end.t:.0f} s: {rules}. {so_far}"
    asked = f"D{end.done + 1} ({goal(spec.directives[end.done])})"
    if spec.missed(end):
        return f"{asked} was not done when its window closed: {_standing(flown)}. {so_far}"
    how = "Given up" if flown.flight.outcome == "ended" else "Out of commands"
    return f"{how} at {end.t:.0f} s, before {asked} was done. {so_far}"


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
    """[-] (n,) Mean number of open valves over the second before, by branch.

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
