"""Detumble: kill the tip-off rates within budget, then point where the mission says.

Description: After separation the craft tumbles, its star tracker blind and its attitude known to a few
    degrees only. The gas that the tumble takes is fixed by its momentum; what is left decides how fast the
    turns may be, and the windows decide how slow.
Teaches: which sensor to trust at speed; when to stop.
Commands: `detumble`, `slew`, `hold`; from level 3 what a fault asks for.
Telemetry: body rate, star tracker validity and innovation, turn to the current target, propellant; residuals.
Directives: rate under a limit; then point at one named target (levels 0, 1) or at two, within a tolerance for
    a dwell time inside a window.
Flight rules: propellant reserve (hard), rate cap after the detumble from level 3 (soft).
Faults: from level 3 on 40 % of the missions carry one of thruster stuck closed, thruster stuck open; it
    begins during the detumble.
Start: tumbling at 1 to 10 deg/s by level, random attitude.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0, not frozen yet.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import (
    EARLIEST_S,
    FAULT_SPARE_G,
    FAULT_SPARE_S,
    draw_fault,
    share_at,
)
from orbital_ops_env.missions.budget import (
    DETUMBLE_SD,
    HOLD_G_S,
    SLEW_GAS_SD_G,
    SLEW_TIME_SD_S,
    detumble,
    slew_gas_g,
    slew_time_s,
    turn_between,
)
from orbital_ops_env.missions.directives import Directive, Point
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import (
    ARRIVAL_S,
    BETWEEN_S,
    CALM_DEG_S,
    FAST_DEG_S,
    FIRST_TURN_RAD,
    GAS_SIGMAS,
    LONGEST_S,
    LOST_SPARE_RAD,
    RATE_CAP_DEG_S,
    RATE_CAP_LEVEL,
    REACQUIRE_G,
    SPARE_HOLD_S,
    stable,
)
from orbital_ops_env.missions.rules import FlightRule, RateCap, Reserve
from orbital_ops_env.missions.targets import CATALOGUE, named, visible
from orbital_ops_env.sim.frames import mrp_from_ep, triple, unit
from orbital_ops_env.sim.state import Orbit, SpacecraftConfig, Start, target_frame

FAMILY: Final = "detumble-v0"
FIRST: Final = tuple(CATALOGUE)


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    rate_deg_s: tuple[float, float]
    """[deg/s] least and greatest tip-off rate."""
    targets: int
    """[-] named targets, from level 2 up two, so that no fixed script guesses them."""
    dwell_s: float
    tolerance_deg: float
    demanding: float
    """[-] share of missions whose gas does not cover a slew at 1 deg/s."""
    slack_s: float
    """[s] time to spare on each leg."""
    turns: int


LEVELS: Final = (
    Level((1.0, 2.0), 1, 20, 8.0, 0.25, 90, turns=8),
    Level((1.5, 3.0), 1, 30, 6.0, 0.30, 80, turns=8),
    Level((2.0, 4.0), 2, 30, 4.0, 0.40, 80, turns=8),
    Level((2.5, 5.0), 2, 20, 3.0, 0.45, 70, turns=8),
    Level((3.0, 6.0), 2, 20, 3.0, 0.50, 60, turns=8),
    Level((4.0, 7.0), 2, 40, 3.0, 0.50, 60, turns=12),
    Level((5.0, 8.0), 2, 40, 2.5, 0.55, 55, turns=12),
    Level((6.0, 9.0), 2, 50, 2.5, 0.60, 50, turns=12),
    Level((7.0, 9.5), 2, 50, 2.0, 0.60, 50, turns=12),
    Level((8.0, 10.0), 2, 60, 2.0, 0.65, 45, turns=12),
)

PLANNED_DEG_S: Final = 0.5
"""[deg/s] planned slew rate, but for the choice of a demanding mission."""
SHORT_TURN_DEG, LONG_TURN_DEG = 40.0, 150.0
KEEP_CLEAR_RAD: Final = math.radians(20.0)
"""[rad] named targets are at least this far from the Sun."""
RESERVE_G: Final = 0.4
KINDS: Final = ("stuck_closed", "stuck_open")
"""Thrusters only: a craft that has not seen stars yet can neither calibrate its gyro nor do without them."""
FAULT_BY: Final = 0.8
"""[-] share of the detumble's time by which a fault begins."""


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row, craft = LEVELS[level], SpacecraftConfig()
    orbit = Orbit(*(float(a) for a in rng.uniform(0, 2 * math.pi, size=4)))
    omega = math.radians(rng.uniform(*row.rate_deg_s)) * unit(rng.normal(size=3))
    quaternion = rng.normal(size=4)
    demanding = bool(rng.random() < row.demanding)
    others = [name for name in rng.permutation(list(CATALOGUE)) if name != first]
    names = [first, *map(str, others)][: row.targets]
    tumble_g, now = detumble(omega, craft)
    share = share_at(level)
    faults = draw_fault(rng, KINDS, share, (EARLIEST_S, FAULT_BY * now), omega)
    slack_s = row.slack_s + (FAULT_SPARE_S if share else 0.0)
    directives: list[Directive] = [stable(now, slack_s)]
    gas_g = tumble_g + REACQUIRE_G + (FAULT_SPARE_G if share else 0.0)
    variance = (DETUMBLE_SD * tumble_g) ** 2
    frame = None
    for name in names:
        arrival = target_frame(CATALOGUE[name], orbit, now + ARRIVAL_S)
        angle = FIRST_TURN_RAD if frame is None else float(np.linalg.norm(turn_between(frame, arrival)))
        if frame is not None and not SHORT_TURN_DEG <= math.degrees(angle) <= LONG_TURN_DEG:
            return None
        planned = float(rng.choice(CALM_DEG_S)) if demanding else PLANNED_DEG_S
        budgeted = planned if demanding else FAST_DEG_S
        gas_g += slew_gas_g(budgeted, angle) + HOLD_G_S * (row.dwell_s + SPARE_HOLD_S)
        variance += SLEW_GAS_SD_G[budgeted] ** 2
        now += slew_time_s(planned, angle)
        done = now + row.dwell_s
        closes = math.ceil(done + slack_s + SLEW_TIME_SD_S)
        if not all(visible(name, orbit, t, KEEP_CLEAR_RAD, LOST_SPARE_RAD) for t in (now, closes)):
            return None
        directives.append(
            Point(
                opens_s=0.0,
                closes_s=closes,
                dwell_s=row.dwell_s,
                target=name,
                tolerance_rad=math.radians(row.tolerance_deg),
                turn_rad=0.0 if frame is None else angle,
            )
        )
        now, frame = done + BETWEEN_S, arrival
    clock = directives[-1].closes_s
    if clock > LONGEST_S:
        return None
    gas_g += GAS_SIGMAS * math.sqrt(variance) + RESERVE_G
    return MissionSpec(
        family=FAMILY,
        level=level,
        seed=seed,
        start=Start(
            orbit=orbit,
            sigma_BN=triple(mrp_from_ep(quaternion / np.linalg.norm(quaternion))),
            omega_BN_B=triple(omega),
            propellant_kg=round(gas_g * 1e-3, 5),
            attitude_known=False,
        ),
        targets=named(*names),
        directives=tuple(directives),
        rules=_rules(level, directives[0].closes_s),
        clock_s=clock,
        turns=row.turns,
        faults=faults,
    )


def _rules(level: int, stable_s: float) -> tuple[FlightRule, ...]:
    rules: tuple[FlightRule, ...] = (Reserve(propellant_kg=RESERVE_G * 1e-3),)
    if level >= RATE_CAP_LEVEL:
        rules += (RateCap(rate_rad_s=math.radians(RATE_CAP_DEG_S), from_s=stable_s),)
    return rules
