"""Every mission family by name, and the one way to make a mission."""

import functools
from typing import Final, Protocol

import numpy as np

from orbital_ops_env.commands import did_you_mean
from orbital_ops_env.missions import coast, detumble, hold, mission_ops, recovery, retarget, shift
from orbital_ops_env.missions.mission import MissionSpec


class Family(Protocol):
    """What a family's module holds."""

    FAMILY: Final[str]
    """Its name."""
    KINDS: Final[tuple[str, ...]]
    """Faults that its missions may carry."""
    FIRST: Final[tuple[str, ...]]
    """Names of which one is the first that its missions point at."""

    def candidate(self, level: int, rng: np.random.Generator, seed: int, first: str) -> MissionSpec | None:
        """A mission of a level drawn from a generator.

        Args:
            level: 0 to 9.
            rng: Draws all but the first name.
            seed: What the mission is drawn from.
            first: The first named target, if the level has any.

        Returns:
            None if the sky does not allow it.
        """
        ...


FAMILIES: Final[dict[str, Family]] = {
    detumble.FAMILY: detumble,
    retarget.FAMILY: retarget,
    coast.FAMILY: coast,
    hold.FAMILY: hold,
    recovery.FAMILY: recovery,
    shift.FAMILY: shift,
    mission_ops.FAMILY: mission_ops,
}
FLAGSHIP: Final = mission_ops.FAMILY
"""The one family of long missions; all others are short."""
SHORT_FAMILIES: Final = tuple(name for name in FAMILIES if name != FLAGSHIP)
LEVELS: Final = range(10)
KEPT: Final = 64
"""[-] missions kept, since many policies fly the same one."""
ATTEMPTS: Final = 20_000
"""[-] most candidates drawn for a mission; the mean is 2 to 80 by level of a short family, and some hundreds
for the flagship."""


@functools.lru_cache(maxsize=KEPT)
def generate(family: str, level: int, seed: int) -> MissionSpec:
    """The mission of (family, level, seed): always the same one, the last ones kept.

    Args:
        family: A name of `FAMILIES`.
        level: 0 (easiest) to 9.
        seed: 0 or more.

    Raises:
        ValueError: Unknown family, or a level or seed out of range.
        RuntimeError: No candidate met the constraints; cannot happen for the tables of today.
    """
    if family not in FAMILIES:
        hint = did_you_mean(family, FAMILIES)
        raise ValueError(f"no mission family {family!r}{hint} Expected one of {', '.join(FAMILIES)}.")
    if level not in LEVELS:
        raise ValueError(f"{family}: level {level} is out of range, expected 0 to 9.")
    if seed < 0:
        raise ValueError(f"{family}: seed {seed} is negative, expected 0 or more.")
    return draw(FAMILIES[family], level, seed)


def draw(family: Family, level: int, seed: int) -> MissionSpec:
    """The mission of a family's module, level and seed, all in range.

    The first name is drawn before the sky, which then has to suit it: else the names that most skies suit
    would be the better guess.
    """
    stream = np.random.SeedSequence([int.from_bytes(family.FAMILY.encode()), level, seed])
    rng = np.random.default_rng(stream)
    first = str(rng.choice(family.FIRST))
    candidates = (family.candidate(level, rng, seed, first) for _ in range(ATTEMPTS))
    if spec := next(filter(None, candidates), None):
        return spec
    raise RuntimeError(f"{family.FAMILY} level={level} seed={seed}: no mission after {ATTEMPTS} candidates")
