"""A flight under construction: the legs from which a mission's windows, budget and fault are made.

A family adds legs and asks for the mission; windows leave slack over the planned times, and the budget covers
the planned manoeuvres with a spare. What a fault costs is in both, whether the mission has one or not, so
that the brief does not give it away.
"""

import copy
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import EARLIEST_S, FAULT_SPARE_G, FAULT_SPARE_S, draw_fault
from orbital_ops_env.missions.budget import (
    DETUMBLE_SD,
    HOLD_G_S,
    HOLD_GAS_G_S,
    SLEW_GAS_SD_G,
    SLEW_TIME_SD_S,
    detumble,
    path_angle,
    slew_gas_g,
    slew_time_s,
    turn_between,
)
from orbital_ops_env.missions.directives import (
    Aimed,
    Charge,
    Directive,
    Point,
    ReduceRate,
    SendData,
    TakeImage,
)
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import FlightRule, KeepOut, QuietWindow, RateCap, Reserve, SunKeepOut
from orbital_ops_env.missions.targets import CATALOGUE, named, panel_w, visible
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.frames import Mat3, Vec3, dcm_from_ep, mrp_from_dcm, triple, unit
from orbital_ops_env.sim.state import Orbit, Power, SpacecraftConfig, Start, Sun, target_frame

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
ANYHOW: Final = 0.25
"""[-] share of the Sun's full power in the mean of all attitudes."""
FINE_DEG: Final = 0.2
"""[deg] deadband that leaves the least rate,"""
FINE_G: Final = 0.25
"""[g] and what it takes to get into it from a slew."""
LONGEST_S: Final = 1800.0
STABLE_DEG_S: Final = 0.3
"""[deg/s] what counts as detumbled."""
STABLE_DWELL_S: Final = 5.0
STABLE_RATIO: Final = 1.3
"""[-] time given for a detumble over what it takes."""
FIRST_TURN_RAD: Final = math.radians(170.0)
"""[rad] planned for the turn after a tumble, whose angle nobody can know."""
LOST_SPARE_RAD: Final = math.radians(9.0)
"""[rad] the star tracker must see at a target even if the craft arrives this far off it."""
REACQUIRE_G: Final = 0.05
"""[g] for the jump of the attitude estimate when the star tracker comes back."""
LATELY: Final = 6
"""[-] targets after which a name may come again."""
DRIFT_DWELL_S: Final = 5.0
"""[s] within the drift limit after a quiet window,"""
DRIFT_CLOSES_S: Final = 10.0
"""[s] of which there is no more than this to turn back in."""


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
    thrift_deg_s: float | None = None
    """[deg/s] rate that the gas covers, if it is not the planned one."""


class Plan:
    """Legs from a star where the craft is at rest, over named targets clear of the Sun.

    Args:
        rng: Draws the sky and all other targets.
        first: Name of the first target.
        keep_out_deg: Sun keep-out of the payload.
        slack_s: [s] time to spare on each leg.
        demanding: Whether the gas covers the planned rates only, not 1 deg/s throughout.
        share: [-] of such missions that carry a fault; all have the windows and budgets to cope with one.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        first: str,
        *,
        keep_out_deg: float,
        slack_s: float,
        demanding: bool,
        share: float,
    ) -> None:
        self.rng = rng
        self.first = first
        self.orbit = Orbit(*(float(a) for a in rng.uniform(0, 2 * math.pi, size=4)))
        self.keep_out = math.radians(keep_out_deg)
        self.demanding = demanding
        self.share = share
        self.slack_s = slack_s + (FAULT_SPARE_S if share else 0.0)
        self.names: list[str] = []
        """Targets so far."""
        self.home_name = ""
        self.omega = (0.0, 0.0, 0.0)
        """[rad/s] (3,) body rate at the start, in B."""
        self.stable_s = 0.0
        """[s] mission time from which the craft knows where it points."""
        self.path: list[tuple[Mat3, Mat3]] = []
        """Turns planned so far."""
        self.directives: list[Directive] = []
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
        self.rates_deg_s: list[float] = []
        """[deg/s] of the turn to each directive; 0 without one."""
        self.spent_g: list[float] = []
        """[g] planned until each directive is done, the reserve and what a fault costs included,"""
        self.stored_j: list[float] = []
        """[J] and what is in the battery then beyond what it began with."""
        self.gas_g = RESERVE_G + (FAULT_SPARE_G if share else 0.0)
        self.variance = 0.0

    def copy(self) -> "Plan":
        """The plan so far, to go on from in another way; both draw from the same generator."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(other, name, value.copy())
        return other

    def start(self) -> bool:
        """Choose the star where the craft is; False if none is seen."""
        home = next((n for n in self._others() if self._seen(n, 0.0)), None)
        if home is None:
            return False
        self.home_name = home
        self.home = self.frame = target_frame(CATALOGUE[home], self.orbit, 0.0)
        return True

    def tumble(self, rates_deg_s: tuple[float, float]) -> None:
        """Begin at an attitude that nobody knows, with a body rate between two instead; null the rate."""
        omega = math.radians(self.rng.uniform(*rates_deg_s)) * unit(self.rng.normal(size=3))
        quaternion = self.rng.normal(size=4)
        self.home = dcm_from_ep(quaternion / np.linalg.norm(quaternion))
        self.omega = triple(omega)
        tumble_g, tumble_s = detumble(omega, SpacecraftConfig())
        self.gas_g += tumble_g + REACQUIRE_G
        self.variance += (DETUMBLE_SD * tumble_g) ** 2
        self.now = tumble_s
        self._use(0.0, tumble_s, ())
        self._enter(stable(tumble_s, self.slack_s))

    def acquire(self, leg: Leg) -> bool:
        """Turn from an attitude that nobody knows to the first target; False if the sky does not allow it."""
        arrived = self.now + slew_time_s(leg.rate_deg_s, FIRST_TURN_RAD)
        closes = self.closing(arrived + leg.dwell_s)
        away = self.keep_out + KEEP_OUT_MARGIN_RAD
        times = (arrived, closes, closes + leg.stays_s)
        if not all(visible(self.first, self.orbit, t, away, LOST_SPARE_RAD) for t in times):
            return False
        self.names.append(self.first)
        self.frame = target_frame(CATALOGUE[self.first], self.orbit, arrived)
        self._spend(leg, FIRST_TURN_RAD, leg.dwell_s)
        self._use(self.now, arrived + leg.dwell_s, ())
        self.now = self._free = arrived + leg.dwell_s + BETWEEN_S
        self.stable_s = closes
        self._enter(_directive(self.first, leg, 0.0, closes, 0.0), leg.rate_deg_s)
        return True

    def add(
        self, leg: Leg, among: Collection[str] = CATALOGUE, sizes_deg: tuple[float, float] = TURN_DEG
    ) -> bool:
        """Add a turn to a target not used lately.

        Args:
            leg: The turn and what follows.
            among: Names to choose from.
            sizes_deg: [deg] least and greatest turn.

        Returns:
            False if the sky has none.
        """
        for name in [self.first] if self.first not in self.names else self._others():
            if name not in among:
                continue
            attitude = target_frame(CATALOGUE[name], self.orbit, self.now + ARRIVAL_S)
            if not (self._seen(name, self.now + ARRIVAL_S) and self.clear(attitude, sizes_deg)):
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
        self.path.append((self.frame, attitude))
        arrived = self.now + slew_time_s(leg.rate_deg_s, angle)
        soonest = self._free + slew_time_s(FAST_DEG_S, angle)
        done = max(arrived, directive.opens_s) + leg.dwell_s
        self._spend(leg, angle, done - arrived)
        self.turns.append(turn)
        self.soonest.append(soonest)
        self._free = max(soonest, directive.opens_s) + leg.dwell_s
        self._use(self.now, arrived, (self.frame, attitude))
        self._use(arrived, done + BETWEEN_S, (attitude,))
        self.frame, self.now = attitude, done + BETWEEN_S
        self._enter(directive, leg.rate_deg_s)

    def _enter(self, directive: Directive, rate_deg_s: float = 0.0) -> None:
        """A directive, with what it leaves, and the planned rate of its turn if there is one."""
        self.directives.append(directive)
        self.rates_deg_s.append(rate_deg_s)
        self.spent_g.append(self.gas_g)
        self.stored_j.append(self.energy_j)

    def _use(self, begin: float, end: float, attitudes: Sequence[Mat3]) -> None:
        """Energy from a mission time [s] to another, in the mean of some attitudes; none for unknown ones."""
        share = 1.0 if attitudes else ANYHOW
        steps = np.arange(begin, end, ENERGY_STEP_S)
        at_sun = (target_frame(Sun(), self.orbit, begin),)
        gained = [share * panel_w(a, self.orbit, t) for t in steps for a in attitudes or at_sun]
        used_w = Power().bus_w - (float(np.mean(gained)) if gained else 0.0)
        self.energy_j -= used_w * (end - begin)
        self.least_j = min(self.least_j, self.energy_j)

    def coast(self, quiet_s: float, drift_deg: float) -> QuietWindow:
        """A quiet window at the last target, a fine hold before it and a limit for the drift after it."""
        taken_up = self.directives[-1]
        over = taken_up.closes_s + quiet_s
        self.gas_g += FINE_G + HOLD_GAS_G_S[FINE_DEG] * self.slack_s
        drift = Point(
            opens_s=over,
            closes_s=over + DRIFT_CLOSES_S,
            dwell_s=DRIFT_DWELL_S,
            target=self.names[-1],
            tolerance_rad=math.radians(drift_deg),
            turn_rad=0.0,
        )
        self._use(self.now, drift.closes_s, (self.frame,))
        self.now = drift.closes_s + BETWEEN_S
        self._free = over + DRIFT_DWELL_S
        self._enter(drift)
        return QuietWindow(opens_s=taken_up.closes_s, closes_s=over)

    def mission(
        self,
        family: str,
        level: int,
        seed: int,
        *,
        turns: int,
        faults: tuple[Fault, ...],
        rules: Sequence[FlightRule] = (),
        battery: float | None = None,
        longest_s: float = LONGEST_S,
    ) -> MissionSpec | None:
        """The plan as a mission; None if it takes too long.

        Args:
            family: Its name.
            level: 0 to 9.
            seed: What it is drawn from.
            turns: Most commands.
            faults: What breaks.
            rules: Flight rules beside those of every plan.
            battery: [-] charge at the start; None lets every episode draw its own.
            longest_s: [s] most that it may take.
        """
        if self.directives[-1].closes_s > longest_s:
            return None
        kept_off = (rule.target for rule in rules if isinstance(rule, KeepOut))
        return MissionSpec(
            family=family,
            level=level,
            seed=seed,
            start=Start(
                orbit=self.orbit,
                sigma_BN=triple(mrp_from_dcm(self.home)),
                omega_BN_B=self.omega,
                propellant_kg=round(1e-3 * (self.gas_g + GAS_SIGMAS * math.sqrt(self.variance)), 5),
                attitude_known=not any(self.omega),
                battery=battery,
            ),
            targets=named(*self.names, *kept_off),
            directives=tuple(self.directives),
            rules=(*rules, *self._rules(level)),
            clock_s=self.directives[-1].closes_s,
            turns=turns,
            faults=faults,
        )

    def fault(self, kinds: Sequence[str], legs: int) -> tuple[Fault, ...]:
        """What breaks during the first legs, on a thruster that the turn then or next needs."""
        leg = min(legs, len(self.turns)) - 1
        latest = self.soonest[leg] * (1.0 if leg + 1 < len(self.turns) else BEFORE_BRAKING)
        turn = self.turns[min(leg + 1, len(self.turns) - 1)]
        return draw_fault(self.rng, kinds, self.share, (EARLIEST_S, latest), turn)

    def _rules(self, level: int) -> tuple[FlightRule, ...]:
        """The rules of every plan that come into force before it is over."""
        rules: tuple[SunKeepOut | Reserve | RateCap, ...] = (
            SunKeepOut(angle_rad=self.keep_out, from_s=self.stable_s),
            Reserve(propellant_kg=RESERVE_G * 1e-3),
        )
        if level >= RATE_CAP_LEVEL:
            rules += (RateCap(rate_rad_s=math.radians(RATE_CAP_DEG_S), from_s=self.stable_s),)
        return tuple(rule for rule in rules if rule.from_s < self.directives[-1].closes_s)

    def clear(self, attitude: Mat3, sizes_deg: tuple[float, float]) -> bool:
        """Whether the turn to an attitude is between two sizes [deg] and clear of the Sun."""
        turn = math.degrees(float(np.linalg.norm(turn_between(self.frame, attitude))))
        least = self.keep_out + KEEP_OUT_MARGIN_RAD
        fits = sizes_deg[0] <= turn <= sizes_deg[1]
        return fits and path_angle(self.frame, attitude, self.orbit.sun_hat_N) > least

    def _seen(self, name: str, t: float) -> bool:
        return visible(name, self.orbit, t, self.keep_out + KEEP_OUT_MARGIN_RAD)

    def _others(self) -> list[str]:
        """Names not used lately, but for the first, in random order."""
        names = self.rng.permutation(list(CATALOGUE))
        used = (self.first, self.home_name, *self.names[-LATELY:])
        return [str(name) for name in names if name not in used]

    def _spend(self, leg: Leg, angle: float, held_s: float) -> None:
        rate = leg.thrift_deg_s or (leg.rate_deg_s if self.demanding else FAST_DEG_S)
        self.gas_g += slew_gas_g(rate, angle) + leg.hold_g_s * (held_s + SPARE_HOLD_S)
        self.variance += SLEW_GAS_SD_G[rate] ** 2


def stable(tumble_s: float, slack_s: float) -> ReduceRate:
    """To null the rates of a tumble.

    Args:
        tumble_s: [s] that it takes,
        slack_s: [s] and time to spare.
    """
    return ReduceRate(
        opens_s=0.0,
        closes_s=math.ceil(STABLE_RATIO * tumble_s + slack_s),
        dwell_s=STABLE_DWELL_S,
        rate_rad_s=math.radians(STABLE_DEG_S),
    )


def _directive(name: str, leg: Leg, opens: float, closes: float, angle: float) -> Aimed:
    return leg.kind(
        opens_s=opens,
        closes_s=closes,
        dwell_s=leg.dwell_s,
        target=name,
        tolerance_rad=math.radians(leg.tolerance_deg),
        turn_rad=angle,
    )
