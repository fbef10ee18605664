"""Recovery: notice, diagnose and survive an unannounced fault, then finish the pointing task.

Description: A craft in steady operation has targets to point at, and most often something breaks on the way.
    Nobody says so: a residual that does not fit, an alarm that names a limit, a turn that does not end. The
    wrong answer costs what the right one would have needed.
Teaches: cross-checking instruments that disagree.
Commands: `slew`, `hold`, `check`, `report_fault`, and what the fault asks for: `select_branch`,
    `isolate_thruster`, `calibrate_gyro`, `select_attitude_source`.
Telemetry: residuals of gyro, star tracker, Sun sensors, thrusters and tank; turn and error; propellant.
Directives: point within a tolerance for a dwell time inside a window, one target after another.
Flight rules: Sun keep-out (hard), propellant reserve (hard), rate cap from level 3 (soft).
Faults: 65 % of the missions carry one of gyro bias, star tracker outage, thruster stuck closed, thruster
    stuck open; it begins on the first leg, from level 5 on the first two.
Start: at rest, pointing at a star, attitude known.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import KINDS, legs_at
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.targets import CATALOGUE

FAMILY: Final = "recovery-v0"
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
    turns: int


LEVELS: Final = (
    Level(1, 20, 3.0, 20, 0.10, 90, turns=8),
    Level(2, 20, 3.0, 20, 0.10, 80, turns=8),
    Level(2, 20, 2.5, 20, 0.15, 70, turns=8),
    Level(2, 20, 2.5, 20, 0.15, 60, turns=8),
    Level(2, 20, 2.5, 20, 0.20, 60, turns=8),
    Level(2, 30, 2.0, 25, 0.20, 50, turns=12),
    Level(3, 30, 2.0, 25, 0.25, 50, turns=12),
    Level(3, 40, 2.0, 25, 0.25, 45, turns=12),
    Level(3, 40, 1.5, 30, 0.30, 45, turns=12),
    Level(3, 50, 1.5, 30, 0.30, 40, turns=12),
)

SHARE: Final = 0.65
"""[-] of missions that carry a fault, at every level."""


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row = LEVELS[level]
    plan = Plan(
        rng,
        first,
        keep_out_deg=row.keep_out_deg,
        slack_s=row.slack_s,
        demanding=bool(rng.random() < row.demanding),
        share=SHARE,
    )
    hurried = int(rng.integers(row.targets))
    if not plan.start():
        return None
    for number in range(row.targets):
        rate = float(rng.choice(HURRIED_DEG_S if number == hurried else CALM_DEG_S))
        if not plan.add(Leg(rate, row.dwell_s, row.tolerance_deg)):
            return None
    return plan.mission(FAMILY, level, seed, turns=row.turns, faults=plan.fault(KINDS, legs_at(level)))
