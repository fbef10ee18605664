"""A controller with a handful of thresholds that it learns by group-relative policy gradients.

It follows the written procedure; how fast it turns, how finely it holds and when it takes residuals for a
fault is up to it. Each member of a group flies with thresholds drawn about the present ones, and these move
towards the members whose return was above their group's mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import (
    DEADBANDS_DEG,
    DETUMBLE_RATES_DEG_S,
    SLEW_RATES_DEG_S,
    AnyCommand,
    CalibrateGyro,
    Detumble,
    SelectBranch,
)
from orbital_ops_env.policies.procedure import CHARGE_TOLERANCE_DEG, Procedure, current

Array = NDArray[np.float64]

NAMES: Final = ("haste", "thrift", "finesse", "surplus", "drift", "calm")
"""Thresholds, each a logit:

- haste: share of the time left that a turn may take,
- thrift: share of the gas left that a turn may take,
- finesse: deadband as a share of the tolerance,
- surplus: of `MOST_SURPLUS_DEG_S`, the unexplained rate change above which the branch is changed,
- drift: of `MOST_DRIFT_DEG_S`, the difference of gyro and tracker above which the gyro is calibrated,
- calm: of `MOST_CALM_DEG_S`, the rate down to which a tumble is nulled.
"""
MOST_SURPLUS_DEG_S: Final = 0.5
MOST_DRIFT_DEG_S: Final = 0.5
MOST_CALM_DEG_S: Final = 0.5
BEGINNER: Final = np.array([-4.0, 3.0, 2.0, 4.0, 4.0, 3.0])
"""Turns as fast as it can, holds loosely, and takes nothing for a fault."""
SPREAD: Final = 1.2
"""[-] standard deviation of the members' thresholds,"""
RATE: Final = 0.25
"""[-] and how far the present ones go at a step, in these units."""
TURN_GAS_G: Final = 1.4
"""[g] of a turn for each deg/s of its rate,"""
SETTLE_S: Final = 25.0
"""[s] and what a turn takes beside its angle over its rate."""
ONCE: Final = 1
"""[-] times that a branch is changed, or a gyro calibrated."""


def share(logit: float) -> float:
    """[-] A threshold's share, in (0, 1)."""
    return float(1 / (1 + np.exp(-logit)))


class Apprentice:
    """Flies with some thresholds.

    Args:
        thresholds: (6,) logits in the order of `NAMES`.
    """

    def __init__(self, thresholds: Array) -> None:
        told = dict(zip(NAMES, map(share, thresholds), strict=True))
        self._told = told
        self._procedure = Procedure(self._slew_rate, self._deadband)
        self._changed = self._calibrated = 0
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Forget the last episode."""
        self._changed = self._calibrated = 0

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        telemetry = view.telemetry
        if telemetry.surplus_deg_s > self._told["surplus"] * MOST_SURPLUS_DEG_S and self._changed < ONCE:
            self._changed += 1
            return SelectBranch(branch="B" if telemetry.branch == "A" else "A")
        drift = abs(telemetry.gyro_tracker_deg_s or 0.0)
        if drift > self._told["drift"] * MOST_DRIFT_DEG_S and self._calibrated < ONCE:
            self._calibrated += 1
            return CalibrateGyro(duration_s=60)
        command = self._procedure.act(view)
        if isinstance(command, Detumble):
            return Detumble(rate_deg_s=_nearest(DETUMBLE_RATES_DEG_S, self._told["calm"] * MOST_CALM_DEG_S))
        return command

    def _slew_rate(self, view: PolicyView) -> float:
        """[deg/s] The slowest rate that is fast enough, or the fastest that there is gas for."""
        directive, telemetry = current(view), view.telemetry
        left_s = (directive.closes_s - telemetry.time_s) if directive else 0.0
        turn_deg = telemetry.turn_deg or 0.0
        wanted = turn_deg / max(self._told["haste"] * left_s - SETTLE_S, 1.0)
        afforded = self._told["thrift"] * telemetry.propellant_g / TURN_GAS_G
        fast = [rate for rate in SLEW_RATES_DEG_S if rate >= wanted] or [max(SLEW_RATES_DEG_S)]
        cheap = [rate for rate in SLEW_RATES_DEG_S if rate <= afforded] or [min(SLEW_RATES_DEG_S)]
        return min(min(fast), max(cheap))

    def _deadband(self, view: PolicyView) -> float:
        directive = current(view)
        tolerance = (directive.tolerance_deg if directive else None) or CHARGE_TOLERANCE_DEG
        return _nearest(DEADBANDS_DEG, self._told["finesse"] * tolerance)


def _nearest(menu: Sequence[float], value: float) -> float:
    """The one of a menu that is nearest by ratio."""
    return min(menu, key=lambda each: abs(np.log(each / max(value, 1e-6))))


@dataclass
class Learner:
    """The present thresholds."""

    rng: np.random.Generator
    thresholds: Array

    def drawn(self) -> Array:
        """(6,) thresholds of a member."""
        return self.thresholds + SPREAD * self.rng.standard_normal(len(NAMES))

    def learn(self, flown: Sequence[Sequence[tuple[Array, float]]]) -> None:
        """One step from groups of members, each with its thresholds and return."""
        pushes: list[Array] = []
        for group in flown:
            returns = np.array([return_ for _, return_ in group])
            advantages = (returns - returns.mean()) / (returns.std() + 1e-4)
            moves = np.array([(thresholds - self.thresholds) / SPREAD for thresholds, _ in group])
            pushes.append((advantages[:, None] * moves).mean(axis=0))
        self.thresholds = self.thresholds + RATE * SPREAD * np.mean(pushes, axis=0) * len(flown) ** 0.5
