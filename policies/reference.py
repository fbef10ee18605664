"""The best controller we can write: diagnoses faults, and plans gas against deadlines before every turn.

It tries every combination of slew rates for the turns ahead against a simple model of their time and gas.
Of the plans that leave enough spare in standard deviations, for the flight as it is and then for a fault that
may still come, it takes the one that scores best.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Final

from orbital_ops_env.client.prompt import SLEW_COSTS
from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import DEADBANDS_DEG, SLEW_RATES_DEG_S, AnyCommand
from orbital_ops_env.models import DirectiveBrief
from orbital_ops_env.policies.diagnosis import Diagnosis
from orbital_ops_env.policies.procedure import (
    CHARGE_S_PCT,
    CHARGE_TOLERANCE_DEG,
    SPARE_S,
    Procedure,
    current,
    quiet_s,
)

HOLD_G_S: Final = {0.2: 1.4e-3, 0.5: 0.72e-3, 1.0: 0.54e-3, 3.0: 0.42e-3}
"""[g/s] of a long hold by deadband [deg], equal to `missions.budget`; no policy imports missions."""
PASS_G_S: Final = 3e-3
"""[g/s] of following a station across the sky."""
ON_THE_WAY: Final = 0.4
"""[-] share of full charging on the turn to the Sun."""
WANDER: Final = 0.65
"""[-] share of the deadband by which a held craft wanders, what it knows of its attitude included."""
UNSURE: Final = 0.5
"""[-] share of the tolerance for wandering while no star tracker tells the attitude."""
DRIFTING: Final = 0.25
"""[-] the same while the gyro drifts: a bias leaves an offset in proportion to the deadband's root."""
BRISK_DEG_S: Final = 0.5
"""[deg/s] slowest turn on a gyro that drifts: the slower ones outlast a calibration."""
ENOUGH: Final = 2.5
"""[sigma] spare beyond which the score decides."""
UNKNOWN_TURN_DEG: Final = 126.0
"""[deg] mean angle of a random turn, where the brief does not know it."""
FAULT_G, FAULT_S = 0.6, 120.0
"""[g], [s] kept for a fault that may still come."""


@dataclass(frozen=True)
class Leg:
    """A turn ahead, of 0 deg for a target that the craft stays at."""

    angle_deg: float
    opens_s: float
    closes_s: float
    dwell_s: float
    flow_g_s: float
    """[g/s] of its hold."""
    missing_pct: float = 0.0
    """[%] of the battery to charge there."""


class Reference:
    """Looks for faults first, then plans and follows the procedure."""

    def __init__(self) -> None:
        self._procedure = Procedure(self._slew_rate, self._deadband)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Forget the last episode."""
        self._diagnosis = Diagnosis()
        self.rationale = ""

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        found = None if quiet_s(view) > 0 else self._diagnosis.act(view)
        if found:
            command, self.rationale = found
            return command
        command = self._procedure.act(view)
        self.rationale = self._procedure.rationale
        return command

    def _slew_rate(self, view: PolicyView) -> float:
        legs = turns_ahead(view)
        cap = min((rule.limit for rule in view.brief.rules if rule.kind == "rate_cap"), default=math.inf)
        least = BRISK_DEG_S if self._diagnosis.has("gyro_drift") else 0.0
        rates = [rate for rate in SLEW_RATES_DEG_S if least <= rate <= cap]
        menus = [rates if leg.angle_deg else [0.2] for leg in legs]
        gas_g = view.telemetry.propellant_g - self._diagnosis.lost_g
        kept = (0.0, 0.0) if self._diagnosis.findings else (FAULT_G, FAULT_S)
        return max(itertools.product(*menus), key=lambda rates: appraise(view, legs, rates, gas_g, kept))[0]

    def _deadband(self, view: PolicyView) -> float:
        """[deg] The finest before a quiet window, for the rate that it leaves; else what will do."""
        directive, now = current(view), view.telemetry
        assert directive
        if any(rule.until_s is not None and now.time_s < rule.from_s for rule in view.brief.rules):
            return DEADBANDS_DEG[0]
        if self._diagnosis.has("gyro_drift"):
            return deadband(directive, DRIFTING)
        return deadband(directive, 1.0 if now.source == "star_tracker" else UNSURE)


def deadband(directive: DirectiveBrief, share: float = 1.0) -> float:
    """[deg] The coarsest deadband that keeps within a share of a tolerance."""
    tolerance = share * (directive.tolerance_deg or CHARGE_TOLERANCE_DEG)
    return max((d for d in DEADBANDS_DEG if WANDER * d <= tolerance), default=DEADBANDS_DEG[0])


def turns_ahead(view: PolicyView) -> list[Leg]:
    """The turns to the current and all later pointing directives."""
    now = current(view)
    ahead = view.brief.directives[view.telemetry.directive - 1 :]
    legs: list[Leg] = []
    before: str | None = None
    for directive in ahead:
        if directive.kind == "rate":
            continue
        angle = view.telemetry.turn_deg if directive is now else directive.turn_deg
        if directive.target == before:
            angle = 0.0
        leg = _leg(directive, UNKNOWN_TURN_DEG if angle is None else angle)
        if directive.battery_pct:
            leg = replace(leg, missing_pct=max(directive.battery_pct - view.telemetry.battery_pct, 0.0))
        legs.append(leg)
        before = directive.target
    return legs


def _leg(directive: DirectiveBrief, angle_deg: float) -> Leg:
    flow = PASS_G_S if directive.kind == "downlink" else HOLD_G_S[deadband(directive)]
    return Leg(angle_deg, directive.opens_s, directive.closes_s, directive.dwell_s, flow)


def appraise(
    view: PolicyView, legs: list[Leg], rates: tuple[float, ...], gas_g: float, kept: tuple[float, float]
) -> tuple[float, float, float]:
    """How good a plan is, most important first.

    Args:
        view: The last telemetry.
        legs: Turns ahead.
        rates: [deg/s] of each.
        gas_g: [g] in the tank.
        kept: [g], [s] for a fault that may still come.

    Returns:
        Spare of the tightest constraint [sigma], at most `ENOUGH`; the same with what is kept; gas and time
        left, as scored.
    """
    brief, time = view.brief, view.telemetry.time_s
    reserve = sum(rule.limit for rule in brief.rules if rule.kind == "reserve")
    gas, variance, spare, late = 0.0, 0.0, math.inf, math.inf
    for number, (leg, rate) in enumerate(zip(legs, rates, strict=True), start=1):
        cost = SLEW_COSTS[rate]
        arrival = time + (cost.time_s(leg.angle_deg) if leg.angle_deg else 0.0)
        if time < leg.opens_s < arrival:  # a window edge ends the turn on its way
            arrival += cost.time_base_s
            gas += cost.gas_base_g
        sunlit_s = max(CHARGE_S_PCT * leg.missing_pct - ON_THE_WAY * (arrival - time), 0.0)
        time = max(arrival, leg.opens_s) + leg.dwell_s + sunlit_s
        sigma = cost.time_sd_s * math.sqrt(number)
        spare = min(spare, (leg.closes_s - time) / sigma)
        late = min(late, (leg.closes_s - kept[1] - time) / sigma)
        gas += leg.flow_g_s * (time - arrival + SPARE_S)
        if leg.angle_deg:
            gas += cost.gas_g(leg.angle_deg)
            variance += cost.gas_sd_g**2
        time += SPARE_S
    left, sigma = gas_g - gas - reserve, math.sqrt(variance) if variance else 0.1
    score = left / (brief.propellant_g - reserve) - time / brief.clock_s
    return min(spare, left / sigma, ENOUGH), min(late, (left - kept[0]) / sigma, ENOUGH), score
