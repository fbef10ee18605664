"""What a plan may hold beside turns: the pass of a ground station, and a charge in the Sun."""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from orbital_ops_env.missions.budget import slew_time_s, turn_between
from orbital_ops_env.missions.directives import Charge, SendData
from orbital_ops_env.missions.plan import Leg, Plan
from orbital_ops_env.missions.targets import STATIONS, contact, lit, passing, tracker_sees
from orbital_ops_env.sim.frames import Mat3
from orbital_ops_env.sim.state import Power, Sun, target_frame

SHOT_S: Final = 15.0
"""[s] of an exposure that must be on target."""
SEND_S: Final = 40.0
"""[s] of sending asked for each image stored; a whole one takes 60, one that was cut after `SHOT_S` 45."""
BEAM_DEG: Final = 8.0
"""[deg] pointing error within which sending counts."""
ASIDE_RAD: Final = (math.radians(2.5), math.radians(8.0))
"""[rad] of arc between station and track: passes of 22 to 59 deg of elevation, no faster than 0.9 deg/s."""
HALF_PASS_S: Final = 190.0
"""[s] from the rise of a station to the middle of its pass, about,"""
EDGE_S: Final = 3.0
"""[s] of a pass at each end that are not counted on,"""
LEAST_WAIT_S: Final = 15.0
"""[s] least wait for a station: an edge of its window would end the turn to it."""
ASTRAY_S, STEP_S = 120.0, 20.0
"""[s] by which a turn may take another time than was assumed, and steps at which waits are tried."""
CHARGED_S: Final = 5.0
"""[s] for which the battery must be at its level."""
ASSUMED_DEG: Final = 90.0
"""[deg] turn to a station before it is known where it is."""
TURN_DEG: Final = (30.0, 170.0)
"""[deg] least and greatest turn to a station or to the Sun."""
LIT_STEP_S: Final = 60.0
"""[s] at which the light of a charge is looked at."""
PASS_G: Final = 0.35
"""[g] for following a station across the sky, measured."""


def downlink(plan: Plan, rate_deg_s: float, dwell_s: float, wait_s: float) -> bool:
    """Add the pass of a station about when the craft can be there; False if there is none."""
    names = plan.rng.permutation(list(STATIONS))
    ahead = plan.rng.permutation(np.arange(-ASTRAY_S, wait_s + ASTRAY_S, STEP_S))
    return any(
        _follow(plan, str(name), rate_deg_s, dwell_s, float(a), wait_s) for name in names for a in ahead
    )


def _follow(plan: Plan, name: str, rate_deg_s: float, dwell_s: float, ahead_s: float, wait_s: float) -> bool:
    """Add the pass of a station, if there can be one.

    The Earth is turned so that the station lies beside the track: nothing else of the mission depends on it.
    """
    station = STATIONS[name]
    middle = plan.now + slew_time_s(rate_deg_s, math.radians(ASSUMED_DEG)) + ahead_s + HALF_PASS_S
    sidereal = passing(station, plan.orbit, middle, ASIDE_RAD)
    if sidereal is None:
        return False
    orbit = replace(plan.orbit, sidereal_rad=sidereal % (2 * math.pi))
    rises, sets = contact(station, orbit, middle)
    attitude = target_frame(station, orbit, rises)
    angle = float(np.linalg.norm(turn_between(plan.frame, attitude)))
    arrived = plan.now + slew_time_s(rate_deg_s, angle)
    opens, closes = math.ceil(rises) + EDGE_S, math.floor(sets) - EDGE_S
    fits = LEAST_WAIT_S <= opens - arrived <= wait_s and plan.closing(opens + dwell_s) <= closes
    ways = [target_frame(station, orbit, t) for t in (plan.now, arrived, opens, 0.5 * (opens + closes))]
    seen = all(tracker_sees(target_frame(station, orbit, t), orbit, t, 0.0) for t in (opens, closes))
    if not (fits and seen and all(plan.clear(way, TURN_DEG) for way in ways)):
        return False
    plan.orbit = orbit
    plan.names.append(name)
    directive = SendData(
        opens_s=opens,
        closes_s=closes,
        dwell_s=dwell_s,
        target=name,
        tolerance_rad=math.radians(BEAM_DEG),
        turn_rad=angle,
    )
    plan.gas_g += PASS_G
    plan.go(Leg(rate_deg_s, dwell_s, BEAM_DEG), attitude, directive)
    plan.path.append((attitude, target_frame(station, orbit, plan.now)))
    plan.frame = target_frame(station, orbit, plan.now)
    return True


def in_the_sun(plan: Plan, begin_s: float, end_s: float) -> bool:
    """Whether a craft with its panel at the Sun is lit, and sees stars, at two mission times."""
    attitude = target_frame(Sun(), plan.orbit, begin_s)
    return _sunny(attitude, plan, begin_s) and _sunny(attitude, plan, end_s)


def charge(
    plan: Plan, rate_deg_s: float, charge_s: float, battery: float, spare_s: float
) -> tuple[bool, float]:
    """Add a charge.

    Args:
        plan: So far.
        rate_deg_s: [deg/s] planned for the turn to the Sun.
        charge_s: [s] planned in its light.
        battery: [-] charge at the start.
        spare_s: [s] that it may take longer.

    Returns:
        Whether the sky allows it, and the charge at the start that lets the level be a whole percent.
    """
    attitude = target_frame(Sun(), plan.orbit, plan.now)
    if not plan.clear(attitude, TURN_DEG):
        return False, battery
    angle = float(np.linalg.norm(turn_between(plan.frame, attitude)))
    arrived = plan.now + slew_time_s(rate_deg_s, angle)
    closes = plan.closing(arrived + charge_s + CHARGED_S + spare_s)
    if not all(_sunny(attitude, plan, t) for t in (*np.arange(arrived, closes, LIT_STEP_S), closes)):
        return False, battery
    leg = Leg(rate_deg_s, charge_s + CHARGED_S, 0.0)
    before = plan.energy_j
    directive = Charge(opens_s=0.0, closes_s=closes, dwell_s=CHARGED_S, level=0.5, turn_rad=angle)
    plan.go(leg, attitude, directive)
    reached = battery + plan.energy_j / Power().battery_j
    level = round(100 * reached) / 100
    plan.directives[-1] = directive.model_copy(update={"level": level})
    return plan.energy_j > before, battery + level - reached


def _sunny(attitude: Mat3, plan: Plan, t: float) -> bool:
    return lit(plan.orbit, t) and tracker_sees(attitude, plan.orbit, t, 0.0)
