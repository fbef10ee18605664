"""Out-of-distribution missions: faults, and pairs of faults, that no training mission carries.

A mission is an ordinary one of a family and level whose windows and budget cover the coping with a fault,
with the faults replaced. So all that is new is what breaks. `detumble-v0` is not among them: its budgets
cover a thruster that fails in the tumble and nothing else, and while the craft tumbles the star tracker is
blind, so that a gyro cannot be calibrated.

Left out of the pairs:

    gyro_bias, star_tracker      nothing else on board can tell a bias from a rate, so no calibration
    stuck_closed, stuck_open     on one branch the switch that cures the first hides the second; on two
                                 branches no branch is left
    panel with any but a leak    a charge on what is left of the panel takes the spare time of a window, and
                                 the turn again, which those cost, takes it a second time
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.commands import did_you_mean
from orbital_ops_env.missions import catalog, detumble, recovery
from orbital_ops_env.missions.anomaly import EARLIEST_S, FAULT_LEVEL, draw_fault, legs_at
from orbital_ops_env.missions.budget import slew_time_s, turn_between
from orbital_ops_env.missions.directives import Aimed, Charge, ReduceRate
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
    ("gyro_bias", "stuck_closed"): "The star tracker tells the gyro, the tank that keeps its gas the "
    "thruster; a calibration and the other branch cure them in any order.",
    ("gyro_bias", "stuck_open"): "The valve's current tells the one, the star tracker the other; the latch "
    "stops the valve, and a calibration comes after it.",
    ("gyro_bias", "leak"): "The star tracker tells the one, the tank the other; slow turns save for the leak "
    "what the turn astray has cost.",
    ("star_tracker", "stuck_closed"): "Sun sensors hold the attitude, and neither gyro nor tank need a star "
    "to tell the thruster.",
    ("star_tracker", "stuck_open"): "Sun sensors hold the attitude, and the valve's current needs no star.",
    ("star_tracker", "leak"): "Sun sensors hold the attitude, and the tank tells the leak at any attitude.",
    ("stuck_closed", "leak"): "A rate that is missing tells the thruster, and on the other branch only a "
    "leak takes gas that nobody counted.",
    ("stuck_open", "leak"): "The valve's current tells the one; gas that goes on being lost behind a closed "
    "latch is the other.",
    ("leak", "panel"): "Tank and panel share no instrument; what the leak leaves is enough for slow turns, "
    "and the charge takes longer and no more.",
}
"""Of `ood_composite`, each with the reason why it can be told and survived."""
LEFT: Final = (0.4, 0.6)
"""[-] least and greatest share that is left of a weak thruster: under 0.4 it is as good as stuck, above 0.6
the control, which uses 0.6 of the torque in a turn, does not miss it."""
DRIFT_DEG_S2: Final = (2e-4, 4e-4)
"""[deg/s^2] least and greatest drift of a gyro: 0.06 deg/s, a pointing error of half a degree to one and the
least that the star tracker tells, after two and a half to five minutes; a calibration is good for as long."""
EXPOSURE_S: Final = 120.0
"""[s] longest dwell on a craft whose gyro drifts: valves are shut while it is calibrated."""
COARSE_RAD: Final = math.radians(1.5)
"""[rad] tightest tolerance that Sun sensors alone keep to."""
DIRECTIVE_TURNS, FAULT_TURNS = 2, 3
"""[-] least commands for a directive and for a fault: an ended turn, a remedy, the turn again."""
FIRST_SEED: Final = {"ood_fault": 1_000_000_000, "ood_composite": 1_100_000_000}
"""Missions from here on are those of a split."""
EXCLUDED: Final = (detumble.FAMILY, catalog.FLAGSHIP)
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
    rng = np.random.default_rng(np.random.SeedSequence([int.from_bytes(split.encode()), number]))
    spec, kinds = _carrier(rng, split, number)
    latest_s, turn_B = _room(spec)
    faults = tuple(_draw(rng, kind, latest_s, turn_B) for kind in kinds)
    return MissionSpec.model_validate(spec.model_dump() | {"faults": faults})


def _carrier(rng: np.random.Generator, split: str, number: int) -> tuple[MissionSpec, tuple[str, ...]]:
    """The mission of a number, and the kinds that are to break on it.

    Its family and level are those whose turn it is, or drawn if the kinds do not suit them.
    """
    menu = [(kind,) for kind in KINDS] if split == "ood_fault" else list(PAIRS)
    later, row = divmod(number, len(menu))
    families = [name for name in catalog.FAMILIES if name not in EXCLUDED]
    lap, column = divmod(later, len(families))
    levels = _levels(families[column])
    turn = families[column], levels[(row + column + lap) % len(levels)]
    cells = [(family, level) for family in families for level in _levels(family)]
    order: list[int] = rng.permutation(len(cells)).tolist()
    drawn = [cells[k] for k in order]
    for family, level in [turn, *drawn]:
        spec = catalog.generate(family, level, FIRST_SEED[split] + number)
        least = DIRECTIVE_TURNS * len(spec.directives) + FAULT_TURNS * len(menu[row])
        if spec.turns >= least and all(suits(kind, spec) for kind in menu[row]):
            return spec, menu[row]
    raise RuntimeError(f"{split} {number}: no mission of {len(cells)} families and levels suits {menu[row]}")


def _levels(family: str) -> range:
    """Levels whose windows and budgets cover a fault."""
    return range(0 if family == recovery.FAMILY else FAULT_LEVEL, len(catalog.LEVELS))


def suits(kind: str, spec: MissionSpec) -> bool:
    """Whether a kind of fault matters on a mission and can be survived there."""
    match kind:
        case "panel":
            return any(isinstance(directive, Charge) for directive in spec.directives)
        case "leak" | "weak_thruster":  # a quiet window forbids the first; the second fires unseen in it
            return not any(isinstance(rule, QuietWindow) for rule in spec.rules)
        case "star_tracker":
            return (
                min(each.tolerance_rad for each in spec.directives if isinstance(each, Aimed)) >= COARSE_RAD
            )
        case "gyro_drift":
            return all(directive.dwell_s <= EXPOSURE_S for directive in spec.directives)
        case _:
            return True


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
            (fault,) = draw_fault(rng, (kind,), 1.0, (EARLIEST_S, latest_s), turn_B)
            return fault
