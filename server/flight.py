"""The same episode without the wire: a policy flown in process."""

from collections.abc import Iterable
from dataclasses import dataclass

from orbital_ops_env.client.render import PolicyView, view
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.mission import MissionSpec, Outcome
from orbital_ops_env.policies import Policy
from orbital_ops_env.server.episode import Episode
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
    )


def replay(spec: MissionSpec, commands: Iterable[AnyCommand], episode_seed: int) -> Flight:
    """Fly the command log of an episode again; the same bytes come out."""
    from orbital_ops_env.policies.script import Script

    return fly(spec, Script(tuple(commands)), episode_seed)
