"""The best controller we can write: plans gas against deadlines before every turn.

It tries every combination of slew rates for the turns ahead against a simple model of their time and gas,
and keeps the one whose tightest constraint has the most spare in standard deviations; beyond enough spare,
the one that scores best.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Final

from orbital_ops_env.client.prompt import SLEW_COSTS
from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import SLEW_RATES_DEG_S, AnyCommand
from orbital_ops_env.models import DirectiveBrief
from orbital_ops_env.policies.procedure import SPARE_S, Procedure, current

HOLD_G_S: Final = 0.054 / 60
"""[g/s] of a hold at 1 deg."""
ENOUGH: Final = 2.5
"""[sigma] spare beyond which the score decides."""
UNKNOWN_TURN_DEG: Final = 126.0
"""[deg] mean angle of a random turn, where the brief does not know it."""


@dataclass(frozen=True)
class Leg:
    """A turn ahead."""

    angle_deg: float
    opens_s: float
    closes_s: float
    dwell_s: float


class Reference:
    """Plans, then follows the procedure."""

    rationale = ""

    def __init__(self) -> None:
        self._procedure = Procedure(self._slew_rate)

    def begin(self, seed: int) -> None:
        """Nothing to forget: plans are made anew."""

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        return self._procedure.act(view)

    def _slew_rate(self, view: PolicyView) -> float:
        legs = turns_ahead(view)
        cap = min((rule.limit for rule in view.brief.rules if rule.kind == "rate_cap"), default=math.inf)
        menu = [rate for rate in SLEW_RATES_DEG_S if rate <= cap]
        plans = itertools.product(menu, repeat=len(legs))
        return max(plans, key=lambda rates: appraise(view, legs, rates))[0]


def turns_ahead(view: PolicyView) -> list[Leg]:
    """The turns to the current and all later pointing directives."""
    now = current(view)
    ahead = view.brief.directives[view.telemetry.directive - 1 :]
    legs: list[Leg] = []
    for directive in ahead:
        if directive.kind != "point":
            continue
        angle = view.telemetry.turn_deg if directive is now else directive.turn_deg
        legs.append(_leg(directive, UNKNOWN_TURN_DEG if angle is None else angle))
    return legs


def _leg(directive: DirectiveBrief, angle_deg: float) -> Leg:
    return Leg(angle_deg, directive.opens_s, directive.closes_s, directive.dwell_s)


def appraise(view: PolicyView, legs: list[Leg], rates: tuple[float, ...]) -> tuple[float, float]:
    """(spare of the tightest constraint [sigma], capped at `ENOUGH`; gas and time left, as scored)."""
    brief, time = view.brief, view.telemetry.time_s
    reserve = sum(rule.limit for rule in brief.rules if rule.kind == "reserve")
    gas, variance, spare = 0.0, 0.0, math.inf
    for number, (leg, rate) in enumerate(zip(legs, rates, strict=True), start=1):
        cost = SLEW_COSTS[rate]
        arrival = time + cost.time_s(leg.angle_deg)
        time = max(arrival, leg.opens_s) + leg.dwell_s
        spare = min(spare, (leg.closes_s - time) / (cost.time_sd_s * math.sqrt(number)))
        gas += cost.gas_g(leg.angle_deg) + HOLD_G_S * (time - arrival + SPARE_S)
        variance += cost.gas_sd_g**2
        time += SPARE_S
    left = view.telemetry.propellant_g - gas - reserve
    spare = min(spare, left / math.sqrt(variance))
    score = left / (brief.propellant_g - reserve) - time / brief.clock_s
    return min(spare, ENOUGH), score
