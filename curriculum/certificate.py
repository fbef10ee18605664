"""Whether a mission can be solved by skill, on any episode seed, and by nothing less.

The reference controller must succeed on nearly every episode seed; doing nothing, always firing, safe mode
for ever and the command script of another mission must succeed on none. Flying is given in
(`server/flight.py`), so that this is pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from orbital_ops_env.missions.mission import MissionSpec

SOLVER: Final = "reference"
"""The controller that must succeed,"""
UNSKILLED: Final = ("idle", "fire", "safe_mode", "borrowed")
"""and those that must not."""
Verdict = Literal["accepted", "unsolved", "trivial"]


class Outcome(Protocol):
    """What became of a flight."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission succeeded."""
        ...


Fly = Callable[[MissionSpec, str, int], Outcome]
"""Flies a mission with a controller of a name on an episode seed."""


@dataclass(frozen=True)
class Bar:
    """On how many of how many episode seeds the solver must succeed."""

    needed: int
    seeds: int

    def __post_init__(self) -> None:
        if not 1 <= self.needed <= self.seeds:
            raise ValueError(
                f"{self.needed} of {self.seeds} seeds: expected at least 1, and no more than all"
            )


SPLIT: Final = Bar(15, 16)
"""For a frozen split; a curriculum's is in its preset."""


@dataclass(frozen=True)
class Flown:
    """A flight of a certification."""

    policy: str
    episode_seed: int
    succeeded: bool


@dataclass(frozen=True)
class Certificate:
    """What a mission is worth, and the flights that show it, in order."""

    spec_hash: str
    verdict: Verdict
    evidence: tuple[Flown, ...]

    @property
    def accepted(self) -> bool:
        """Whether it may be flown."""
        return self.verdict == "accepted"

    @property
    def solved(self) -> tuple[int, int]:
        """Flights that the solver won, and those that it flew."""
        flown = [each.succeeded for each in self.evidence if each.policy == SOLVER]
        return sum(flown), len(flown)

    @property
    def trivial_by(self) -> str | None:
        """Who succeeds on it without skill."""
        won = (each.policy for each in self.evidence if each.succeeded and each.policy != SOLVER)
        return next(won, None)


def certify(spec: MissionSpec, fly: Fly, episode_seeds: Sequence[int], bar: Bar = SPLIT) -> Certificate:
    """Fly a mission until it is clear what it is worth.

    Args:
        spec: The mission.
        fly: Flies it.
        episode_seeds: As many as the bar asks for, which nobody is scored on.
        bar: How often the solver must succeed.

    Raises:
        ValueError: Another number of seeds, or one twice.
    """
    if len(set(episode_seeds)) != bar.seeds or len(episode_seeds) != bar.seeds:
        raise ValueError(f"episode seeds {list(episode_seeds)}: expected {bar.seeds} that differ")
    evidence: list[Flown] = []
    for policy, seed in _order(episode_seeds):
        evidence.append(Flown(policy, seed, fly(spec, policy, seed).succeeded))
        if verdict := _refused(evidence, bar):
            return Certificate(spec.content_hash, verdict, tuple(evidence))
    return Certificate(spec.content_hash, "accepted", tuple(evidence))


def _order(episode_seeds: Sequence[int]) -> Iterator[tuple[str, int]]:
    """What refuses soonest comes first: the unskilled once, the solver throughout, the unskilled again."""
    first, *others = episode_seeds
    yield from ((policy, first) for policy in UNSKILLED)
    yield from ((SOLVER, seed) for seed in episode_seeds)
    yield from ((policy, seed) for seed in others for policy in UNSKILLED)


def _refused(evidence: Sequence[Flown], bar: Bar) -> Verdict | None:
    """Why a mission is refused after the last of some flights."""
    last = evidence[-1]
    if last.policy != SOLVER:
        return "trivial" if last.succeeded else None
    lost = sum(each.policy == SOLVER and not each.succeeded for each in evidence)
    return "unsolved" if lost > bar.seeds - bar.needed else None
