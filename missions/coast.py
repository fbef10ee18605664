"""Coast: take up a target before a quiet window, fire nothing in it, be within drift limits after it.

Description: A payload measures while the craft must not move a valve. Whatever rate is left when the window
    opens is drift when it closes; gravity and sunlight add theirs. All must be done before: the turn, the
    rates, and a fault that would fire or drift by itself.
Teaches: act before the window; drift.
Commands: `slew`, `hold`, `coast`; from level 3 what a fault asks for.
Telemetry: turn and error to the current target, rate, time, propellant; residuals.
Directives: point at the target within a tolerance for a dwell time, before the quiet window opens; be within
    the drift limit as it closes; from level 5 up then point at another target.
Flight rules: quiet window, Sun keep-out, propellant reserve (all hard), rate cap from level 3 (soft).
Faults: from level 3 on 40 % of the missions carry one of gyro bias, star tracker outage, thruster stuck
    closed, thruster stuck open; it begins on the turn to the target.
Start: at rest, pointing at a star, attitude known.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import KINDS, share_at
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, DRIFT_CLOSES_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.targets import CATALOGUE

FAMILY: Final = "coast-v0"
FIRST: Final = tuple(CATALOGUE)


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    quiet_s: float
    drift_deg: float
    """[deg] what a craft held at 0.2 deg before keeps to; one held at 1 deg exceeds it now and then."""
    dwell_s: float
    tolerance_deg: float
    keep_out_deg: float
    demanding: float
    """[-] share of missions whose gas does not cover 1 deg/s throughout."""
    slack_s: float
    """[s] time to spare before the quiet window, beside what a fault costs."""
    onward: bool
    """Whether another target follows."""
    turns: int


LEVELS: Final = (
    Level(60, 2.0, 20, 3.0, 20, 0.35, 90, onward=False, turns=8),
    Level(90, 2.5, 20, 3.0, 20, 0.40, 80, onward=False, turns=8),
    Level(120, 3.0, 20, 2.5, 20, 0.45, 70, onward=False, turns=8),
    Level(150, 3.5, 30, 2.5, 20, 0.50, 60, onward=False, turns=8),
    Level(180, 4.2, 30, 2.5, 20, 0.55, 60, onward=False, turns=8),
    Level(180, 4.2, 30, 2.0, 25, 0.50, 50, onward=True, turns=12),
    Level(210, 5.0, 40, 2.0, 25, 0.55, 50, onward=True, turns=12),
    Level(240, 5.5, 40, 2.0, 25, 0.60, 45, onward=True, turns=12),
    Level(270, 6.2, 40, 1.5, 30, 0.60, 45, onward=True, turns=12),
    Level(300, 7.0, 50, 1.5, 30, 0.65, 40, onward=True, turns=12),
)


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
    rates = [float(rng.choice(HURRIED_DEG_S)), float(rng.choice(CALM_DEG_S))]
    rng.shuffle(rates)
    take_up = Leg(rates[0], row.dwell_s, row.tolerance_deg, stays_s=row.quiet_s + DRIFT_CLOSES_S)
    if not plan.start() or not plan.add(take_up):
        return None
    quiet = plan.coast(row.quiet_s, row.drift_deg)
    if row.onward and not plan.add(Leg(rates[1], row.dwell_s, row.tolerance_deg)):
        return None
    return plan.mission(FAMILY, level, seed, turns=row.turns, faults=plan.fault(KINDS, 1), rules=(quiet,))
