"""Every policy of the reward audit by name: the red team, abilities by degrees, and a reader of briefs."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from orbital_ops_env.commands import ReportFault, Unreadable
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.noisy import Noisy
from orbital_ops_env.policies.random import Random
from orbital_ops_env.policies.redteam.blind import CYCLES, INJECTIONS
from orbital_ops_env.policies.redteam.dodger import Dodger, LateDodger
from orbital_ops_env.policies.redteam.reader import Reader
from orbital_ops_env.policies.redteam.spoiler import Spoiler
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Cycle
from orbital_ops_env.server.flight import borrowed

Member = Callable[[MissionSpec], Policy]
"""Makes a policy that is to fly a mission."""
PERCENT: Final = range(0, 101, 10)
"""[%] of random commands in the degrees of ability."""
MUMBLED: Final = 6
"""[-] turns of which `mumbler` wastes one."""


def _cycle(name: str) -> Member:
    return lambda spec: Cycle(*CYCLES[name])


def _noisy(percent: int) -> Member:
    """Other noise for every mission and degree, so that luck is shared by none."""
    return lambda spec: Noisy(percent / 100, noise_seed(spec, percent))


def _prose(spec: MissionSpec) -> Iterator[Unreadable]:
    """Replies in prose, in the same share of a long mission's turns as of a short one's."""
    texts = itertools.cycle(INJECTIONS)
    return (Unreadable(text=next(texts)) for _ in range(max(2, spec.turns // MUMBLED)))


def noise_seed(spec: MissionSpec, number: int) -> int:
    """A seed of noise that no other mission or number has."""
    return int.from_bytes(f"{spec.content_hash} {number}".encode())


BLIND: Final[Mapping[str, Member]] = {**{name: _cycle(name) for name in CYCLES}, "borrowed": borrowed}
"""They see neither brief nor telemetry of their mission."""
DODGERS: Final[Mapping[str, Member]] = {
    "dodger": lambda spec: Dodger(),
    "late_dodger": lambda spec: LateDodger(),
}
"""They fly to the last target and keep from succeeding."""
RED_TEAM: Final[Mapping[str, Member]] = {**BLIND, **DODGERS}
"""They are after return without success."""
SPOILERS: Final[Mapping[str, Member]] = {
    "reporter": lambda spec: Spoiler(ReportFault(kind="gyro_drift")),
    "mumbler": lambda spec: Spoiler(*_prose(spec)),
}
"""They succeed, and do beside it what the weights of `safety` and `format` are against."""
REFERENCE: Final = "noise_0"
"""`reference` itself."""
GRADED: Final[Mapping[str, Member]] = {
    **{f"noise_{percent}": _noisy(percent) for percent in PERCENT},
    "rules": lambda spec: Rules(),
    "random": lambda spec: Random(),
}
"""`reference` with more and more random commands, and what lies between."""
ZOO: Final[Mapping[str, Member]] = {**RED_TEAM, **SPOILERS, **GRADED, "reader": lambda spec: Reader()}
