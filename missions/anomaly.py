"""Which fault a mission carries, from when on and how badly; and what coping with one costs."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from orbital_ops_env.sim.faults import (
    Fault,
    GyroBias,
    Leak,
    PanelLoss,
    StuckClosed,
    StuckOpen,
    TrackerOutage,
)
from orbital_ops_env.sim.frames import Vec3, triple, unit

KINDS: Final = ("gyro_bias", "star_tracker", "stuck_closed", "stuck_open")
"""What may break on a craft in operation."""
FAULT_SPARE_S: Final = 120.0
"""[s] in every window: a turn cut short, a diagnosis, a calibration, the turn again."""
FAULT_SPARE_G: Final = 0.5
"""[g] in every budget, for the same and for what is lost before it is noticed."""
BIAS_DEG_S: Final = (0.3, 0.45)
"""[deg/s] least and greatest gyro bias: enough to miss every tolerance, and under the 0.5 at which a craft
can still be calibrated."""
LEAK_KG_S: Final = (0.6e-6, 1.0e-6)
"""[kg/s] least and greatest leak as it begins: up to half a gram in the rest of a short mission,"""
LEAK_N_M: Final = (4e-5, 7e-5)
"""[N m] and least and greatest torque of its jet: 0.5 mN at 0.1 m."""
PANEL_LEFT: Final = (0.82, 0.92)
"""[-] least and greatest share of the panel that is left: still more than the bus takes."""
EARLIEST_S: Final = 5.0
FAULT_LEVEL: Final = 3
"""Level from which every family's missions may carry a fault."""
SHARE: Final = 0.4
"""[-] of their missions that do."""
LATE_LEVEL: Final = 5
"""Level from which a fault may begin on the second leg."""


def share_at(level: int) -> float:
    """[-] Share of a level's missions that carry a fault, in a family that is not about faults."""
    return SHARE if level >= FAULT_LEVEL else 0.0


def legs_at(level: int) -> int:
    """[-] Legs of a level's missions during which a fault may begin."""
    return 2 if level >= LATE_LEVEL else 1


def draw_fault(
    rng: np.random.Generator,
    kinds: Sequence[str],
    share: float,
    span_s: tuple[float, float],
    turn_B: Vec3,
) -> tuple[Fault, ...]:
    """A fault, or none.

    Args:
        rng: Draws it.
        kinds: Of faults, as `report_fault` names them.
        share: [-] of missions that carry one.
        span_s: [s] mission times between which it begins.
        turn_B: (3,) turn in B that a stuck thruster must disturb; its axes are drawn by their share of it.

    Raises:
        ValueError: A kind that missions do not draw.
    """
    if rng.random() >= share:
        return ()
    kind = str(rng.choice(list(kinds)))
    earliest, latest = map(int, span_s)
    onset = float(rng.integers(earliest, max(latest, earliest + 1)))
    axis = int(rng.choice(3, p=unit(turn_B) ** 2))
    number = 1 + 2 * axis + int(rng.integers(2))
    bias = math.radians(rng.uniform(*BIAS_DEG_S)) * unit(rng.normal(size=3))
    match kind:
        case "gyro_bias":
            return (GyroBias(onset, triple(bias)),)
        case "star_tracker":
            return (TrackerOutage(onset),)
        case "stuck_closed":
            return (StuckClosed(onset, number),)
        case "stuck_open":
            return (StuckOpen(onset, number),)
        case "leak":
            jet = rng.uniform(*LEAK_N_M) * unit(rng.normal(size=3))
            return (Leak(onset, float(rng.uniform(*LEAK_KG_S)), triple(jet)),)
        case "panel":
            return (PanelLoss(onset, round(float(rng.uniform(*PANEL_LEFT)), 3)),)
        case _:
            raise ValueError(f"no fault {kind!r} is drawn: expected one of those that a match above has")
