"""Shift: take images, send them down and charge, all on one timeline.

Description: A craft at work takes images, sends them down while a ground station sees it, and keeps its
    battery charged, through eclipse if the orbit has one. A pass does not wait. Away from the Sun the panel
    gives little, so where the craft waits is a decision.
Teaches: resource conflicts: gas, time, energy and storage on one timeline.
Commands: `slew`, `hold`, `image`, `downlink`; from level 3 what a fault asks for.
Telemetry: turn and error to the current target, battery, panel power, stored data, time, propellant;
    residuals.
Directives: expose the imager to a star within a tolerance; send data to a station during its pass; charge
    the battery to a level with the panel at the Sun. In the order given, each inside its window.
Flight rules: Sun keep-out, propellant reserve, from level 2 a battery floor (all hard), rate cap from level 3
    (soft).
Faults: from level 3 on 40 % of the missions carry one of gyro bias, star tracker outage, thruster stuck
    closed, thruster stuck open, tank leak, loss of a part of the panel; it begins on the first leg, from
    level 5 on the first two.
Start: at rest, pointing at a star, attitude known, storage empty.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from orbital_ops_env.missions.activities import SEND_S, SHOT_S, charge, downlink
from orbital_ops_env.missions.anomaly import KINDS as OTHERS
from orbital_ops_env.missions.anomaly import legs_at, share_at
from orbital_ops_env.missions.directives import TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.rules import BatteryFloor
from orbital_ops_env.missions.targets import STARS
from orbital_ops_env.sim.state import Power

FAMILY: Final = "shift-v0"
FIRST: Final = tuple(sorted(STARS))
KINDS: Final = (*OTHERS, "leak", "panel")
"""What may break."""
Task = Literal["image", "downlink", "charge"]


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    tasks: tuple[Task, ...]
    tolerance_deg: float
    """[deg] of an image."""
    charge_s: float
    """[s] of sunlight that a charge takes."""
    keep_out_deg: float
    demanding: float
    """[-] share of missions whose gas does not cover 1 deg/s throughout."""
    slack_s: float
    """[s] time to spare on each leg, beside what a fault costs."""
    wait_s: float
    """[s] longest wait for a station."""
    turns: int


LEVELS: Final = (
    Level(("image", "downlink"), 3.0, 0, 20, 0.25, 80, 120, turns=8),
    Level(("image", "downlink"), 2.5, 0, 20, 0.35, 70, 120, turns=8),
    Level(("charge", "image"), 2.5, 95, 20, 0.45, 70, 100, turns=8),
    Level(("image", "downlink"), 2.5, 0, 20, 0.45, 60, 100, turns=8),
    Level(("image", "downlink"), 2.0, 0, 20, 0.50, 50, 100, turns=8),
    Level(("charge", "image", "downlink"), 2.0, 95, 25, 0.50, 50, 120, turns=12),
    Level(("image", "charge", "downlink"), 2.0, 180, 25, 0.55, 50, 120, turns=12),
    Level(("image", "downlink", "charge"), 2.0, 180, 25, 0.55, 45, 160, turns=12),
    Level(("image", "image", "downlink"), 1.5, 0, 30, 0.60, 45, 160, turns=12),
    Level(("image", "charge", "downlink"), 1.5, 180, 30, 0.60, 40, 200, turns=12),
)

DIMMED: Final = 0.6
"""[-] of a charge's time that it may take longer on what a fault leaves of the panel."""
START_LEVEL: Final = (0.45, 0.75)
"""[-] charge at the start, least and most."""
FLOOR_LEVEL: Final = 2
"""Level from which on a battery floor is a rule."""
FLOOR_SPARE: Final = 0.07
"""[-] spare over the floor of a flight as planned: six minutes in the dark."""


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
    hurried = int(rng.integers(len(row.tasks)))
    battery = float(rng.uniform(*START_LEVEL))
    if not plan.start():
        return None
    stored = 0
    for number, task in enumerate(row.tasks):
        rate = float(rng.choice(HURRIED_DEG_S if number == hurried else CALM_DEG_S))
        match task:
            case "image":
                stored += 1
                done = plan.add(Leg(rate, SHOT_S, row.tolerance_deg, kind=TakeImage), STARS)
            case "downlink":
                done = downlink(plan, rate, SEND_S * stored, row.wait_s)
            case "charge":
                spare_s = DIMMED * row.charge_s if plan.share else 0.0
                done, battery = charge(plan, rate, row.charge_s, battery, spare_s)
        if not done:
            return None
    floor = math.floor(100 * (battery + plan.least_j / Power().battery_j - FLOOR_SPARE)) / 100
    return plan.mission(
        FAMILY,
        level,
        seed,
        turns=row.turns,
        faults=plan.fault(KINDS, legs_at(level)),
        rules=(BatteryFloor(level=floor),) if level >= FLOOR_LEVEL else (),
        battery=round(battery, 4),
    )
