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
    quiet_windows,
)
from orbital_ops_env.policies.signatures import PANEL_W

HOLD_G_S: Final = {0.2: 1.4e-3, 0.5: 0.72e-3, 1.0: 0.54e-3, 3.0: 0.42e-3}
"""[g/s] of a long hold by deadband [deg], equal to `missions.budget`; no policy imports missions."""
PASS_G_S: Final = 3e-3
"""[g/s] of following a station across the sky."""
MOVING_G: Final = 0.3
"""[g] that a turn takes for each deg/s at which the craft moves before it, as after a pass."""
BUS_W: Final = 26.0
"""[W] of all that is on."""
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
SLOWEST_DEG_S: Final = SLEW_RATES_DEG_S[0]
LEAST_G: Final = 0.01
"""[g] resolution of what the brief tells of gas."""
NO_TURN_SD_G: Final = 0.1
"""[g] 1 sigma of what is taken where no turn is ahead."""
HORIZON: Final = 3
"""[-] turns whose rates are planned together; of those after, each is as slow as its window allows."""
IN_TIME: Final = 2.0
"""[sigma] of time to spare for that."""
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
    astray_deg: float = 0.0
    """[deg] of the pointing axis from the target before the turn, no more than the turn itself."""


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
        least = BRISK_DEG_S if self._diagnosis.has("gyro_drift") else 0.0
        menus = [
            allowed_rates(view, leg, least) if leg.angle_deg else [SLOWEST_DEG_S] for leg in legs[:HORIZON]
        ]
        moving_g = MOVING_G * view.telemetry.rate_deg_s
        gas_g = view.telemetry.propellant_g - self._diagnosis.lost_g - moving_g
        kept = (0.0, 0.0) if self._diagnosis.findings else (FAULT_G, FAULT_S)
        return max(itertools.product(*menus), key=lambda rates: appraise(view, legs, rates, gas_g, kept))[0]

    def _deadband(self, view: PolicyView) -> float:
        """[deg] The finest before a quiet window, for the rate that it leaves; else what will do."""
        directive, now = current(view), view.telemetry
        assert directive
        if any(now.time_s < since for since, _ in quiet_windows(view)):
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
        if directive is now and view.telemetry.error_deg is not None:
            leg = replace(leg, astray_deg=view.telemetry.error_deg)
        if directive.battery_pct:
            leg = replace(leg, missing_pct=max(directive.battery_pct - view.telemetry.battery_pct, 0.0))
        legs.append(leg)
        before = directive.target
    return legs


def _leg(directive: DirectiveBrief, angle_deg: float) -> Leg:
    flow = PASS_G_S if directive.kind == "downlink" else HOLD_G_S[deadband(directive)]
    return Leg(
        angle_deg,
        directive.opens_s,
        directive.closes_s,
        directive.dwell_s,
        flow,
        astray_deg=angle_deg,
    )


def allowed_rates(view: PolicyView, leg: Leg, least_deg_s: float) -> list[float]:
    """[deg/s] Rates of a turn from a least one on that no rate cap forbids until its window closes."""
    now = view.telemetry.time_s
    caps = [rule for rule in view.brief.rules if rule.kind == "rate_cap"]
    cap = min(
        (rule.limit for rule in caps if rule.from_s < leg.closes_s and (rule.until_s or math.inf) > now),
        default=math.inf,
    )
    return [rate for rate in SLEW_RATES_DEG_S if least_deg_s <= rate <= cap] or [SLOWEST_DEG_S]


def appraise(
    view: PolicyView, legs: list[Leg], rates: tuple[float, ...], gas_g: float, kept: tuple[float, float]
) -> tuple[float, float, float]:
    """How good a plan is, most important first.

    Args:
        view: The last telemetry.
        legs: Turns ahead.
        rates: [deg/s] of the first of them.
        gas_g: [g] in the tank.
        kept: [g], [s] for a fault that may still come.

    Returns:
        Spare of the tightest constraint [sigma], at most `ENOUGH`; the same with what is kept; gas and time
        left, as scored.
    """
    time, gas, variance, spare, late = view.telemetry.time_s, gas_g, 0.0, ENOUGH, ENOUGH
    for number, leg in enumerate(legs, start=1):
        rate = rates[number - 1] if number <= len(rates) else _slowest(leg, time)
        time, taken_g = flown(leg, rate, time)
        gas -= taken_g
        variance += SLEW_COSTS[rate].gas_sd_g ** 2 if leg.angle_deg else 0.0
        sigma_s, sigma_g = SLEW_COSTS[rate].time_sd_s * math.sqrt(number), math.sqrt(variance) or NO_TURN_SD_G
        over_g = gas - reserve_g(view, time)
        spare = min(spare, (leg.closes_s - time) / sigma_s, over_g / sigma_g)
        late = min(late, (leg.closes_s - kept[1] - time) / sigma_s, (over_g - kept[0]) / sigma_g)
        time += SPARE_S
    last = reserve_g(view, math.inf)
    budget_g = max(view.brief.propellant_g - last, LEAST_G)
    score = (gas - last) / budget_g - time / view.brief.clock_s
    return spare, late, score


def flown(leg: Leg, rate_deg_s: float, time_s: float) -> tuple[float, float]:
    """[s] Mission time at which a leg is done that begins at one, and [g] what it takes."""
    cost, arrival, gas = SLEW_COSTS[rate_deg_s], time_s, 0.0
    if leg.angle_deg:
        arrival, gas = arrival + cost.time_s(leg.angle_deg), cost.gas_g(leg.angle_deg)
    if time_s < leg.opens_s < arrival:  # a window edge ends the turn on its way
        arrival, gas = arrival + cost.time_base_s, gas + cost.gas_base_g
    on_the_way_s = charging_on_the_way(leg.astray_deg) * (arrival - time_s)
    sunlit_s = max(CHARGE_S_PCT * leg.missing_pct - on_the_way_s, 0.0) if leg.missing_pct else 0.0
    done = max(arrival, leg.opens_s) + leg.dwell_s + sunlit_s
    return done, gas + leg.flow_g_s * (done - arrival + SPARE_S)


def charging_on_the_way(astray_deg: float) -> float:
    """[-] Mean charging on the way to the Sun over that at its end; negative if the bus takes more."""
    angle = math.radians(astray_deg)
    cosine = math.sin(min(angle, math.pi / 2)) / angle if angle else 1.0
    return (PANEL_W * cosine - BUS_W) / (PANEL_W - BUS_W)


def reserve_g(view: PolicyView, time_s: float) -> float:
    """[g] Propellant that must be there at a mission time."""
    reserves = (rule for rule in view.brief.rules if rule.kind == "reserve")
    return max((rule.limit for rule in reserves if (rule.until_s or math.inf) >= time_s), default=0.0)


def _slowest(leg: Leg, time_s: float) -> float:
    """[deg/s] The slowest rate at which a leg is done in time, else the fastest."""
    if not leg.angle_deg:
        return SLOWEST_DEG_S
    in_time = (
        rate
        for rate in SLEW_RATES_DEG_S
        if leg.closes_s - flown(leg, rate, time_s)[0] > IN_TIME * SLEW_COSTS[rate].time_sd_s
    )
    return next(in_time, SLEW_RATES_DEG_S[-1])
