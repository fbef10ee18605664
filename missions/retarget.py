"""Retarget: point the payload at several targets by their deadlines, clear of the Sun.

Description: A craft in steady operation turns from target to target. Fast turns meet deadlines and burn
    gas; slow ones save gas and miss deadlines. The budget does not cover the fast rate throughout on the
    demanding missions, and every mission has a leg that the slowest rate misses.
Commands: `slew`, `hold`.
Telemetry: turn and error to the current target, time, propellant, payload to Sun.
Directives: point within a tolerance for a dwell time inside a window, one target after another. From level 2
    up, 4 apart, one window opens only after the craft can be there.
Flight rules: Sun keep-out (hard), propellant reserve (hard), rate cap from level 3 (soft).
Start: at rest, pointing at a star, attitude known.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0, not frozen yet.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.budget import (
    HOLD_G_S,
    SLEW_GAS_SD_G,
    SLEW_TIME_SD_S,
    path_sun_angle,
    slew_gas_g,
    slew_time_s,
    turn_between,
)
from orbital_ops_env.missions.mission import (
    FlightRule,
    MissionSpec,
    Point,
    RateCap,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.missions.targets import CATALOGUE, named, visible
from orbital_ops_env.sim.frames import Mat3, mrp_from_dcm, triple
from orbital_ops_env.sim.state import Orbit, Start, target_frame

FAMILY: Final = "retarget-v0"


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    targets: int
    """[-] directives."""
    dwell_s: float
    tolerance_deg: float
    keep_out_deg: float
    demanding: float
    """[-] share of missions whose gas does not cover 1 deg/s throughout."""
    slack_s: float
    """[s] time to spare on each leg."""
    waits: bool
    """Whether one window opens only after the craft can have arrived."""
    turns: int


LEVELS: Final = (
    Level(1, 20, 3.0, 20, 0.25, 90, waits=False, turns=8),
    Level(2, 20, 3.0, 20, 0.30, 80, waits=False, turns=8),
    Level(2, 20, 2.5, 20, 0.40, 70, waits=True, turns=8),
    Level(2, 30, 2.5, 20, 0.45, 60, waits=True, turns=8),
    Level(3, 30, 2.5, 20, 0.50, 60, waits=False, turns=8),
    Level(3, 30, 2.0, 25, 0.50, 50, waits=True, turns=12),
    Level(3, 40, 2.0, 25, 0.55, 50, waits=True, turns=12),
    Level(4, 40, 2.0, 25, 0.60, 45, waits=True, turns=12),
    Level(4, 40, 1.5, 30, 0.60, 45, waits=True, turns=12),
    Level(4, 50, 1.5, 30, 0.65, 40, waits=True, turns=12),
)

RATE_CAP_LEVEL: Final = 3
RATE_CAP_DEG_S: Final = 1.3
SHORT_TURN_DEG, LONG_TURN_DEG = 40.0, 140.0
KEEP_OUT_MARGIN_RAD: Final = math.radians(8.0)
"""[rad] spare of a planned path over the keep-out; a command is ended 4 deg before it."""
HURRIED_DEG_S, CALM_DEG_S, FAST_DEG_S = (0.5, 1.0), (0.2, 0.5), 1.0
"""[deg/s] planned rates: of the leg that slow turns miss, of the others, and of a generous budget."""
RESERVE_G: Final = 0.5
GAS_SIGMAS: Final = 2.2
"""[-] spare of the gas budget over the plan."""
ARRIVAL_S: Final = 200.0
"""[s] into a leg at which moving targets are looked at."""
WAIT_S: Final = (30.0, 90.0)
"""[s] from arrival to a late window, least and most."""
BETWEEN_S: Final = 20.0
"""[s] planned from one directive to the next turn."""
SPARE_HOLD_S: Final = 30.0
"""[s] of holding budgeted beyond each dwell."""
LONGEST_S: Final = 1800.0
ATTEMPTS: Final = 100


def generate(level: int, rng: np.random.Generator, seed: int) -> MissionSpec:
    """The mission of a level drawn from a generator.

    Raises:
        RuntimeError: No candidate met the constraints; cannot happen for the table above.
    """
    for _ in range(ATTEMPTS):
        plan = _Plan(LEVELS[level], rng)
        if plan.complete():
            return plan.mission(level, seed)
    raise RuntimeError(f"{FAMILY} level={level} seed={seed}: no mission after {ATTEMPTS} candidates")


class _Plan:
    """A mission under construction: the flight that its budget and windows are made from."""

    def __init__(self, row: Level, rng: np.random.Generator) -> None:
        self.row = row
        self.rng = rng
        self.orbit = Orbit(*(float(a) for a in rng.uniform(0, 2 * math.pi, size=4)))
        self.keep_out = math.radians(row.keep_out_deg)
        self.demanding = bool(rng.random() < row.demanding)
        self.hurried = int(rng.integers(row.targets))
        self.waiting = int(rng.integers(1, row.targets)) if row.waits else -1
        self.names: list[str] = []
        self.directives: list[Point] = []
        self.now = 0.0
        self.gas_g = RESERVE_G
        self.variance = 0.0

    def complete(self) -> bool:
        """Fill the plan in; False if the sky does not allow it."""
        home = next((n for n in self._shuffled() if self._seen(n, 0.0)), None)
        if home is None:
            return False
        self.names.append(home)
        self.home = self.frame = target_frame(CATALOGUE[home], self.orbit, 0.0)
        legs = all(self._add_leg(leg) for leg in range(self.row.targets))
        return legs and self.directives[-1].closes_s <= LONGEST_S

    def _add_leg(self, leg: int) -> bool:
        rate = float(self.rng.choice(HURRIED_DEG_S if leg == self.hurried else CALM_DEG_S))
        for name in self._shuffled():
            attitude = target_frame(CATALOGUE[name], self.orbit, self.now + ARRIVAL_S)
            if not (self._seen(name, self.now + ARRIVAL_S) and self._clear(self.frame, attitude)):
                continue
            turn = float(np.linalg.norm(turn_between(self.frame, attitude)))
            arrived = self.now + slew_time_s(rate, turn)
            opens = math.ceil(arrived + self.rng.uniform(*WAIT_S)) if leg == self.waiting else 0.0
            done = max(arrived, opens) + self.row.dwell_s
            closes = math.ceil(done + self.row.slack_s + SLEW_TIME_SD_S)
            if not (self._seen(name, arrived) and self._seen(name, closes)):
                continue
            self._spend(rate, turn, done - arrived)
            self.directives.append(self._directive(name, opens, closes, turn))
            self.names.append(name)
            self.frame, self.now = attitude, done + BETWEEN_S
            return True
        return False

    def _clear(self, start: Mat3, end: Mat3) -> bool:
        """Whether a turn is of a fitting size and clear of the Sun."""
        turn = math.degrees(float(np.linalg.norm(turn_between(start, end))))
        least = self.keep_out + KEEP_OUT_MARGIN_RAD
        fits = SHORT_TURN_DEG <= turn <= LONG_TURN_DEG
        return fits and path_sun_angle(start, end, self.orbit.sun_hat_N) > least

    def _seen(self, name: str, t: float) -> bool:
        return visible(name, self.orbit, t, self.keep_out + KEEP_OUT_MARGIN_RAD)

    def _shuffled(self) -> list[str]:
        """Names not used yet, in random order."""
        names = self.rng.permutation(list(CATALOGUE))
        return [str(name) for name in names if name not in self.names]

    def _spend(self, rate: float, turn: float, held_s: float) -> None:
        rate = rate if self.demanding else FAST_DEG_S
        self.gas_g += slew_gas_g(rate, turn) + HOLD_G_S * (held_s + SPARE_HOLD_S)
        self.variance += SLEW_GAS_SD_G[rate] ** 2

    def _directive(self, name: str, opens: float, closes: float, turn: float) -> Point:
        return Point(
            opens_s=opens,
            closes_s=closes,
            dwell_s=self.row.dwell_s,
            target=name,
            tolerance_rad=math.radians(self.row.tolerance_deg),
            turn_rad=turn,
        )

    def mission(self, level: int, seed: int) -> MissionSpec:
        """The plan as a mission: its gas with a spare, and none of its rates."""
        gas_g = self.gas_g + GAS_SIGMAS * math.sqrt(self.variance)
        return MissionSpec(
            family=FAMILY,
            level=level,
            seed=seed,
            start=Start(
                orbit=self.orbit,
                sigma_BN=triple(mrp_from_dcm(self.home)),
                omega_BN_B=(0.0, 0.0, 0.0),
                propellant_kg=round(gas_g * 1e-3, 5),
            ),
            targets=named(*self.names[1:]),
            directives=tuple(self.directives),
            rules=_rules(level, self.keep_out),
            clock_s=self.directives[-1].closes_s,
            turns=self.row.turns,
        )


def _rules(level: int, keep_out: float) -> tuple[FlightRule, ...]:
    rules: tuple[FlightRule, ...] = (
        SunKeepOut(angle_rad=keep_out),
        Reserve(propellant_kg=RESERVE_G * 1e-3),
    )
    if level >= RATE_CAP_LEVEL:
        rules += (RateCap(rate_rad_s=math.radians(RATE_CAP_DEG_S)),)
    return rules
