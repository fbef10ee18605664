"""The same episode without the wire: a policy flown in process."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orbital_ops_env.client.render import PolicyView, view
from orbital_ops_env.commands import AnyCommand, Coast, Fire, SafeMode
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec, Outcome
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.script import Cycle, Script
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.state import Snapshot


@dataclass(frozen=True)
class Flight:
    """A finished episode, with its true history."""

    spec: MissionSpec
    episode_seed: int
    commands: tuple[AnyCommand, ...]
    rationales: tuple[str, ...]
    """Why the policy sent each command."""
    views: tuple[PolicyView, ...]
    """What the policy saw: one at reset and one after each command."""
    rewards: tuple[float, ...]
    snapshots: tuple[Snapshot, ...]
    outcome: Outcome
    components: dict[str, float]
    faults: tuple[Fault, ...]
    """What broke, as it did."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission succeeded."""
        return self.outcome == "succeeded"

    @property
    def return_(self) -> float:
        """[-] sum of the step rewards, in [0, 1]."""
        return self.components["reward/overall"]


def fly(spec: MissionSpec, policy: Policy, episode_seed: int) -> Flight:
    """Fly a mission with a policy until the episode is over."""
    episode = Episode(spec, episode_seed)
    views = [view(episode.observation)]
    commands: list[AnyCommand] = []
    rationales: list[str] = []
    rewards: list[float] = []
    snapshots = [episode.snapshot]
    policy.begin(spec.seed)
    while episode.outcome == "ongoing":
        commands.append(policy.act(views[-1]))
        rationales.append(policy.rationale)
        observation = episode.step(commands[-1])
        views.append(view(observation, views[-1]))
        rewards.append(float(observation.reward or 0.0))
        snapshots.append(episode.snapshot)
    return Flight(
        spec=spec,
        episode_seed=episode_seed,
        commands=tuple(commands),
        rationales=tuple(rationales),
        views=tuple(views),
        rewards=tuple(rewards),
        snapshots=tuple(snapshots),
        outcome=episode.outcome,
        components=episode.rubric.components,
        faults=episode.faults,
    )


def borrowed(spec: MissionSpec) -> Policy:
    """What `reference` sends on another mission: same family and level, the next seed."""
    return Script(_sent(spec.family, spec.level, spec.seed + 1))


@functools.lru_cache(maxsize=8)
def _sent(family: str, level: int, seed: int) -> tuple[AnyCommand, ...]:
    """What `reference` sends on a mission; a certificate asks again for each of its episode seeds."""
    return fly(generate(family, level, seed), Reference(), seed).commands


CONTROLLERS: Final[Mapping[str, Callable[[MissionSpec], Policy]]] = {
    "reference": lambda spec: Reference(),
    "idle": lambda spec: Cycle(Coast(duration_s=1200)),
    "fire": lambda spec: Cycle(Fire(axis="+x", on_time_s=5.0)),
    "safe_mode": lambda spec: Cycle(SafeMode(duration_s=1200)),
    "borrowed": borrowed,
}
"""Who flies for a certificate."""


def by_name(spec: MissionSpec, policy: str, episode_seed: int) -> Flight:
    """Fly a mission with a controller of `CONTROLLERS`.

    Raises:
        ValueError: There is no such controller.
    """
    if policy not in CONTROLLERS:
        raise ValueError(f"no controller {policy!r}: expected one of {', '.join(CONTROLLERS)}")
    return fly(spec, CONTROLLERS[policy](spec), episode_seed)


def replay(spec: MissionSpec, commands: Iterable[AnyCommand], episode_seed: int) -> Flight:
    """Fly the command log of an episode again; the same bytes come out."""
    return fly(spec, Script(tuple(commands)), episode_seed)
