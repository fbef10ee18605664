"""Out-of-distribution missions: faults, and pairs of faults, that no training mission carries.

A mission is an ordinary one of a family and level whose windows and budget cover the coping with a fault,
with the faults replaced. So all that is new is what breaks. `detumble-v0` is not among them: its budgets
cover a thruster that fails in the tumble and nothing else, and while the craft tumbles the star tracker is
blind, so that a gyro cannot be calibrated.

Left out of the pairs:

    gyro_bias, star_tracker      nothing else on board can tell a bias from a rate, so no calibration
    stuck_closed, stuck_open     on one branch the switch that cures the first hides the second; on two
                                 branches no branch is left
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.commands import did_you_mean
from orbital_ops_env.missions import catalog
from orbital_ops_env.missions.anomaly import EARLIEST_S, FAULT_LEVEL, draw_fault, legs_at
from orbital_ops_env.missions.budget import slew_time_s, turn_between
from orbital_ops_env.missions.directives import Charge, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import BEFORE_BRAKING, FAST_DEG_S
from orbital_ops_env.missions.rules import QuietWindow
from orbital_ops_env.sim.faults import Fault, GyroDrift, WeakThruster
from orbital_ops_env.sim.frames import Vec3, dcm_from_mrp, triple, unit
from orbital_ops_env.sim.state import target_frame

SPLITS: Final = ("ood_fault", "ood_composite")
KINDS: Final = ("weak_thruster", "gyro_drift")
"""Of `ood_fault`."""
PAIRS: Final[dict[tuple[str, str], str]] = {
    ("gyro_bias", "stuck_closed"): "The star tracker tells the gyro, the tank that keeps its gas the thruster; "
    "a calibration and the other branch cure them in any order.",
    ("gyro_bias", "stuck_open"): "The valve's current tells the one, the star tracker the other; the latch comes "
    "first, for a calibration needs a low rate.",
    ("gyro_bias", "leak"): "The star tracker tells the one, the tank the other; the slow turns that a leak asks "
    "for leave the time of a calibration.",
    ("gyro_bias", "panel"): "The star tracker tells the one, the panel at the Sun the other; once the gyro is "
    "calibrated the charge takes longer and no more.",
    ("star_tracker", "stuck_closed"): "Sun sensors hold the attitude, and neither gyro nor tank need a star to "
    "tell the thruster.",
    ("star_tracker", "stuck_open"): "Sun sensors hold the attitude, and the valve's current needs no star.",
    ("star_tracker", "leak"): "Sun sensors hold the attitude, and the tank tells the leak at any attitude.",
    ("star_tracker", "panel"): "Sun sensors point the panel at the Sun as well as a star tracker does.",
    ("stuck_closed", "leak"): "A test pulse tells the thruster whatever the tank does, and on the other branch "
    "only a leak takes gas that nobody counted.",
    ("stuck_open", "leak"): "The valve's current tells the one; gas that goes on being lost behind a closed "
    "latch is the other.",
    ("stuck_closed", "panel"): "Thruster and panel share no instrument; time on the other branch is as before.",
    ("stuck_open", "panel"): "Thruster and panel share no instrument, and the latch stops the loss of gas.",
    ("leak", "panel"): "Tank and panel share no instrument; what the leak leaves is enough if little is wasted "
    "while the charge takes longer.",
}
"""Of `ood_composite`, each with the reason why it can be told and survived."""
LEFT: Final = (0.4, 0.6)
"""[-] least and greatest share that is left of a weak thruster: under 0.4 it is as good as stuck, above 0.6
the control, which uses 0.6 of the torque in a turn, does not miss it."""
DRIFT_DEG_S2: Final = (4e-4, 8e-4)
"""[deg/s^2] least and greatest drift of a gyro: 0.1 deg/s, a pointing error of a degree, after two to four
minutes, and a calibration is good for as long."""
FIRST_SEED: Final = {"ood_fault": 1_000_000_000, "ood_composite": 1_100_000_000}
"""Missions from here on are those of a split."""
EXCLUDED: Final = ("detumble-v0", "mission-ops-v0")
"""Families left out: the first is told of above, the other is a long mission made of the others' parts."""


def generate(split: str, number: int) -> MissionSpec:
    """The candidate of a number for a split: always the same one.

    Kinds or pairs, families and levels rotate with the number.

    Args:
        split: A name of `SPLITS`.
        number: 0 or more.

    Raises:
        ValueError: Unknown split, or a negative number.
    """
    if split not in SPLITS:
        hint = did_you_mean(split, SPLITS)
        raise ValueError(f"no out-of-distribution split {split!r}{hint} Expected one of {', '.join(SPLITS)}.")
    if number < 0:
        raise ValueError(f"{split}: candidate {number} is negative, expected 0 or more.")
    spec, kinds = _carrier(split, number)
    rng = np.random.default_rng(np.random.SeedSequence([int.from_bytes(split.encode()), number]))
    latest_s, turn_B = _room(spec)
    faults = tuple(_draw(rng, kind, latest_s, turn_B) for kind in kinds)
    return MissionSpec.model_validate(spec.model_dump() | {"faults": faults})


def _carrier(split: str, number: int) -> tuple[MissionSpec, tuple[str, ...]]:
    """The mission of a number, and the kinds that are to break on it.

    A panel is lost where a charge misses it.
    """
    menu = [(kind,) for kind in KINDS] if split == "ood_fault" else list(PAIRS)
    later, row = divmod(number, len(menu))
    kinds = menu[row]
    families = [
        name
        for name, family in catalog.FAMILIES.items()
        if name not in EXCLUDED and ("panel" not in kinds or "panel" in family.KINDS)
    ]
    lap, column = divmod(later, len(families))
    levels = range(0 if families[column] == "recovery-v0" else FAULT_LEVEL, len(catalog.LEVELS))
    for step in range(len(levels)):
        level = levels[(row + column + lap + step) % len(levels)]
        spec = catalog.generate(families[column], level, FIRST_SEED[split] + number)
        if "panel" not in kinds or any(isinstance(each, Charge) for each in spec.directives):
            return spec, kinds
    raise RuntimeError(f"{split} {number}: no level of {families[column]} charges, for {kinds}")


def _room(spec: MissionSpec) -> tuple[float, Vec3]:
    """[s] Time by which faults begin, during the first legs; and the turn that is flown then or next, in B.

    Nothing begins on a leg after a quiet window, lest it begin inside.
    """
    soonest, turns = _legs(spec)
    quiet = any(isinstance(rule, QuietWindow) for rule in spec.rules)
    leg = min(1 if quiet else legs_at(spec.level), len(turns)) - 1
    latest_s = soonest[leg] * (1.0 if leg + 1 < len(turns) else BEFORE_BRAKING)
    return latest_s, turns[min(leg + 1, len(turns) - 1)]


def _legs(spec: MissionSpec) -> tuple[list[float], list[Vec3]]:
    """[s] Arrivals of the turns at 1 deg/s throughout; and the turns, rotation vectors in B."""
    orbit, frame = spec.start.orbit, dcm_from_mrp(np.array(spec.start.sigma_BN))
    now, soonest, turns = 0.0, list[float](), list[Vec3]()
    for directive in spec.directives:
        assert not isinstance(directive, ReduceRate), f"{spec} begins tumbling"
        if directive.turn_rad:
            now += slew_time_s(FAST_DEG_S, directive.turn_rad)
            attitude = target_frame(spec.target(directive.target), orbit, now)
            soonest.append(now)
            turns.append(turn_between(frame, attitude))
            frame = attitude
        now = max(now, directive.opens_s) + directive.dwell_s
    return soonest, turns


def _draw(rng: np.random.Generator, kind: str, latest_s: float, turn_B: Vec3) -> Fault:
    """A fault of a kind that begins by a time, on a thruster that a turn uses."""
    onset_s = float(rng.integers(int(EARLIEST_S), int(latest_s) + 1))
    match kind:
        case "weak_thruster":
            axis = int(rng.choice(3, p=unit(turn_B) ** 2))
            number = 1 + 2 * axis + int(rng.integers(2))
            return WeakThruster(onset_s, number, round(float(rng.uniform(*LEFT)), 3))
        case "gyro_drift":
            drift = math.radians(rng.uniform(*DRIFT_DEG_S2)) * unit(rng.normal(size=3))
            return GyroDrift(onset_s, triple(drift))
        case _:
            (fault,) = draw_fault(rng, (kind,), 1.0, latest_s, turn_B)
            return fault
