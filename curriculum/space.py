"""The space of missions that a curriculum moves in: what an edit does, and who may come in."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.curriculum import operators
from orbital_ops_env.curriculum.certificate import Certificate
from orbital_ops_env.curriculum.tiers import levelled
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import held_out

DIGITS: Final = 6
"""Decimals, in SI units, in which missions must differ: a milligram, a microradian."""
Certify = Callable[[Sequence[MissionSpec]], Sequence[Certificate]]
"""Gives certificates, in order."""


@dataclass(frozen=True)
class Edge:
    """How a mission was made from another."""

    parent: MissionSpec
    operator: str
    harder: bool


def flown_as(spec: MissionSpec) -> str:
    """The same text for missions that are the same to fly, whatever level they are told to be of.

    Numbers are rounded, for an edit and its inverse leave a trace in the last digits.
    """
    told = spec.model_copy(update={"level": 0, "seed": 0, "targets": ()}).canonical_json
    rounded = json.loads(told, parse_float=lambda text: round(float(text), DIGITS))
    return hashlib.sha256(json.dumps(rounded).encode()).hexdigest()


class MissionSpace:
    """Edits missions and admits them.

    Args:
        known: Missions that the run has had, by `flown_as`, which do not come again.
        certify: Gives certificates; None if none is asked for.
    """

    def __init__(self, known: set[str], certify: Certify | None) -> None:
        self._known, self._certify = known, certify
        self._drawn: dict[str, Edge] = {}
        self.edges: dict[str, Edge] = {}
        """How each mission was made that was new, by content hash."""
        self.certificates: list[Certificate] = []
        """Certificates so far, of those refused too."""

    def edit(self, rng: np.random.Generator, mission: MissionSpec, harder: bool) -> MissionSpec | None:
        """A mission after one edit, told to be of the level that it is most like."""
        found = operators.edit(mission, rng, harder)
        if found is None:
            return None
        operator, edited = found
        edited = levelled(edited)
        self._drawn.setdefault(edited.content_hash, Edge(mission, operator, harder))
        return edited

    def admits(self, missions: Sequence[MissionSpec]) -> list[bool]:
        """Which missions are new, not nearly a held-out one, and certified."""
        fits = [self._is_new(each) for each in missions]
        if self._certify is None:
            return fits
        told = self._certify([each for each, fit in zip(missions, fits, strict=True) if fit])
        self.certificates += told
        accepted = iter([each.accepted for each in told])
        return [fit and next(accepted) for fit in fits]

    def _is_new(self, mission: MissionSpec) -> bool:
        same = flown_as(mission)
        if same in self._known or held_out().near(mission):
            return False
        self._known.add(same)
        if edge := self._drawn.get(mission.content_hash):
            self.edges[mission.content_hash] = edge
        return True
