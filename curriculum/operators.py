"""Small edits that make a mission harder, and their inverses that make it easier.

Each operator takes a mission, a generator and a direction, and gives the edited mission, or None where it
does not apply: nothing to drop, a bound reached, a target that nobody can see. An edited mission keeps every
bound of a `MissionSpec` and lasts half an hour at most; `tiers.py` says what level it is of and how many
commands that has, the certificate whether it can be solved. No operator makes a fault of the
out-of-distribution splits, nor a second one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from orbital_ops_env.missions.anomaly import EARLIEST_S, draw_fault
from orbital_ops_env.missions.budget import (
    HOLD_G_S,
    SLEW_TIME_SD_S,
    detumble,
    path_angle,
    slew_gas_g,
    slew_time_s,
    turn_between,
)
from orbital_ops_env.missions.catalog import FAMILIES
from orbital_ops_env.missions.directives import Directive, Point, ReduceRate, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import BETWEEN_S, LONGEST_S, SPARE_HOLD_S
from orbital_ops_env.missions.rules import FlightRule, KeepOut, QuietWindow, RateCap, SunKeepOut
from orbital_ops_env.missions.targets import CATALOGUE, STARS, named, visible
from orbital_ops_env.sim.frames import (
    Mat3,
    dcm_from_ep,
    dcm_from_mrp,
    ep_of_rotation,
    mrp_from_dcm,
    triple,
)
from orbital_ops_env.sim.state import SpacecraftConfig, target_frame

Operator = Callable[[MissionSpec, np.random.Generator, bool], MissionSpec | None]
"""Edits a mission: harder if True, easier if False; None if it does not apply."""

GAS_STEP: Final = (0.04, 0.12)
"""[-] share of the gas over the reserve that an edit takes or gives, least and greatest."""
LEAST_GAS_KG, MOST_GAS_KG = 3e-4, 25e-3
"""[kg] over the reserve."""
TIME_STEP: Final = (0.02, 0.06)
"""[-] share of all windows."""
TOLERANCE_STEP: Final = (0.05, 0.12)
TOLERANCES_RAD: Final = (math.radians(0.5), math.radians(10.0))
"""[rad] three times what the star tracker leaves of doubt, and what no target needs."""
RATE_STEP: Final = (0.08, 0.2)
RATES_RAD_S: Final = (math.radians(0.5), math.radians(12.0))
"""[rad/s] tip-off rates."""
TURN_STEP_RAD: Final = (math.radians(5.0), math.radians(20.0))
TURNS_RAD: Final = (math.radians(15.0), math.radians(170.0))
DWELL_STEP: Final = (0.08, 0.2)
DWELLS_S: Final = (15.0, 900.0)
WAYPOINT_DEG_S: Final = 0.5
"""[deg/s] rate that the gas and time of an added target cover."""
WAYPOINT_SLACK_S: Final = 60.0
WAYPOINT_DWELL_S: Final = 20.0
MOST_TARGETS: Final = 4
FAULT_BY: Final = 0.5
"""[-] share of the first window by which an added fault begins."""
CAPS_DEG_S: Final = (0.6, 1.1)
CAPPED: Final = 0.5
"""[-] share of added rules that cap a rate; the others keep the payload off a star."""
STAR_DEG: Final = 8.0
NEAR_DEG: Final = 25.0
"""[deg] from a turn of the mission, within which a star's keep-out can matter."""
STAR_SPARE_DEG: Final = 2.0
"""[deg] and how much farther off than its keep-out it is at least."""
SUN_SPARE_RAD: Final = math.radians(8.0)
"""[rad] spare of a turn over the Sun keep-out."""
MOST_ADDED: Final = 2
"""[-] rules of the kinds that are added, so that an episode keeps to its 3072 tokens."""


# -- budgets -----------------------------------------------------------------------------------


def gas(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """Less or more gas over the reserve."""
    usable_kg = (spec.start.propellant_kg - spec.reserve_kg) * _factor(rng, GAS_STEP, harder)
    if not LEAST_GAS_KG <= usable_kg <= MOST_GAS_KG:
        return None
    return _changed(spec, start=replace(spec.start, propellant_kg=round(spec.reserve_kg + usable_kg, 5)))


def time(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """Shorter or longer windows."""
    return _windows(spec, _factor(rng, TIME_STEP, harder)) if _elastic(spec) else None


def _elastic(spec: MissionSpec) -> bool:
    """Whether windows are free: no pass that comes when it comes, no quiet window to be hit."""
    return not any(isinstance(part, SendData | QuietWindow) for part in (*spec.directives, *spec.rules))


def _windows(spec: MissionSpec, factor: float) -> MissionSpec | None:
    """All mission times stretched by a factor."""

    def at(t: float) -> float:
        return float(math.ceil(t * factor))

    directives = [
        d.model_copy(update={"opens_s": at(d.opens_s), "closes_s": at(d.closes_s)}) for d in spec.directives
    ]
    rules = [
        rule.model_copy(
            update={"from_s": at(rule.from_s), "until_s": None if rule.until_s is None else at(rule.until_s)}
        )
        for rule in spec.rules
        if not isinstance(rule, QuietWindow)
    ]
    fit = all(d.closes_s - d.opens_s > d.dwell_s for d in directives)
    clock = directives[-1].closes_s
    if not fit or clock > LONGEST_S or any(each.onset_s >= clock for each in spec.faults):
        return None
    return _changed(spec, directives=tuple(directives), rules=tuple(rules), clock_s=clock)


# -- precision ---------------------------------------------------------------------------------


def tolerance(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """Tighter or wider tolerances of all that is pointed at, passes apart."""
    factor = _factor(rng, TOLERANCE_STEP, harder)
    directives = [
        d.model_copy(update={"tolerance_rad": d.tolerance_rad * factor})
        if isinstance(d, Point | TakeImage)
        else d
        for d in spec.directives
    ]
    told = [d.tolerance_rad for d in directives if isinstance(d, Point | TakeImage)]
    if not told or not TOLERANCES_RAD[0] <= min(told) <= max(told) <= TOLERANCES_RAD[1]:
        return None
    return _changed(spec, directives=tuple(directives))


# -- depth -------------------------------------------------------------------------------------


def depth(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """A faster or slower tumble, with the gas that its momentum takes; else a larger or smaller turn."""
    if any(spec.start.omega_BN_B):
        return _tumble(spec, 1 / _factor(rng, RATE_STEP, harder))
    return _first_turn(spec, float(rng.uniform(*TURN_STEP_RAD)) * (1 if harder else -1))


def _tumble(spec: MissionSpec, factor: float) -> MissionSpec | None:
    before, after = np.array(spec.start.omega_BN_B), factor * np.array(spec.start.omega_BN_B)
    if not RATES_RAD_S[0] <= float(np.linalg.norm(after)) <= RATES_RAD_S[1]:
        return None
    craft = SpacecraftConfig()
    (was_g, _), (is_g, _) = detumble(before, craft), detumble(after, craft)
    gas_kg = round(spec.start.propellant_kg + 1e-3 * (is_g - was_g), 5)
    if not LEAST_GAS_KG <= gas_kg - spec.reserve_kg <= MOST_GAS_KG:
        return None
    return _changed(spec, start=replace(spec.start, omega_BN_B=triple(after), propellant_kg=gas_kg))


def _first_turn(spec: MissionSpec, more_rad: float) -> MissionSpec | None:
    """Begin farther from the first target, about the same axis, or nearer; keep clear of the Sun."""
    first = spec.directives[0]
    if isinstance(first, ReduceRate):
        return None
    arrival = target_frame(spec.target(first.target), spec.start.orbit, 0.0)
    turn = turn_between(dcm_from_mrp(np.array(spec.start.sigma_BN)), arrival)
    angle = float(np.linalg.norm(turn))
    if not (angle > 0 and TURNS_RAD[0] <= angle + more_rad <= TURNS_RAD[1]):
        return None
    start = dcm_from_ep(ep_of_rotation(turn * (angle + more_rad) / angle)).T @ arrival
    if not _clear(spec, start, arrival):
        return None
    directives = (
        first.model_copy(update={"turn_rad": max(first.turn_rad + more_rad, 0.0)}),
        *spec.directives[1:],
    )
    return _changed(
        spec, start=replace(spec.start, sigma_BN=triple(mrp_from_dcm(start))), directives=directives
    )


def _clear(spec: MissionSpec, start: Mat3, end: Mat3) -> bool:
    """Whether the turn between two attitudes keeps off the Sun."""
    keep_outs = (rule.angle_rad for rule in spec.rules if isinstance(rule, SunKeepOut))
    return path_angle(start, end, spec.start.orbit.sun_hat_N) > max(keep_outs, default=0.0) + SUN_SPARE_RAD


# -- flight rules ------------------------------------------------------------------------------


def rule(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """A rate cap for the time of a directive, or a keep-out of a star near a turn; or one of these less."""
    added = [n for n, each in enumerate(spec.rules) if _is_extra(each)]
    if not harder:
        if not added:
            return None
        dropped = int(rng.choice(added))
        return _changed(spec, rules=(*spec.rules[:dropped], *spec.rules[dropped + 1 :]))
    if len(added) >= MOST_ADDED:
        return None
    extra = _cap(spec, rng) if rng.random() < CAPPED else _keep_out(spec, rng)
    if extra is None:
        return None
    targets = spec.targets
    if isinstance(extra, KeepOut) and extra.target not in dict(targets):
        targets = (*targets, *((n, t) for n, t in named(extra.target) if n == extra.target))
    return _changed(spec, rules=(*spec.rules, extra), targets=targets)


def _is_extra(each: FlightRule) -> bool:
    """Whether a rule is of the kinds that `rule` adds."""
    return isinstance(each, KeepOut) or (isinstance(each, RateCap) and each.until_s is not None)


def _cap(spec: MissionSpec, rng: np.random.Generator) -> RateCap | None:
    """A cap in the time of a directive with a turn, stricter than what is in force then."""
    turning = [n for n, d in enumerate(spec.directives) if not isinstance(d, ReduceRate) and d.turn_rad > 0]
    if not turning:
        return None
    number = int(rng.choice(turning))
    begin = spec.directives[number - 1].closes_s if number else 0.0
    cap = math.radians(float(rng.choice(CAPS_DEG_S)))
    span = (begin, spec.directives[number].closes_s)
    strict = (
        r.rate_rad_s
        for r in spec.rules
        if isinstance(r, RateCap) and r.from_s <= span[0] and (r.until_s or math.inf) >= span[1]
    )
    return (
        None
        if cap >= min(strict, default=math.inf)
        else RateCap(rate_rad_s=cap, from_s=span[0], until_s=span[1])
    )


def _keep_out(spec: MissionSpec, rng: np.random.Generator) -> KeepOut | None:
    """A star near a turn but not on it, that the mission has no use for."""
    used = {d.target for d in spec.directives if not isinstance(d, ReduceRate)}
    used |= {each.target for each in spec.rules if isinstance(each, KeepOut)}
    turns = list(_turns(spec))
    for name in map(str, rng.permutation(sorted(STARS - used))):
        hat = target_frame(CATALOGUE[name], spec.start.orbit, 0.0)[2]
        nearest = min((math.degrees(path_angle(*turn, hat)) for turn in turns), default=math.inf)
        if STAR_DEG + STAR_SPARE_DEG < nearest < NEAR_DEG:
            return KeepOut(target=name, angle_rad=math.radians(STAR_DEG), from_s=_known_s(spec))
    return None


def _known_s(spec: MissionSpec) -> float:
    """[s] Mission time from which turns are known beforehand."""
    return spec.directives[1].closes_s if any(spec.start.omega_BN_B) and len(spec.directives) > 1 else 0.0


def _turns(spec: MissionSpec) -> Iterator[tuple[Mat3, Mat3]]:
    """The attitudes between which the craft turns, where both are known."""
    tumbles = any(spec.start.omega_BN_B)
    frame = None if tumbles else dcm_from_mrp(np.array(spec.start.sigma_BN))
    for directive in spec.directives:
        if isinstance(directive, ReduceRate):
            continue
        arrival = target_frame(spec.target(directive.target), spec.start.orbit, directive.opens_s)
        if frame is not None and directive.turn_rad > 0:
            yield frame, arrival
        frame = arrival


# -- faults ------------------------------------------------------------------------------------


def fault(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """Something breaks on a healthy craft, one of the kinds of its family; or a faulty craft stays whole."""
    if not harder:
        return _changed(spec, faults=()) if spec.faults else None
    if spec.faults:
        return None
    turn = next((turn_between(*each) for each in _turns(spec)), np.ones(3))
    span = (EARLIEST_S, EARLIEST_S + FAULT_BY * spec.directives[0].closes_s)
    return _changed(spec, faults=draw_fault(rng, FAMILIES[spec.family].KINDS, 1.0, span, turn))


# -- horizon -----------------------------------------------------------------------------------


def target(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """Another target in the end, or one less."""
    return _one_more(spec, rng) if harder else _one_less(spec)


def dwell(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> MissionSpec | None:
    """A longer or shorter last dwell."""
    factor = 1 / _factor(rng, DWELL_STEP, harder)
    last = spec.directives[-1]
    dwell_s = float(round(last.dwell_s * factor))
    if not (isinstance(last, Point) and DWELLS_S[0] <= dwell_s <= DWELLS_S[1]):
        return None
    more_s = dwell_s - last.dwell_s
    longer = last.model_copy(update={"dwell_s": dwell_s, "closes_s": last.closes_s + more_s})
    return _with_end(spec, (*spec.directives[:-1], longer), 1e-3 * HOLD_G_S * more_s)


def _one_more(spec: MissionSpec, rng: np.random.Generator) -> MissionSpec | None:
    last = spec.directives[-1]
    if isinstance(last, ReduceRate) or len(spec.directives) >= MOST_TARGETS:
        return None
    orbit, now = spec.start.orbit, last.closes_s + BETWEEN_S
    frame = target_frame(spec.target(last.target), orbit, last.closes_s)
    used = {d.target for d in spec.directives if not isinstance(d, ReduceRate)}
    keep_outs = max((r.angle_rad for r in spec.rules if isinstance(r, SunKeepOut)), default=0.0)
    for name in map(str, rng.permutation([n for n in CATALOGUE if n not in used])):
        arrival = target_frame(CATALOGUE[name], orbit, now)
        angle = float(np.linalg.norm(turn_between(frame, arrival)))
        arrived = now + slew_time_s(WAYPOINT_DEG_S, angle)
        closes = math.ceil(arrived + WAYPOINT_DWELL_S + WAYPOINT_SLACK_S + SLEW_TIME_SD_S)
        seen = all(visible(name, orbit, t, keep_outs + SUN_SPARE_RAD) for t in (now, arrived, closes))
        if not (seen and TURNS_RAD[0] <= angle <= TURNS_RAD[1] and _clear(spec, frame, arrival)):
            continue
        tightest = min(
            (d.tolerance_rad for d in spec.directives if isinstance(d, Point)), default=TOLERANCES_RAD[1]
        )
        point = Point(
            opens_s=0.0,
            closes_s=closes,
            dwell_s=WAYPOINT_DWELL_S,
            target=name,
            tolerance_rad=tightest,
            turn_rad=angle,
        )
        longer = (
            _changed(spec, targets=(*spec.targets, (name, CATALOGUE[name])))
            if name not in dict(spec.targets)
            else spec
        )
        return _with_end(longer, (*spec.directives, point), _waypoint_kg(angle))
    return None


def _one_less(spec: MissionSpec) -> MissionSpec | None:
    """The mission without its last target, if that is not part of a quiet window and not the only one."""
    *kept, last = spec.directives
    if (
        not isinstance(last, Point)
        or last.turn_rad == 0
        or not any(not isinstance(d, ReduceRate) for d in kept)
    ):
        return None
    return _with_end(spec, tuple(kept), -_waypoint_kg(last.turn_rad))


def _waypoint_kg(angle_rad: float) -> float:
    """[kg] What an added target takes."""
    return 1e-3 * (slew_gas_g(WAYPOINT_DEG_S, angle_rad) + HOLD_G_S * (WAYPOINT_DWELL_S + SPARE_HOLD_S))


def _with_end(spec: MissionSpec, directives: tuple[Directive, ...], more_kg: float) -> MissionSpec | None:
    """The mission with other directives in the end, and the gas that they take."""
    clock = directives[-1].closes_s
    gas_kg = round(spec.start.propellant_kg + more_kg, 5)
    fits = clock <= LONGEST_S and LEAST_GAS_KG <= gas_kg - spec.reserve_kg <= MOST_GAS_KG
    if not fits or any(each.onset_s >= clock for each in spec.faults):
        return None
    rules = tuple(
        _until(each, clock) for each in spec.rules if isinstance(each, QuietWindow) or each.from_s < clock
    )
    return _changed(
        spec,
        start=replace(spec.start, propellant_kg=gas_kg),
        directives=directives,
        rules=rules,
        clock_s=clock,
    )


def _until(each: FlightRule, clock_s: float) -> FlightRule:
    """A rule that ends with the mission at the latest; a quiet window ends with what it is for."""
    if isinstance(each, QuietWindow) or each.until_s is None:
        return each
    return each.model_copy(update={"until_s": min(each.until_s, clock_s)})


OPERATORS: Final[dict[str, Operator]] = {
    "depth": depth,
    "gas": gas,
    "time": time,
    "tolerance": tolerance,
    "rule": rule,
    "fault": fault,
    "target": target,
    "dwell": dwell,
}


def edit(spec: MissionSpec, rng: np.random.Generator, harder: bool) -> tuple[str, MissionSpec] | None:
    """The first operator of a random order that applies, and what it makes; None if none does."""
    for name in map(str, rng.permutation(list(OPERATORS))):
        if edited := OPERATORS[name](spec, rng, harder):
            return name, edited
    return None


def _factor(rng: np.random.Generator, step: tuple[float, float], harder: bool) -> float:
    """[-] 1 less a step, or its inverse."""
    factor = 1 - float(rng.uniform(*step))
    return factor if harder else 1 / factor


def _changed(spec: MissionSpec, **update: object) -> MissionSpec:
    """A mission with other fields, validated."""
    return MissionSpec.model_validate(spec.model_copy(update=update).model_dump())
