"""Hold: keep pointing for a long time on little gas.

Description: A long exposure. The deadband decides what the hold costs: a fine one burns twice the gas of a
    coarse one, a coarse one lets the craft wander out of the tolerance. The turn before competes for the
    same gas.
Teaches: deadband against budget.
Commands: `slew`, `hold`; from level 3 what a fault asks for.
Telemetry: turn and error to the current target, dwell served, propellant; residuals.
Directives: point at a first target for a short dwell (from level 2 up), then at another for a long one.
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
from orbital_ops_env.missions.budget import HOLD_GAS_G_S
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.targets import CATALOGUE

FAMILY: Final = "hold-v0"
FIRST: Final = tuple(CATALOGUE)


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    exposure_s: float
    """[s] the long dwell."""
    tolerance_deg: float
    first: bool
    """Whether another target comes before."""
    keep_out_deg: float
    demanding: float
    """[-] share of missions whose gas covers the planned rates and the coarsest deadband only."""
    slack_s: float
    """[s] time to spare on each leg, beside what a fault costs."""
    turns: int


LEVELS: Final = (
    Level(180, 3.0, False, 20, 0.40, 90, turns=8),
    Level(240, 3.0, False, 20, 0.45, 80, turns=8),
    Level(240, 2.5, True, 20, 0.50, 70, turns=8),
    Level(300, 2.5, True, 20, 0.50, 60, turns=8),
    Level(360, 2.0, True, 20, 0.55, 60, turns=8),
    Level(420, 2.0, True, 25, 0.55, 50, turns=12),
    Level(480, 2.0, True, 25, 0.60, 50, turns=12),
    Level(540, 1.5, True, 25, 0.60, 45, turns=12),
    Level(600, 1.0, True, 30, 0.65, 45, turns=12),
    Level(600, 0.8, True, 30, 0.65, 40, turns=12),
)

FIRST_DWELL_S: Final = 20.0
"""[s] dwell at the first of two targets."""
COARSE: Final = {3.0: 3.0, 2.5: 3.0, 2.0: 3.0, 1.5: 1.0, 1.0: 1.0, 0.8: 0.5}
"""[deg] coarsest deadband that stays within a tolerance [deg]; a craft wanders by half of it."""
USUAL_DEG: Final = 0.5
"""[deg] deadband that a generous budget covers."""


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row = LEVELS[level]
    demanding = bool(rng.random() < row.demanding)
    plan = Plan(
        rng,
        first,
        keep_out_deg=row.keep_out_deg,
        slack_s=row.slack_s,
        demanding=demanding,
        share=share_at(level),
    )
    rates = [float(rng.choice(HURRIED_DEG_S)), float(rng.choice(CALM_DEG_S))]
    rng.shuffle(rates)
    if not plan.start():
        return None
    if row.first and not plan.add(Leg(rates[0], FIRST_DWELL_S, row.tolerance_deg)):
        return None
    flow = HOLD_GAS_G_S[COARSE[row.tolerance_deg] if demanding else USUAL_DEG]
    if not plan.add(Leg(rates[1], row.exposure_s, row.tolerance_deg, hold_g_s=flow)):
        return None
    return plan.mission(FAMILY, level, seed, turns=row.turns, faults=plan.fault(KINDS, legs_at(level)))
