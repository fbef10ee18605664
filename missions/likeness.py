"""Whether a mission is nearly the same as another, so that who knows the one knows the other.

Two missions are near-duplicates if the same family asks for the same things at the same targets in the same
order under the same rules, and no number of one is further from that of the other than `NEAR` of its scale:
54 s, 5.4 deg, 0.3 g, 0.3 deg/s a body axis. What breaks does not count, nor where in its orbit the craft
begins: they change nothing of what the mission asks for.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.missions.mission import MissionSpec

NEAR: Final = 0.03
"""[-] of a scale, up to which two numbers are nearly the same."""
SCALES: Final = {
    "rad_s": math.radians(10.0),
    "rad": math.pi,
    "kg": 0.01,
    "s": 1800.0,
    "level": 1.0,
}
"""What a number may be at most, by the end of its field's name, the longest end first."""

Outline = tuple[str, tuple[tuple[str, str | None], ...]]
"""Family, and kind and target of each directive and rule in order."""


def outline(spec: MissionSpec) -> Outline:
    """What near-duplicates have in common."""
    parts = (*spec.directives, *spec.rules)
    return spec.family, tuple((part.kind, getattr(part, "target", None)) for part in parts)


def numbers(spec: MissionSpec) -> NDArray[np.float64]:
    """[-] (n,) Numbers of a mission, each as a share of its scale; n is the same for the same outline."""
    start = [("propellant_kg", spec.start.propellant_kg), ("clock_s", spec.clock_s)]
    start += [("omega_rad_s", rate) for rate in spec.start.omega_BN_B]
    for part in (*spec.directives, *spec.rules):
        for name, value in part:
            if name == "until_s" and value is None:
                value = spec.clock_s
            if isinstance(value, float):
                start.append((name, value))
    return np.array([value / _scale(name) for name, value in start])


def _scale(name: str) -> float:
    return next(scale for end, scale in SCALES.items() if name == end or name.endswith(f"_{end}"))


class Missions:
    """Missions that others must not be near to."""

    def __init__(self) -> None:
        self._numbers: dict[Outline, list[NDArray[np.float64]]] = {}

    def add(self, spec: MissionSpec) -> None:
        """Take a mission in."""
        self._numbers.setdefault(outline(spec), []).append(numbers(spec))

    def near(self, spec: MissionSpec) -> bool:
        """Whether a mission is a near-duplicate of one of them."""
        alike = self._numbers.get(outline(spec))
        if alike is None:
            return False
        return bool((np.abs(np.array(alike) - numbers(spec)) < NEAR).all(axis=1).any())
