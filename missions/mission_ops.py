"""Mission operations: fly the first hours of a small satellite under tens of flight rules: the flagship.

Description: From separation on: null the tumble, find the first star, keep still through a quiet window, take
    an image and send it down, charge, survey star after star while something breaks unannounced, and hold
    still for a long exposure in the end. Every phase has gas kept for it by a rule of its own, so that what
    an early phase wastes is missing later.
Teaches: a long horizon: early waste breaks later phases; rules that pile up.
Commands: `detumble`, `slew`, `hold`, `coast`, `image`, `downlink`, and what the fault asks for.
Telemetry: all of it.
Directives: rate under a limit; point at a star, before a quiet window and after it; expose the imager; send
    the image down during a pass; charge; point at 3 to 14 stars in turn; point finely for a long dwell.
Flight rules: 10 at level 0 to 60 at level 9: Sun keep-out, keep-outs of stars, quiet window, propellant
    reserves for each later phase, battery floors (all hard), rate caps (soft).
Faults: every mission carries one of gyro bias, thruster stuck closed, thruster stuck open; it begins during
    the survey. The others leave too little for hours: without stars the attitude drifts, a leak takes the
    gas, a lost panel the charge.
Start: tumbling, attitude unknown, storage empty.
End: the last directive done; a window missed; a hard rule broken; the clock; the turn limit.
Version history: v0.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions.activities import SEND_S, SHOT_S, charge, downlink, in_the_sun
from orbital_ops_env.missions.anomaly import draw_fault
from orbital_ops_env.missions.budget import HOLD_GAS_G_S, path_angle
from orbital_ops_env.missions.directives import Charge, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import DRIFT_CLOSES_S, RESERVE_G, Leg, Plan
from orbital_ops_env.missions.rules import BatteryFloor, FlightRule, KeepOut, QuietWindow, RateCap, Reserve
from orbital_ops_env.missions.targets import NAMED, STARS
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.state import Power, target_frame

FAMILY: Final = "mission-ops-v0"
FIRST: Final = tuple(sorted(STARS))
KINDS: Final = ("gyro_bias", "stuck_closed", "stuck_open")
"""What may break."""


@dataclass(frozen=True)
class Level:
    """One row of the table."""

    rate_deg_s: tuple[float, float]
    """[deg/s] least and greatest tip-off rate."""
    targets: int
    """[-] stars of the survey."""
    tolerance_deg: float
    quiet_s: float
    drift_deg: float
    """[deg] limit of the drift after the quiet window."""
    exposure_s: float
    """[s] the last dwell,"""
    fine_deg: float
    """[deg] and its tolerance."""
    slack_s: float
    """[s] time to spare on each leg, beside what a fault costs."""
    reserves: int
    """[-] propellant reserves for a time, beside the lasting one,"""
    keep_outs: int
    """[-] keep-outs of stars, beside the Sun's,"""
    floors: int
    """[-] battery floors,"""
    caps: int
    """[-] and rate caps for a time, beside the lasting ones."""
    turns: int


LEVELS: Final = (
    Level((0.5, 1.0), 3, 3.0, 60, 3.0, 180, 1.5, 90, 2, 1, 1, 2, turns=40),
    Level((0.5, 1.2), 4, 3.0, 90, 3.5, 240, 1.5, 80, 3, 2, 2, 4, turns=47),
    Level((0.8, 1.4), 5, 2.5, 120, 4.0, 240, 1.2, 80, 5, 3, 4, 5, turns=53),
    Level((0.8, 1.5), 6, 2.5, 120, 4.0, 300, 1.2, 70, 6, 4, 5, 6, turns=60),
    Level((1.0, 1.6), 7, 2.5, 150, 4.5, 300, 1.0, 70, 8, 5, 7, 7, turns=67),
    Level((1.0, 1.8), 8, 2.0, 150, 4.5, 360, 1.0, 60, 9, 6, 8, 9, turns=73),
    Level((1.2, 1.8), 10, 2.0, 180, 5.0, 420, 0.8, 60, 11, 6, 10, 11, turns=80),
    Level((1.2, 1.8), 11, 2.0, 180, 5.0, 480, 0.8, 55, 13, 7, 11, 12, turns=87),
    Level((1.3, 1.8), 12, 2.0, 210, 5.5, 540, 0.8, 55, 14, 7, 14, 14, turns=93),
    Level((1.4, 1.8), 14, 2.0, 240, 6.0, 600, 0.8, 50, 16, 7, 16, 16, turns=100),
)

KEEP_OUT_DEG: Final = 20.0
TURN_DEG: Final = (20.0, 60.0)
"""[deg] least and greatest turn of the survey,"""
WIDE_DEG: Final = (20.0, 140.0)
"""[deg] where no star is so near."""
SURVEYS: Final = 60
"""[-] surveys tried after a payload phase."""
DWELL_S: Final = 40.0
"""[s] at each star of the survey, and at the first."""
PLANNED_DEG_S: Final = 0.5
"""[deg/s] planned rate of the first turn and of the last,"""
RATES_DEG_S: Final = (0.2, 0.5, 1.0)
"""[deg/s] and of the others,"""
RATE_SHARES: Final = (0.75, 0.2, 0.05)
"""[-] and the share of turns that have each."""
SLOWER_DEG_S: Final = {0.2: 0.2, 0.5: 0.2, 1.0: 0.5}
"""[deg/s] rate that the gas covers by the planned one: windows have time to spare."""
WAITING: Final = 0.5
"""[-] share of the survey's legs whose window opens after the craft can be there,"""
WAIT_S: Final = (30.0, 90.0)
"""[s] by so much."""
PASS_WAIT_S: Final = 200.0
"""[s] longest wait for the station."""
START_LEVEL: Final = (0.5, 0.85)
"""[-] charge at the start, least and most."""
CHARGE_S: Final = 900.0
"""[s] of sunlight that the charge takes,"""
SUN_SPAN_S: Final = (1000.0, 2600.0)
"""[s] from the image on, in which the charge will be,"""
CHARGE_SPARE_S: Final = 600.0
"""[s] and for what one lacks that waited in another attitude than planned."""
FAULT_BY: Final = 0.6
"""[-] share of survey and exposure by which a fault begins."""
FULL: Final = 0.97
"""[-] charge up to which the plan's energy is what the battery takes."""
COARSE_DEG: Final = 3.0
"""[deg] deadband that the survey's holds are budgeted for,"""
FINE_DEADBAND_DEG: Final = 0.5
"""[deg] and that of the last."""
AHEAD: Final = 2
"""[-] directives that a craft may be ahead of its timeline: a reserve leaves it their gas."""
CALM_CAP_DEG_S: Final = 0.6
"""[deg/s] rate cap for a time."""
STAR_DEG: Final = 8.0
"""[deg] keep-out of a star,"""
STAR_SPARE_DEG: Final = 6.0
"""[deg] and how much farther off the planned turns are."""
FLOOR_SPARE: Final = 0.2
"""[-] spare over a battery floor of a flight as planned: eighteen minutes in the dark."""
LASTING_FLOOR: Final = 0.15
"""[-] battery floor throughout."""
LONGEST_S: Final = 10_000.0


def candidate(level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
    """A mission of a level, to a first target; None if the sky does not allow it."""
    row = LEVELS[level]
    plan = Plan(
        rng,
        first,
        keep_out_deg=KEEP_OUT_DEG,
        slack_s=row.slack_s,
        demanding=True,
        share=1.0,
    )
    plan.tumble(row.rate_deg_s)
    stays_s = row.quiet_s + DRIFT_CLOSES_S
    take_up = Leg(PLANNED_DEG_S, DWELL_S, row.tolerance_deg, stays_s=stays_s)
    if not plan.acquire(take_up):
        return None
    quiet = plan.coast(row.quiet_s, row.drift_deg)
    least = _payload(plan, row)
    if least is None:
        return None
    endings = (_ended(plan.copy(), level, seed, quiet, least) for _ in range(SURVEYS))
    return next(filter(None, endings), None)


def _payload(plan: Plan, row: Level) -> float | None:
    """Image, downlink and charge: the least charge at the start; None if the sky does not allow them."""
    if not plan.add(Leg(_rate(plan), SHOT_S, row.tolerance_deg, kind=TakeImage), STARS, WIDE_DEG):
        return None
    if not in_the_sun(plan, plan.now + SUN_SPAN_S[0], plan.now + SUN_SPAN_S[1]):
        return None
    if not downlink(plan, _rate(plan), SEND_S, PASS_WAIT_S):
        return None
    done, battery = charge(plan, _rate(plan), CHARGE_S, START_LEVEL[0], CHARGE_SPARE_S)
    plan.now += CHARGE_SPARE_S
    return battery if done else None


def _ended(plan: Plan, level: int, seed: int, quiet: QuietWindow, least: float) -> MissionSpec | None:
    """The mission after its payload phases, with a survey and an exposure; None if these do not fit."""
    row = LEVELS[level]
    began, surveyed, busy_s = plan.now, len(plan.turns), plan.directives[-1].closes_s
    last = Leg(PLANNED_DEG_S, row.exposure_s, row.fine_deg, hold_g_s=HOLD_GAS_G_S[FINE_DEADBAND_DEG])
    if not (all(_visit(plan, row) for _ in range(row.targets)) and plan.add(last, STARS, WIDE_DEG)):
        return None
    battery = _powered(plan, least)
    if battery is None:
        return None
    standing = list(_standing(plan, row, battery, busy_s))
    if len(standing) < row.reserves + row.keep_outs + row.floors + row.caps + 1:
        return None
    return plan.mission(
        FAMILY,
        level,
        seed,
        turns=row.turns,
        faults=_fault(plan, began, surveyed),
        rules=(quiet, *standing),
        battery=round(battery, 4),
        longest_s=LONGEST_S,
    )


def _visit(plan: Plan, row: Level) -> bool:
    """Add a star of the survey; False if none is seen."""
    waits = plan.rng.random() < WAITING
    wait_s = float(plan.rng.uniform(*WAIT_S)) if waits else 0.0
    rate, flow = _rate(plan), HOLD_GAS_G_S[COARSE_DEG]
    leg = Leg(rate, DWELL_S, row.tolerance_deg, wait_s, hold_g_s=flow, thrift_deg_s=SLOWER_DEG_S[rate])
    return plan.add(leg, STARS, TURN_DEG) or plan.add(leg, STARS, WIDE_DEG)


def _powered(plan: Plan, least: float) -> float | None:
    """The charge at the start with which a flight as planned neither fills the battery nor nears a floor.

    Args:
        plan: All of it; its charge is raised by as much as the start.
        least: [-] charge at the start that the plan's charge goes with.

    Returns:
        None if there is none.
    """
    lowest, highest = (least + j / Power().battery_j for j in (plan.least_j, max(plan.stored_j)))
    spans = START_LEVEL[1] - least, FULL - highest
    among = np.arange(max(0, math.floor(100 * (LASTING_FLOOR + FLOOR_SPARE - lowest)) + 1), 100 * min(spans))
    if not len(among):
        return None
    more = 0.01 * float(plan.rng.choice(among))
    plan.directives = [
        each.model_copy(update={"level": round(each.level + more, 2)}) if isinstance(each, Charge) else each
        for each in plan.directives
    ]
    return least + more


def _rate(plan: Plan) -> float:
    """[deg/s] Planned rate of the next turn."""
    return float(plan.rng.choice(RATES_DEG_S, p=RATE_SHARES))


def _fault(plan: Plan, began_s: float, surveyed: int) -> tuple[Fault, ...]:
    """What breaks during the survey, on a thruster that one of its turns needs."""
    until_s = began_s + FAULT_BY * (plan.now - began_s)
    turn = plan.turns[surveyed + int(plan.rng.integers(len(plan.turns) - surveyed))]
    return draw_fault(plan.rng, KINDS, 1.0, (began_s, until_s), turn)


# -- flight rules ------------------------------------------------------------------------------


def _standing(plan: Plan, row: Level, battery: float, busy_s: float) -> Iterator[FlightRule]:
    """The rules beside those of every plan.

    Args:
        plan: All of it.
        row: How many of them.
        battery: [-] charge at the start.
        busy_s: [s] mission time from which turns are those between stars, known beforehand.
    """
    yield BatteryFloor(level=LASTING_FLOOR)
    numbers = range(2, len(plan.directives))
    for number in _some(plan, row.reserves, numbers[: -AHEAD - 1]):
        yield _reserve(plan, number)
    for number in _some(plan, row.floors, numbers):
        yield _floor(plan, number, battery)
    for number in _some(plan, row.caps, [n for n in numbers if plan.rates_deg_s[n] < CALM_CAP_DEG_S]):
        yield _cap(plan, number)
    clear = (name for name in plan.rng.permutation(sorted(STARS)) if _kept_off(plan, str(name)))
    for _, name in zip(range(row.keep_outs), clear, strict=False):
        yield KeepOut(target=str(name), angle_rad=math.radians(STAR_DEG), from_s=busy_s)


def _some(plan: Plan, count: int, among: Sequence[int]) -> list[int]:
    """So many numbers of directives, or all, in order."""
    return sorted(plan.rng.choice(among, min(count, len(among)), replace=False).tolist())


def _reserve(plan: Plan, number: int) -> Reserve:
    """What all but the next directives after one take must be there until its window closes."""
    later_g = plan.spent_g[-1] - plan.spent_g[number + AHEAD]
    kept_g = math.floor(10 * (RESERVE_G + later_g)) / 10
    return Reserve(propellant_kg=1e-3 * kept_g, until_s=plan.directives[number].closes_s)


def _floor(plan: Plan, number: int, battery: float) -> BatteryFloor:
    """The battery while a directive's window is the current one, whatever the craft is at by then."""
    least_j = min(plan.stored_j[number - 1 : number + 1 + AHEAD])
    level = math.floor(100 * (battery + least_j / Power().battery_j - FLOOR_SPARE)) / 100
    begin, end = (plan.directives[n].closes_s for n in (number - 1, number))
    return BatteryFloor(level=level, from_s=begin, until_s=end)


def _cap(plan: Plan, number: int) -> RateCap:
    """A low rate while a directive's window is the current one."""
    begin, end = (plan.directives[n].closes_s for n in (number - 1, number))
    return RateCap(rate_rad_s=math.radians(CALM_CAP_DEG_S), from_s=begin, until_s=end)


def _kept_off(plan: Plan, name: str) -> bool:
    """Whether the planned turns keep well off a star that the mission has no use for."""
    if name in plan.names:
        return False
    hat = target_frame(NAMED[name], plan.orbit, 0.0)[2]
    least = math.radians(STAR_DEG + STAR_SPARE_DEG)
    return all(path_angle(*turn, hat) > least for turn in plan.path)
