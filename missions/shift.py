"""Shift: images, a downlink and a charge on one timeline.

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
Version history: v0, not frozen yet.
"""

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from orbital_ops_env.missions.anomaly import KINDS as OTHERS
from orbital_ops_env.missions.anomaly import legs_at, share_at
from orbital_ops_env.missions.budget import slew_time_s, turn_between
from orbital_ops_env.missions.directives import Charge, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import CALM_DEG_S, HURRIED_DEG_S, Leg, Plan
from orbital_ops_env.missions.rules import BatteryFloor
from orbital_ops_env.missions.targets import STARS, STATIONS, contact, lit, passing, tracker_sees
from orbital_ops_env.sim.frames import Mat3
from orbital_ops_env.sim.state import Power, Sun, target_frame

FAMILY: Final = "shift-v0"
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

SHOT_S: Final = 15.0
"""[s] of an exposure that must be on target."""
SEND_S: Final = 50.0
"""[s] of sending asked for each image stored; an image takes 60."""
BEAM_DEG: Final = 8.0
"""[deg] pointing error within which sending counts."""
ASIDE_RAD: Final = (math.radians(2.5), math.radians(8.0))
"""[rad] of arc between station and track: passes of 22 to 59 deg of elevation, no faster than 0.65 deg/s."""
HALF_PASS_S: Final = 190.0
"""[s] from the rise of a station to the middle of its pass, about,"""
EDGE_S: Final = 3.0
"""[s] of a pass at each end that are not counted on,"""
LEAST_WAIT_S: Final = 15.0
"""[s] least wait for a station: an edge of its window would end the turn to it."""
ASTRAY_S, STEP_S = 120.0, 20.0
"""[s] by which a turn may take another time than was assumed, and steps at which waits are tried."""
DIMMED: Final = 0.6
"""[-] of a charge's time that it may take longer on what a fault leaves of the panel."""
CHARGED_S: Final = 5.0
"""[s] for which the battery must be at its level."""
ASSUMED_DEG: Final = 90.0
"""[deg] turn to a station before it is known where it is."""
TURN_DEG: Final = (30.0, 170.0)
"""[deg] least and greatest turn to a station or to the Sun."""
PASS_G: Final = 0.35
"""[g] for following a station across the sky, measured."""
START_LEVEL: Final = (0.45, 0.75)
"""[-] charge at the start, least and most."""
FLOOR_LEVEL: Final = 2
"""Level from which on a battery floor is a rule."""
FLOOR_SPARE: Final = 0.07
"""[-] spare over the floor of a flight as planned: six minutes in the dark."""


def candidate(level: int, rng: np.random.Generator, seed: int) -> MissionSpec | None:
    """A mission of a level drawn from a generator; None if the sky does not allow it."""
    row = LEVELS[level]
    plan = Plan(
        rng,
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
                done = _downlink(plan, rate, SEND_S * stored, row.wait_s)
            case "charge":
                done, battery = _charge(plan, rate, row.charge_s, battery)
        if not done:
            return None
    floor = math.floor(100 * (battery + plan.least_j / Power().battery_j - FLOOR_SPARE)) / 100
    return plan.mission(
        FAMILY,
        level,
        seed,
        turns=row.turns,
        kinds=KINDS,
        legs=legs_at(level),
        rules=(BatteryFloor(level=floor),) if level >= FLOOR_LEVEL else (),
        battery=round(battery, 4),
    )


def _downlink(plan: Plan, rate_deg_s: float, dwell_s: float, wait_s: float) -> bool:
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
    plan.go(Leg(rate_deg_s, dwell_s, BEAM_DEG), attitude, directive)
    plan.gas_g += PASS_G
    plan.frame = target_frame(station, orbit, plan.now)
    return True


def _charge(plan: Plan, rate_deg_s: float, charge_s: float, battery: float) -> tuple[bool, float]:
    """Add a charge.

    Args:
        plan: So far.
        rate_deg_s: [deg/s] planned for the turn to the Sun.
        charge_s: [s] planned in its light.
        battery: [-] charge at the start.

    Returns:
        Whether the sky allows it, and the charge at the start that lets the level be a whole percent.
    """
    attitude = target_frame(Sun(), plan.orbit, plan.now)
    if not plan.clear(attitude, TURN_DEG):
        return False, battery
    angle = float(np.linalg.norm(turn_between(plan.frame, attitude)))
    arrived = plan.now + slew_time_s(rate_deg_s, angle)
    spare_s = DIMMED * charge_s if plan.share else 0.0
    closes = plan.closing(arrived + charge_s + CHARGED_S + spare_s)
    if not all(_sunny(attitude, plan, t) for t in (arrived, closes)):
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
