"""A flight under construction: the legs from which a mission's windows, budget and fault are made.

A family adds legs and asks for the mission; windows leave slack over the planned times, and the budget covers
the planned manoeuvres with a spare. What a fault costs is in both, whether the mission has one or not, so
that the brief does not give it away.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import FAULT_SPARE_G, FAULT_SPARE_S, draw_fault
from orbital_ops_env.missions.budget import (
    HOLD_G_S,
    HOLD_GAS_G_S,
    SLEW_GAS_SD_G,
    SLEW_TIME_SD_S,
    path_sun_angle,
    slew_gas_g,
    slew_time_s,
    turn_between,
)
from orbital_ops_env.missions.directives import Aimed, Charge, Point, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import FlightRule, RateCap, Reserve, SunKeepOut
from orbital_ops_env.missions.targets import CATALOGUE, named, panel_w, visible
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.frames import Mat3, Vec3, mrp_from_dcm, triple
from orbital_ops_env.sim.state import Orbit, Power, Start, target_frame

RATE_CAP_LEVEL: Final = 3
RATE_CAP_DEG_S: Final = 1.3
TURN_DEG: Final = (40.0, 140.0)
"""[deg] least and greatest turn."""
KEEP_OUT_MARGIN_RAD: Final = math.radians(8.0)
"""[rad] spare of a planned path over the keep-out; a command is ended 4 deg before it."""
HURRIED_DEG_S, CALM_DEG_S, FAST_DEG_S = (0.5, 1.0), (0.2, 0.5), 1.0
"""[deg/s] planned rates: of the leg that slow turns miss, of the others, and of a generous budget."""
RESERVE_G: Final = 0.5
GAS_SIGMAS: Final = 2.2
"""[-] spare of the gas budget over the plan."""
ARRIVAL_S: Final = 200.0
"""[s] into a leg at which moving targets are looked at."""
BETWEEN_S: Final = 20.0
"""[s] planned from one directive to the next turn."""
SPARE_HOLD_S: Final = 30.0
"""[s] of holding budgeted beyond each dwell."""
BEFORE_BRAKING: Final = 0.6
"""[-] share of the last turn's time by which a fault begins, so that it meets a thruster at work."""
ENERGY_STEP_S: Final = 30.0
"""[s] at which the power of a planned attitude is looked at."""
FINE_DEG: Final = 0.2
"""[deg] deadband that leaves the least rate,"""
FINE_G: Final = 0.25
"""[g] and what it takes to get into it from a slew."""
LONGEST_S: Final = 1800.0


@dataclass(frozen=True)
class Leg:
    """A turn and what follows at its end."""

    rate_deg_s: float
    """[deg/s] planned."""
    dwell_s: float
    tolerance_deg: float
    wait_s: float = 0.0
    """[s] from arrival until the window opens."""
    stays_s: float = 0.0
    """[s] from the end of its window, for which the craft stays there."""
    hold_g_s: float = HOLD_G_S
    """[g/s] budgeted while waiting and dwelling."""
    kind: type[Point] | type[TakeImage] | type[SendData] = Point
    """What is done there."""


class Plan:
    """Legs from a star where the craft is at rest, over named targets clear of the Sun.

    Args:
        rng: Draws the sky and the targets.
        keep_out_deg: Sun keep-out of the payload.
        slack_s: [s] time to spare on each leg.
        demanding: Whether the gas covers the planned rates only, not 1 deg/s throughout.
        share: [-] of such missions that carry a fault; all have the windows and budgets to cope with one.
    """

    def __init__(
        self, rng: np.random.Generator, *, keep_out_deg: float, slack_s: float, demanding: bool, share: float
    ) -> None:
        self.rng = rng
        self.orbit = Orbit(*(float(a) for a in rng.uniform(0, 2 * math.pi, size=4)))
        self.keep_out = math.radians(keep_out_deg)
        self.demanding = demanding
        self.share = share
        self.slack_s = slack_s + (FAULT_SPARE_S if share else 0.0)
        self.names: list[str] = []
        self.directives: list[Aimed | Charge] = []
        self.turns: list[Vec3] = []
        self.soonest: list[float] = []
        """[s] mission time of each arrival at 1 deg/s throughout."""
        self.now = 0.0
        """[s] mission time planned so far."""
        self._free = 0.0
        """[s] the same, from which the next turn can begin."""
        self.energy_j = 0.0
        """[J] in the battery beyond what it begins with,"""
        self.least_j = 0.0
        """[J] and the least of it."""
        self.gas_g = RESERVE_G + (FAULT_SPARE_G if share else 0.0)
        self.variance = 0.0

    def start(self) -> bool:
        """Choose the star where the craft is; False if none is seen."""
        home = next((n for n in self._shuffled() if self._seen(n, 0.0)), None)
        if home is None:
            return False
        self.names.append(home)
        self.home = self.frame = target_frame(CATALOGUE[home], self.orbit, 0.0)
        return True

    def add(self, leg: Leg, among: Collection[str] = CATALOGUE) -> bool:
        """Add a turn to a target not used yet, one of some names; False if the sky has none."""
        for name in self._shuffled():
            if name not in among:
                continue
            attitude = target_frame(CATALOGUE[name], self.orbit, self.now + ARRIVAL_S)
            if not (self._seen(name, self.now + ARRIVAL_S) and self.clear(attitude)):
                continue
            turn = turn_between(self.frame, attitude)
            angle = float(np.linalg.norm(turn))
            arrived = self.now + slew_time_s(leg.rate_deg_s, angle)
            opens = math.ceil(arrived + leg.wait_s) if leg.wait_s > 0 else 0.0
            closes = self.closing(max(arrived, opens) + leg.dwell_s)
            soonest = self._free + slew_time_s(FAST_DEG_S, angle)
            if not all(self._seen(name, t) for t in (soonest, arrived, closes, closes + leg.stays_s)):
                continue
            self.names.append(name)
            self.go(leg, attitude, _directive(name, leg, opens, closes, angle))
            return True
        return False

    def closing(self, done_s: float) -> float:
        """[s] Mission time by which a directive must be done that is planned for a time."""
        return math.ceil(done_s + self.slack_s + SLEW_TIME_SD_S)

    def go(self, leg: Leg, attitude: Mat3, directive: Aimed | Charge) -> None:
        """Turn to an attitude and do a directive there."""
        turn = turn_between(self.frame, attitude)
        angle = float(np.linalg.norm(turn))
        arrived = self.now + slew_time_s(leg.rate_deg_s, angle)
        soonest = self._free + slew_time_s(FAST_DEG_S, angle)
        done = max(arrived, directive.opens_s) + leg.dwell_s
        self._spend(leg, angle, done - arrived)
        self.directives.append(directive)
        self.turns.append(turn)
        self.soonest.append(soonest)
        self._free = max(soonest, directive.opens_s) + leg.dwell_s
        self._use(self.now, arrived, (self.frame, attitude))
        self._use(arrived, done + BETWEEN_S, (attitude,))
        self.frame, self.now = attitude, done + BETWEEN_S

    def _use(self, begin: float, end: float, attitudes: Sequence[Mat3]) -> None:
        """Energy from a mission time [s] to another, in the mean of some attitudes."""
        steps = np.arange(begin, end, ENERGY_STEP_S)
        gained = [np.mean([panel_w(a, self.orbit, t) for a in attitudes]) for t in steps]
        used_w = Power().bus_w - (float(np.mean(gained)) if len(steps) else 0.0)
        self.energy_j -= used_w * (end - begin)
        self.least_j = min(self.least_j, self.energy_j)

    def stay(self, directive: Point, held_s: float) -> None:
        """Add a directive at the target where the craft is then, with the gas of a fine hold before it."""
        self.gas_g += FINE_G + HOLD_GAS_G_S[FINE_DEG] * held_s
        self.directives.append(directive)
        self.now = directive.closes_s + BETWEEN_S
        self._free = directive.opens_s + directive.dwell_s

    def mission(
        self,
        family: str,
        level: int,
        seed: int,
        *,
        turns: int,
        kinds: Sequence[str],
        legs: int,
        rules: Sequence[FlightRule] = (),
        battery: float | None = None,
    ) -> MissionSpec | None:
        """The plan as a mission; None if it takes too long.

        Args:
            family: Its name.
            level: 0 to 9.
            seed: What it is drawn from.
            turns: Most commands.
            kinds: Of faults that may be drawn.
            legs: During which a fault begins.
            rules: Flight rules beside those of every plan.
            battery: [-] charge at the start; None lets every episode draw its own.
        """
        if self.directives[-1].closes_s > LONGEST_S:
            return None
        return MissionSpec(
            family=family,
            level=level,
            seed=seed,
            start=Start(
                orbit=self.orbit,
                sigma_BN=triple(mrp_from_dcm(self.home)),
                omega_BN_B=(0.0, 0.0, 0.0),
                propellant_kg=round(1e-3 * (self.gas_g + GAS_SIGMAS * math.sqrt(self.variance)), 5),
                battery=battery,
            ),
            targets=named(*self.names[1:]),
            directives=tuple(self.directives),
            rules=(*rules, *self._rules(level)),
            clock_s=self.directives[-1].closes_s,
            turns=turns,
            faults=self._fault(kinds, legs),
        )

    def _fault(self, kinds: Sequence[str], legs: int) -> tuple[Fault, ...]:
        """What breaks during the first legs, on a thruster that the turn then or next needs."""
        leg = min(legs, len(self.turns)) - 1
        latest = self.soonest[leg] * (1.0 if leg + 1 < len(self.turns) else BEFORE_BRAKING)
        turn = self.turns[min(leg + 1, len(self.turns) - 1)]
        return draw_fault(self.rng, kinds, self.share, latest, turn)

    def _rules(self, level: int) -> tuple[FlightRule, ...]:
        rules: tuple[FlightRule, ...] = (
            SunKeepOut(angle_rad=self.keep_out),
            Reserve(propellant_kg=RESERVE_G * 1e-3),
        )
        if level >= RATE_CAP_LEVEL:
            rules += (RateCap(rate_rad_s=math.radians(RATE_CAP_DEG_S)),)
        return rules

    def clear(self, attitude: Mat3, sizes_deg: tuple[float, float] = TURN_DEG) -> bool:
        """Whether the turn to an attitude is of a fitting size and clear of the Sun."""
        turn = math.degrees(float(np.linalg.norm(turn_between(self.frame, attitude))))
        least = self.keep_out + KEEP_OUT_MARGIN_RAD
        fits = sizes_deg[0] <= turn <= sizes_deg[1]
        return fits and path_sun_angle(self.frame, attitude, self.orbit.sun_hat_N) > least

    def _seen(self, name: str, t: float) -> bool:
        return visible(name, self.orbit, t, self.keep_out + KEEP_OUT_MARGIN_RAD)

    def _shuffled(self) -> list[str]:
        """Names not used yet, in random order."""
        names = self.rng.permutation(list(CATALOGUE))
        return [str(name) for name in names if name not in self.names]

    def _spend(self, leg: Leg, angle: float, held_s: float) -> None:
        rate = leg.rate_deg_s if self.demanding else FAST_DEG_S
        self.gas_g += slew_gas_g(rate, angle) + leg.hold_g_s * (held_s + SPARE_HOLD_S)
        self.variance += SLEW_GAS_SD_G[rate] ** 2


def _directive(name: str, leg: Leg, opens: float, closes: float, angle: float) -> Aimed:
    return leg.kind(
        opens_s=opens,
        closes_s=closes,
        dwell_s=leg.dwell_s,
        target=name,
        tolerance_rad=math.radians(leg.tolerance_deg),
        turn_rad=angle,
    )
