"""Can a fault be told from the text? Flights with a fault against the same flights without it.

The written procedure flies a mission that carries a fault, and the same mission without it on the same
episode seed. It does nothing about either, so that what follows the onset is the fault's doing. A channel's
score is a number that a controller can form from the first views after the onset; its AUROC is the chance
that a faulty flight scores higher than a healthy one.

    gyro_bias      `inn`     greatest innovation
                   `dgyro`   greatest gyro minus tracker rate, either sign; no tracker counts as none
    star_tracker   `st`      whether the tracker is blind in all of the views
                   `reason`  whether a command ended on the attitude source's alarm or was refused for want
                             of an attitude fix
    stuck_closed   `dw`      greatest unexplained rate change
                   `dgas`    greatest rise of the tank over the valve count since before the onset
    weak_thruster  the same
    stuck_open     `dw`      the same
                   `dgas`    greatest fall
    leak           the same
    gyro_drift     as of gyro_bias
    panel          `panel`   what the greatest power lacks of a healthy panel's at the Sun
                   `bat`     fastest gain of the battery between two views, a low one

`dgyro` is no second channel for a lost tracker, for it only repeats `st`. A loss that grows, and a panel that
must come to the Sun first, are given more views. Kinds that no family's missions carry are taken from the
split `ood_fault`, and stand under its name. Beside, `reference` flies both: what does it report?
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.client import PolicyView
from orbital_ops_env.commands import AnyCommand, ReportFault
from orbital_ops_env.missions import ood
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import Telemetry
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.procedure import Procedure
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import SLEW_DEG_S
from orbital_ops_env.policies.signatures import PANEL_W
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.faults import unit_of

FIRST_SEED: Final = 80_000
"""Missions and episodes from here on, which no other study flies."""
SEARCHED: Final = 4_000
"""Missions searched for those that carry a fault."""
VIEWS: Final = 3
"""Views after the onset that a score is formed from,"""
SLOW: Final = {"gyro_drift": 8, "leak": 8, "panel": 8}
"""and more of them, for what shows later."""
LASTING_S: Final = 60.0
"""[s] least time between two views that the charge's rate is formed from."""
UNSEEN: Final = ood.SPLITS[0]
"""Stands for the family of kinds that no family's missions carry."""


class Book:
    """The written procedure without its contingency step, whatever happens."""

    def __init__(self) -> None:
        self._procedure = Procedure(lambda view: SLEW_DEG_S)
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Nothing to forget."""

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command by the book."""
        command = self._procedure.act(view)
        self.rationale = self._procedure.rationale
        return command


@dataclass(frozen=True)
class Look:
    """What the text showed around an onset."""

    before: Telemetry
    """The last view before it."""
    after: tuple[Telemetry, ...]
    """The first views after it."""


def look(flight: Flight, onset_s: float, views: int = VIEWS) -> Look:
    """The views around an onset, so many after it; none if the flight was over before."""
    seen = [view.telemetry for view in flight.views]
    before = [telemetry for telemetry in seen if telemetry.time_s <= onset_s]
    return Look(before[-1], tuple(seen[len(before) :][:views]))


# -- scores ------------------------------------------------------------------------------------


def _innovation(seen: Look) -> float:
    return max(telemetry.innovation_deg for telemetry in seen.after)


def _gyro_tracker(seen: Look) -> float:
    return max(abs(telemetry.gyro_tracker_deg_s or 0.0) for telemetry in seen.after)


def _blind(seen: Look) -> float:
    return float(not any(telemetry.tracker_valid for telemetry in seen.after))


def _no_fix(seen: Look) -> float:
    return float(any(t.ended_by == "attitude_source" or "no attitude fix" in t.detail for t in seen.after))


def _unexplained(seen: Look) -> float:
    return max(telemetry.surplus_deg_s for telemetry in seen.after)


def _rise(seen: Look) -> float:
    return max(telemetry.tank_residual_g for telemetry in seen.after) - seen.before.tank_residual_g


def _fall(seen: Look) -> float:
    return seen.before.tank_residual_g - min(telemetry.tank_residual_g for telemetry in seen.after)


def _power_lack(seen: Look) -> float:
    return PANEL_W - max(telemetry.panel_w for telemetry in seen.after)


def _slow_charge(seen: Look) -> float:
    pairs = itertools.pairwise((seen.before, *seen.after))
    spans = ((late.battery_pct - soon.battery_pct, late.time_s - soon.time_s) for soon, late in pairs)
    return -max((gain / time for gain, time in spans if time >= LASTING_S), default=0.0)


Score = Callable[[Look], float]
CHANNELS: Final[Mapping[str, Mapping[str, Score]]] = {
    "gyro_bias": {"inn": _innovation, "dgyro": _gyro_tracker},
    "gyro_drift": {"inn": _innovation, "dgyro": _gyro_tracker},
    "star_tracker": {"st": _blind, "reason": _no_fix},
    "stuck_closed": {"dw": _unexplained, "dgas": _rise},
    "weak_thruster": {"dw": _unexplained, "dgas": _rise},
    "stuck_open": {"dw": _unexplained, "dgas": _fall},
    "leak": {"dw": _unexplained, "dgas": _fall},
    "panel": {"panel": _power_lack, "bat": _slow_charge},
}
"""Two channels of each fault; a higher score speaks for it."""


def auroc(faulty: Sequence[float], healthy: Sequence[float]) -> float:
    """[-] Chance that a faulty score is above a healthy one, a tie being half of one."""
    above = np.sign(np.subtract.outer(np.asarray(faulty), np.asarray(healthy)))
    return 0.5 + 0.5 * float(above.mean())


# -- pairs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """Pairs of a fault in a family: a share of those wanted, so that several processes can look for them."""

    family: str
    fault: str
    pairs: int
    part: int = 0
    parts: int = 1
    """Of the missions searched, every `parts`-th from the `part`-th on."""


@dataclass(frozen=True)
class Pair:
    """A mission flown with its fault and without it."""

    family: str
    fault: str
    mission: str
    scores: dict[str, tuple[float, float]]
    """By channel: faulty, healthy."""
    named: bool
    """Whether `reference` reports the fault and nothing else,"""
    false_alarm: bool
    """and whether it reports one where there is none."""


def carriers(search: Search) -> Iterator[MissionSpec]:
    """Missions of all levels that carry the fault, and on which it matters."""
    for number in range(search.part, SEARCHED, search.parts):
        turn = number // search.parts
        if search.family == UNSEEN:
            spec = ood.generate(UNSEEN, FIRST_SEED + search.part * SEARCHED + turn)
        else:
            spec = generate(search.family, turn % len(LEVELS), FIRST_SEED + number)
        wanted = [fault.kind for fault in spec.faults] == [search.fault]
        if wanted and (search.fault != "panel" or ood.suits("panel", spec)):
            yield spec


def both(spec: MissionSpec, policy: Callable[[], Policy]) -> tuple[Flight, Flight]:
    """A mission flown with its faults and without them, on one episode seed."""
    healthy = spec.model_copy(update={"faults": ()})
    return fly(spec, policy(), spec.seed), fly(healthy, policy(), spec.seed)


def scored(spec: MissionSpec, family: str) -> Pair | None:
    """The pair of a mission, for a family; None if it was over before the onset."""
    (fault,) = spec.faults
    views = SLOW.get(fault.kind, VIEWS)
    with_it, without = (look(flight, fault.onset_s, views) for flight in both(spec, Book))
    if not with_it.after:
        return None
    scores = {name: (score(with_it), score(without)) for name, score in CHANNELS[fault.kind].items()}
    said, said_without = (_reports(flight) for flight in both(spec, Reference))
    named = said == {(fault.kind, unit_of(fault))}
    return Pair(family, fault.kind, str(spec), scores, named, bool(said_without))


def _reports(flight: Flight) -> set[tuple[str, int | None]]:
    return {(sent.kind, sent.unit) for sent in flight.commands if isinstance(sent, ReportFault)}


def pairs(search: Search) -> list[Pair]:
    """Fly pairs until there are enough.

    Raises:
        RuntimeError: Too few missions carry the fault.
    """
    found: list[Pair] = []
    missions = carriers(search)
    while len(found) < search.pairs:
        spec = next(missions, None)
        if spec is None:
            raise RuntimeError(f"{search}: {len(found)} pairs among {SEARCHED} missions")
        pair = scored(spec, search.family)
        found += [pair] if pair else []
    return found


def searches(families: Sequence[str], wanted: int, parts: int) -> list[Search]:
    """Every fault of every family and the unseen kinds, in parts of about the same size."""
    cells = [(family, fault) for family in families for fault in FAMILIES[family].KINDS]
    cells += [(UNSEEN, fault) for fault in ood.KINDS]
    return [
        Search(family, fault, (wanted + part) // parts, part, parts)
        for family, fault in cells
        for part in range(parts)
    ]


def figure(found: Sequence[Pair]) -> dict[str, dict[str, dict[str, float]]]:
    """`<fault>.<family>.<channel>`: AUROC."""
    cells: dict[str, dict[str, list[Pair]]] = {}
    for pair in found:
        cells.setdefault(pair.fault, {}).setdefault(pair.family, []).append(pair)
    return {
        fault: {family: _aurocs(fault, cell) for family, cell in families.items()}
        for fault, families in cells.items()
    }


def naming(found: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """`<fault>`: shares of pairs in which `reference` names it, and reports one where there is none."""
    return {
        fault: {
            "named": float(np.mean([pair.named for pair in found if pair.fault == fault])),
            "false_alarm": float(np.mean([pair.false_alarm for pair in found if pair.fault == fault])),
        }
        for fault in dict.fromkeys(pair.fault for pair in found)
    }


def _aurocs(fault: str, cell: Sequence[Pair]) -> dict[str, float]:
    columns = {
        name: list(zip(*(pair.scores[name] for pair in cell), strict=True)) for name in CHANNELS[fault]
    }
    return {name: auroc(faulty, healthy) for name, (faulty, healthy) in columns.items()}
