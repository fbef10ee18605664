"""A flight with its history in one piece, in numbers, truth included."""

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.missions.directives import Point
from orbital_ops_env.missions.mission import Progress
from orbital_ops_env.missions.rules import FlightRule
from orbital_ops_env.server.flight import Flight
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.frames import angles_between, dcm_from_mrp, relative, rotation_angle
from orbital_ops_env.sim.state import Thrusters, Track

Rule = TypeVar("Rule", bound=FlightRule)


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

    def rules(self, kind: type[Rule]) -> list[Rule]:
        """The mission's flight rules of a kind."""
        return [rule for rule in self.flight.spec.rules if isinstance(rule, kind)]

    @property
    def broke(self) -> list[Fault]:
        """Faults that acted before the mission was decided, in order of onset."""
        faults = sorted(self.flight.faults, key=lambda fault: fault.onset_s)
        return [fault for fault in faults if fault.onset_s < self.over_s]


def record(name: str, flight: Flight) -> Record:
    """The history of a flight, judged row by row."""
    truth = _joined([snapshot.truth for snapshot in flight.snapshots])
    estimate = _joined([snapshot.estimate for snapshot in flight.snapshots])
    progress = [flight.spec.begin()]
    for rows in pairwise(range(len(truth.t))):
        progress.append(flight.spec.advance(progress[-1], _rows(truth, rows)))
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


def _rows(track: Track, rows: tuple[int, int]) -> Track:
    return Track(**{f.name: getattr(track, f.name)[list(rows)] for f in fields(Track)})


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
    rate = _rate(truth.on_time_s, truth.t)
    share_b = np.zeros(len(truth.t))
    for before, after in pairwise(snapshots):
        units = after.sensed.valve_on_s - before.sensed.valve_on_s
        if units.sum() > 0:
            rows = (truth.t > after.began) & (truth.t <= after.t)
            share_b[rows] = units[len(units) // 2 :].sum() / units.sum()
    return {"A": rate * (1 - share_b), "B": rate * share_b}


def flowing_valves(flown: Record) -> NDArray[np.float64]:
    """[-] (n,) Mean number of valves that truly let gas out over the second before."""
    return -_rate(flown.truth.propellant_kg, flown.truth.t) / Thrusters().flow_kg_s


def _rate(amount: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) Change per second since the row before; 0 in the first row."""
    return np.diff(amount, prepend=amount[0]) / np.diff(t, prepend=t[0] - 1.0)
