"""Retarget: point the payload at several targets by their deadlines, clear of the Sun.

Description: A craft in steady operation turns from target to target. Fast turns meet deadlines and burn
    gas; slow ones save gas and miss deadlines. The budget does not cover the fast rate throughout on the
    demanding missions, and most missions have a leg that the slowest rate misses.
Teaches: slew rate against propellant.
Commands: `slew`, `hold`; from level 3 what a fault asks for.
Telemetry: turn and error to the current target, time, propellant; residuals.
Directives: point within a tolerance for a dwell time inside a window, one target after another. At levels 2,
    4 and from 6 up one window opens only after the craft can be there.
Flight rules: Sun keep-out (hard), propellant reserve (hard), rate cap from level 3 (soft).
Faults: from level 3 on 40 % of the missions carry one of gyro bias, star tracker outage, thruster stuck
    closed, thruster stuck open; it begins on the first leg, from level 5 on the first two.
Start: at rest, pointing at a star, attitude known.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import KINDS, legs_at, share_at
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.targets import CATALOGUE

FAMILY: Final = "retarget-v0"
FIRST: Final = tuple(CATALOGUE)


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
    """[s] time to spare on each leg, beside what a fault costs."""
    waits: bool
    """Whether one window opens only after the craft can have arrived."""
    turns: int


LEVELS: Final = (
    Level(1, 20, 3.0, 20, 0.25, 90, waits=False, turns=8),
    Level(2, 20, 3.0, 20, 0.30, 80, waits=False, turns=8),
    Level(2, 20, 2.5, 20, 0.40, 70, waits=True, turns=8),
    Level(2, 20, 2.5, 20, 0.45, 60, waits=False, turns=8),
    Level(2, 20, 2.5, 20, 0.50, 60, waits=True, turns=8),
    Level(3, 30, 2.0, 25, 0.50, 50, waits=False, turns=12),
    Level(3, 40, 2.0, 25, 0.55, 50, waits=True, turns=12),
    Level(3, 40, 2.0, 25, 0.60, 45, waits=True, turns=12),
    Level(3, 40, 1.5, 30, 0.60, 45, waits=True, turns=12),
    Level(3, 50, 1.5, 30, 0.65, 40, waits=True, turns=12),
)

WAIT_S: Final = (30.0, 90.0)
"""[s] from arrival to a late window, least and most."""


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row = LEVELS[level]
    plan = Plan(
        rng,
        first,
        keep_out_deg=row.keep_out_deg,
        slack_s=row.slack_s,
        demanding=bool(rng.random() < row.demanding),
        share=share_at(level),
    )
    hurried = int(rng.integers(row.targets))
    waiting = int(rng.integers(1, row.targets)) if row.waits else -1
    if not plan.start():
        return None
    for number in range(row.targets):
        rate = float(rng.choice(HURRIED_DEG_S if number == hurried else CALM_DEG_S))
        wait = float(rng.uniform(*WAIT_S)) if number == waiting else 0.0
        if not plan.add(Leg(rate, row.dwell_s, row.tolerance_deg, wait)):
            return None
    return plan.mission(FAMILY, level, seed, turns=row.turns, faults=plan.fault(KINDS, legs_at(level)))
