"""Missions whose worth is known without a certificate: what the certificate's bench is made of.

    good         an ordinary mission that `reference` solves on 63 of 64 episode seeds
    coin_flip    a good one with a rule that the charge drawn for an episode decides at its first second
    unsolvable   an ordinary one with less gas than any controller needs (`studies/bound.py`)
    trivial      an ordinary one cut to its first directive, which a craft that starts there meets by drifting

The labels follow from flights, draws and physics. The missions of a label are spread over short families and
levels; a slot, the number of a mission within its label, has its own family, level and episode seeds.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.curriculum.certificate import SOLVER
from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.directives import Aimed, Charge, Directive, Point, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import BatteryFloor, Reserve
from orbital_ops_env.server import flight
from orbital_ops_env.sim.frames import angles_between, mrp_from_dcm, triple, unit
from orbital_ops_env.sim.state import SpacecraftConfig, Start, target_directions, target_frame
from orbital_ops_env.sim.variation import draw_variation
from orbital_ops_env.studies.bound import astray_rad, drift_rad, least_gas_kg

LABELS: Final = ("unsolvable", "coin_flip", "trivial", "good")
FIRST_SEED: Final = 56_000
"""Missions from here on, which no other study flies,"""
ATTEMPTS: Final = 1_000
"""[-] of which at most so many are looked at for a slot."""
JUDGED_SEED: Final = 600_000
"""Episode seeds that tell labels from here on,"""
JUDGED: Final = 64
"""[-] of them for each slot,"""
FAILURES: Final = 1
"""[-] and failures of the solver on them with which a mission is still good."""
STRIDE: Final = 7
"""[-] cells from one slot to the next: prime to the number of cells, so that all are visited."""
STARVED: Final = 0.8
"""[-] gas of an unsolvable mission over the least that any controller needs."""
TOLD_KG: Final = 1e-5
"""[kg] least gas over the reserve of an unsolvable mission: what a brief can tell from none."""
LOST: Final = (0.2, 0.8)
"""[-] least and greatest share of the episodes that a coin flip loses at once."""
FIRST_SECOND_S: Final = 1.0
SLOW: Final = 0.5
"""[-] rate of a craft that meets its limit by drifting, over the limit: a free tumble raises it by the ratio
of the greatest moment to the least at most, 1.6."""
DRIFTED_S: Final = 20.0
"""[s] longest dwell asked of a drifting craft."""
CHARGED: Final = 0.05
"""[-] of the battery between full and the most asked for: 10 sigma of an episode's charge."""


def cell(slot: int) -> tuple[str, int]:
    """The family and level of a slot."""
    cells = [(family, level) for level in LEVELS for family in SHORT_FAMILIES]
    return cells[STRIDE * slot % len(cells)]


def first(label: Callable[[MissionSpec], MissionSpec | None], slot: int) -> MissionSpec:
    """The first mission of a slot's cell that can be given a label.

    Args:
        label: The mission as labelled; None if it cannot be.
        slot: Number of the mission.

    Raises:
        RuntimeError: None of `ATTEMPTS` missions can.
    """
    family, level = cell(slot)
    seeds = range(FIRST_SEED, FIRST_SEED + ATTEMPTS)
    found = next(filter(None, (label(generate(family, level, seed)) for seed in seeds)), None)
    if found is None:
        raise RuntimeError(
            f"{family} level={level}: none of seeds {seeds[0]} to {seeds[-1]} can be labelled, expected one; "
            "look at the family's first directive, or at what `reference` does at that level"
        )
    return found


def judged_seeds(slot: int) -> range:
    """Episode seeds that tell the label of a slot, shared with no other slot and no certificate."""
    return range(JUDGED_SEED + JUDGED * slot, JUDGED_SEED + JUDGED * (slot + 1))


# -- good, and decided by luck -----------------------------------------------------------------


def good(slot: int) -> MissionSpec:
    """An ordinary mission that the solver fails at most once in `JUDGED` episodes."""
    return first(lambda spec: spec if _solved(spec, judged_seeds(slot)) else None, slot)


def _solved(spec: MissionSpec, seeds: Iterable[int]) -> bool:
    failures = (seed for seed in seeds if not flight.by_name(spec, SOLVER, seed).succeeded)
    return len(list(itertools.islice(failures, FAILURES + 1))) <= FAILURES


def coin_flip(spec: MissionSpec, slot: int) -> MissionSpec:
    """A mission that a share of the episodes loses at once, whoever flies.

    In the first second the charge must be over a floor, a hard rule; an episode's seed draws the charge, so
    it decides before any command can.
    """
    lost = np.random.default_rng(np.random.SeedSequence([JUDGED_SEED, slot])).uniform(*LOST)
    level = float(np.quantile(charges(spec, judged_seeds(slot)), lost))
    floor = BatteryFloor(level=level, until_s=FIRST_SECOND_S)
    return spec.model_copy(update={"rules": (*spec.rules, floor)})


def charges(spec: MissionSpec, seeds: Iterable[int]) -> NDArray[np.float64]:
    """[-] (n,) Charge at mission time 0 of each episode."""
    craft = SpacecraftConfig()
    return np.array([draw_variation(spec.start, seed, craft)[1].battery_fraction for seed in seeds])


# -- beyond anybody, and beneath everybody -----------------------------------------------------


def unsolvable(slot: int) -> MissionSpec:
    """A mission with less gas over its reserve than any controller needs."""
    return first(starved, slot)


def starved(spec: MissionSpec) -> MissionSpec | None:
    """A mission with `STARVED` of the least gas over its reserve; None if drifting might almost do."""
    usable_kg = STARVED * least_gas_kg(spec)
    start = replace(spec.start, propellant_kg=spec.reserve_kg + usable_kg)
    return spec.model_copy(update={"start": start}) if usable_kg >= TOLD_KG else None


def trivial(slot: int) -> MissionSpec:
    """A mission that succeeds if nothing is done."""
    return first(effortless, slot)


def effortless(spec: MissionSpec) -> MissionSpec | None:
    """A mission's first directive, begun where it asks to be; None if drifting might not keep it there.

    Nothing breaks, and the one rule left is the reserve, which a craft that fires nothing keeps.
    """
    start, directive = _begun(spec.start, spec.directives[0], spec)
    if isinstance(directive, Point) and _strays_rad(spec, directive) > directive.tolerance_rad:
        return None
    return spec.model_copy(
        update={
            "start": start,
            "directives": (directive.model_copy(update={"opens_s": 0.0}),),
            "rules": tuple(rule for rule in spec.rules if isinstance(rule, Reserve)),
            "faults": (),
        }
    )


def _begun(start: Start, directive: Directive, spec: MissionSpec) -> tuple[Start, Directive]:
    """A start that meets a directive, and the directive as drifting can meet it."""
    match directive:
        case ReduceRate():
            slow = SLOW * directive.rate_rad_s * unit(np.array(start.omega_BN_B))
            return replace(start, omega_BN_B=triple(slow)), directive
        case Charge():
            level = min(directive.level, 1.0 - CHARGED)
            charged = replace(_pointing(start, directive.target, spec), battery=1.0)
            return charged, directive.model_copy(update={"level": level})
        case _:
            return _pointing(start, directive.target, spec), _point(directive)


def _pointing(start: Start, name: str, spec: MissionSpec) -> Start:
    """A start at rest that points at a target."""
    attitude = target_frame(spec.target(name), start.orbit, 0.0)
    return replace(start, sigma_BN=triple(mrp_from_dcm(attitude)), omega_BN_B=(0.0, 0.0, 0.0))


def _point(aimed: Aimed) -> Point:
    """Pointing where a directive points; an image or a downlink would ask for a command."""
    return Point(
        opens_s=0.0,
        closes_s=aimed.closes_s,
        dwell_s=min(aimed.dwell_s, DRIFTED_S),
        target=aimed.target,
        tolerance_rad=aimed.tolerance_rad,
        turn_rad=0.0,
    )


def _strays_rad(spec: MissionSpec, point: Point) -> float:
    """[rad] Most pointing error in the dwell of a craft that began on target, which moves itself."""
    times = np.arange(0.0, point.dwell_s + 1.0)
    seen = target_directions(spec.target(point.target), spec.start.orbit, times)
    moved = float(angles_between(seen, seen[:1]).max())
    return astray_rad(spec) + drift_rad(point.dwell_s) + moved
