"""How hard an edited mission is, told by the row of its family's table whose missions are as hard."""

import functools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.missions.budget import slew_gas_g, slew_time_s
from orbital_ops_env.missions.catalog import LEVELS, generate
from orbital_ops_env.missions.directives import Aimed
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import FAST_DEG_S, FIRST_TURN_RAD
from orbital_ops_env.missions.rules import QuietWindow

SAMPLE: Final = 12
"""[-] missions of each row,"""
FIRST_SEED: Final = 110_000
"""from here on."""
TINY: Final = 1e-3
RIDGE: Final = 40.0
"""[-] of the regression: a third of the missions, so that features which go together share."""


@dataclass(frozen=True)
class Scale:
    """How a family's levels are told from features."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    """(8,) of features, by which the level is regressed on them."""
    rows: NDArray[np.float64]
    """(10,) what each row's missions have on average,"""
    turns: tuple[int, ...]
    """(10,) and the commands that they allow."""

    def of(self, told: NDArray[np.float64]) -> float:
        """[-] How hard a mission of some features (8,) is."""
        return float((told - self.mean) / self.spread @ self.weights)


def tier(spec: MissionSpec) -> int:
    """The level, 0 to 9, of the row whose missions are as hard, by a regression on `features`."""
    scale = _scale(spec.family)
    return int(np.argmin(np.abs(scale.rows - scale.of(features(spec)))))


def levelled(spec: MissionSpec) -> MissionSpec:
    """The mission told to be of its tier, with the commands that missions of that level have.

    A trainer's episodes have room for those, and no edit alone gives or takes any.
    """
    level = tier(spec)
    return spec.model_copy(update={"level": level, "turns": _scale(spec.family).turns[level]})


def features(spec: MissionSpec) -> NDArray[np.float64]:
    """(8,) what makes a mission hard: how much, how fine, how long, how fast, how little there is for it."""
    aimed = [d for d in spec.directives if isinstance(d, Aimed)]
    turns = [d.turn_rad or FIRST_TURN_RAD for d in aimed if d.turn_rad or spec.start.omega_BN_B]
    fast_g = sum(slew_gas_g(FAST_DEG_S, each) for each in turns) or TINY
    fast_s = sum(slew_time_s(FAST_DEG_S, each) for each in turns) or TINY
    dwells_s = sum(d.dwell_s for d in spec.directives)
    quiet_s = sum(r.closes_s - r.opens_s for r in spec.rules if isinstance(r, QuietWindow))
    usable_g = 1e3 * (spec.start.propellant_kg - spec.reserve_kg)
    return np.array(
        [
            len(spec.directives),
            math.log(min(d.tolerance_rad for d in aimed)) if aimed else 0.0,
            math.log(dwells_s + quiet_s),
            math.log(usable_g / fast_g),
            math.log(spec.clock_s / (fast_s + dwells_s + quiet_s)),
            float(np.linalg.norm(spec.start.omega_BN_B)),
            len(spec.rules),
            len(spec.faults),
        ]
    )


@functools.cache
def _scale(family: str) -> Scale:
    seeds = range(FIRST_SEED, FIRST_SEED + SAMPLE)
    missions = [generate(family, level, seed) for level in LEVELS for seed in seeds]
    told = np.array([features(each) for each in missions])
    levels = np.repeat(np.array(LEVELS, float), SAMPLE)
    mean, spread = told.mean(axis=0), np.maximum(told.std(axis=0), TINY)
    over: NDArray[np.float64] = (told - mean) / spread
    normal = over.T @ over + RIDGE * np.eye(over.shape[1])
    weights = np.array(np.linalg.solve(normal, over.T @ (levels - levels.mean())), float)
    rows = np.dot(over, weights).reshape(len(LEVELS), SAMPLE).mean(axis=1)
    return Scale(mean, spread, weights, rows, tuple(each.turns for each in missions[::SAMPLE]))
