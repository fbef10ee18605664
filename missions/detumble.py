"""Detumble: kill the tip-off rates within budget, then point where the mission says.

Description: After separation the craft tumbles, its star tracker blind and its attitude known to a few
    degrees only. The gas that the tumble takes is fixed by its momentum; what is left decides how fast the
    turns may be, and the windows decide how slow.
Teaches: which sensor to trust at speed; when to stop.
Commands: `detumble`, `slew`, `hold`; from level 3 what a fault asks for.
Telemetry: body rate, star tracker validity and innovation, turn to the current target, propellant; residuals.
Directives: rate under a limit; then point at one named target (levels 0, 1) or at two, within a tolerance for
    a dwell time inside a window.
Flight rules: propellant reserve (hard); once the first target is done, Sun keep-out (hard) and from level 3
    a rate cap (soft).
Faults: from level 3 on 40 % of the missions carry one of thruster stuck closed, thruster stuck open; it
    begins during the detumble.
Start: tumbling at 1 to 10 deg/s by level, random attitude.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import EARLIEST_S, draw_fault, share_at
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, Leg, Plan
from orbital_ops_env.missions.targets import CATALOGUE

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
"""[deg/s] planned rate of the turns, but for demanding missions."""
TURN_DEG: Final = (40.0, 150.0)
"""[deg] least and greatest turn to the second target."""
KEEP_OUT_DEG: Final = 12.0
KINDS: Final = ("stuck_closed", "stuck_open")
"""Thrusters only: a craft that has not seen stars yet can neither calibrate its gyro nor do without them."""
FAULT_BY: Final = 0.8
"""[-] share of the detumble's time by which a fault begins."""


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row = LEVELS[level]
    plan = Plan(
        rng,
        first,
        keep_out_deg=KEEP_OUT_DEG,
        slack_s=row.slack_s,
        demanding=bool(rng.random() < row.demanding),
        share=share_at(level),
    )
    plan.tumble(row.rate_deg_s)
    faults = draw_fault(rng, KINDS, plan.share, (EARLIEST_S, FAULT_BY * plan.now), np.array(plan.omega))
    legs = [Leg(_rate(plan), row.dwell_s, row.tolerance_deg) for _ in range(row.targets)]
    if not (plan.acquire(legs[0]) and all(plan.add(leg, sizes_deg=TURN_DEG) for leg in legs[1:])):
        return None
    return plan.mission(FAMILY, level, seed, turns=row.turns, faults=faults)


def _rate(plan: Plan) -> float:
    """[deg/s] Planned rate of the next turn."""
    return float(plan.rng.choice(CALM_DEG_S)) if plan.demanding else PLANNED_DEG_S
