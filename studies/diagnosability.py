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
    stuck_open     `dw`      the same
                   `dgas`    greatest fall

`dgyro` is no second channel for a lost tracker, for it only repeats `st`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.client import PolicyView
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import Telemetry
from orbital_ops_env.policies.procedure import Procedure
from orbital_ops_env.policies.rules import SLEW_DEG_S
from orbital_ops_env.server.flight import Flight, fly

FIRST_SEED: Final = 80_000
"""Missions and episodes from here on, which no other study flies."""
SEARCHED: Final = 4_000
"""Missions searched for those that carry a fault."""
VIEWS: Final = 3
"""Views after the onset that a score is formed from."""


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
    """The first views after it, at most `VIEWS`."""


def look(flight: Flight, onset_s: float) -> Look:
    """The views around an onset; none after it if the flight was over before."""
    seen = [view.telemetry for view in flight.views]
    before = [telemetry for telemetry in seen if telemetry.time_s <= onset_s]
    return Look(before[-1], tuple(seen[len(before) :][:VIEWS]))


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


Score = Callable[[Look], float]
CHANNELS: Final[Mapping[str, Mapping[str, Score]]] = {
    "gyro_bias": {"inn": _innovation, "dgyro": _gyro_tracker},
    "star_tracker": {"st": _blind, "reason": _no_fix},
    "stuck_closed": {"dw": _unexplained, "dgas": _rise},
    "stuck_open": {"dw": _unexplained, "dgas": _fall},
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


def carriers(search: Search) -> Iterator[MissionSpec]:
    """Missions of all levels that carry the fault."""
    for number in range(search.part, SEARCHED, search.parts):
        level = number // search.parts % len(LEVELS)
        spec = generate(search.family, level, FIRST_SEED + number)
        if [fault.kind for fault in spec.faults] == [search.fault]:
            yield spec


def both(spec: MissionSpec) -> tuple[Flight, Flight]:
    """A mission flown by the book with its faults and without them, on one episode seed."""
    healthy = spec.model_copy(update={"faults": ()})
    return fly(spec, Book(), spec.seed), fly(healthy, Book(), spec.seed)


def scored(spec: MissionSpec) -> Pair | None:
    """The pair of a mission; None if it was over before the onset."""
    (fault,) = spec.faults
    with_it, without = (look(flight, fault.onset_s) for flight in both(spec))
    if not with_it.after:
        return None
    scores = {name: (score(with_it), score(without)) for name, score in CHANNELS[fault.kind].items()}
    return Pair(spec.family, fault.kind, str(spec), scores)


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
        pair = scored(spec)
        found += [pair] if pair else []
    return found


def searches(families: Sequence[str], wanted: int, parts: int) -> list[Search]:
    """Every fault of every family, in parts of about the same size."""
    return [
        Search(family, fault, (wanted + part) // parts, part, parts)
        for family in families
        for fault in FAMILIES[family].KINDS
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


def _aurocs(fault: str, cell: Sequence[Pair]) -> dict[str, float]:
    columns = {
        name: list(zip(*(pair.scores[name] for pair in cell), strict=True)) for name in CHANNELS[fault]
    }
    return {name: auroc(faulty, healthy) for name, (faulty, healthy) in columns.items()}
