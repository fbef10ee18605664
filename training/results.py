"""What episodes say: rates, the gate before reinforcement learning, paired comparison."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.training.rollout import Rollout

GATE_LIVE_GROUPS: Final = 0.5
"""[-] least share of groups with both successes and failures."""
GATE_SUCCESS: Final = (0.2, 0.7)
"""[-] least and greatest mean success."""
GATE_VALID_TURNS: Final = 0.95
"""[-] least share of replies that are exactly one telecommand."""
RESAMPLES: Final = 10_000
"""[-] of the bootstrap."""
Z95: Final = 1.959964
"""[sigma] of a normal distribution that hold 95 % of it."""
LEAST_BASELINE: Final = 0.05
"""[-] baseline under which a gain in percent says nothing."""


def summary(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Means over episodes, under the names that trainers log."""
    if not rollouts:
        raise ValueError("no episodes to summarise")
    replies = [len(rollout.commands) for rollout in rollouts]
    readable = sum(rollout.valid_turns * n for rollout, n in zip(rollouts, replies, strict=True))
    means = {
        "episode/success_rate": _mean([rollout.succeeded for rollout in rollouts]),
        "episode/timeout_rate": _mean([rollout.timed_out for rollout in rollouts]),
        "episode/valid_turns": readable / sum(replies),
        "episode/turns": _mean(replies),
    }
    names = rollouts[0].components
    return means | {name: _mean([rollout.components[name] for rollout in rollouts]) for name in names}


def groups(rollouts: Sequence[Rollout], size: int) -> list[Sequence[Rollout]]:
    """Consecutive episodes of the same mission.

    Raises:
        ValueError: The episodes do not fill groups of this size.
    """
    if len(rollouts) % size:
        raise ValueError(f"{len(rollouts)} episodes do not fill groups of {size}")
    return [rollouts[first : first + size] for first in range(0, len(rollouts), size)]


def live(rollouts: Sequence[Rollout], size: int) -> float:
    """[-] share of groups that hold a success and a failure, the ones with something to teach."""
    return _mean([len({each.succeeded for each in group}) > 1 for group in groups(rollouts, size)])


@dataclass(frozen=True)
class Gate:
    """Whether a policy's groups have enough signal for reinforcement learning."""

    live_groups: float
    success: float
    valid_turns: float

    @property
    def passed(self) -> bool:
        """Whether to go on; else change levels, menus or the amount of warm-up, not the learning rate."""
        low, high = GATE_SUCCESS
        return (
            self.live_groups >= GATE_LIVE_GROUPS
            and low <= self.success <= high
            and self.valid_turns >= GATE_VALID_TURNS
        )


def gate(rollouts: Sequence[Rollout], size: int) -> Gate:
    """The gate's figures for groups of episodes."""
    found = summary(rollouts)
    return Gate(live(rollouts, size), found["episode/success_rate"], found["episode/valid_turns"])


@dataclass(frozen=True)
class Gain:
    """Mean return of one policy over another on the same missions with the same seeds."""

    before: float
    after: float
    low: float
    high: float
    """[-] 95 % bootstrap interval of the difference."""
    episodes: int

    def __str__(self) -> str:
        gain = self.after - self.before
        words = f"{gain:+.3f} [{self.low:+.3f}, {self.high:+.3f}] over {self.episodes} paired episodes"
        if self.before < LEAST_BASELINE:
            return words
        return f"{words}, {100 * gain / self.before:+.0f} %"


def compare(before: Sequence[Rollout], after: Sequence[Rollout], seed: int = 0) -> Gain:
    """Paired difference of returns.

    Raises:
        ValueError: The episodes are not pairs of the same missions, or a mission comes twice: its episodes
            are no independent draws, and the interval would be too narrow.
    """
    missions = {tuple(sorted(each.options.items())) for each in before}
    if not before or len(missions) < len(before):
        raise ValueError(f"{len(before)} episodes on {len(missions)} missions: expected one on each")
    if [each.options for each in before] != [each.options for each in after]:
        raise ValueError("the two policies flew other missions; compare the same reset options, in one order")
    was, now = (np.array([each.return_ for each in flown]) for flown in (before, after))
    apart = now - was
    return Gain(float(was.mean()), float(now.mean()), *interval(apart, seed), len(apart))


def wilson(successes: int, episodes: int) -> tuple[float, float]:
    """95 % Wilson score interval of a rate.

    Raises:
        ValueError: No episodes.
    """
    if episodes < 1:
        raise ValueError(f"{successes} successes of {episodes} episodes: expected at least one episode")
    rate, shrunk = successes / episodes, Z95**2 / episodes
    centre = (rate + shrunk / 2) / (1 + shrunk)
    half = Z95 * math.sqrt((rate * (1 - rate) + shrunk / 4) / episodes) / (1 + shrunk)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def interval(values: Sequence[float] | NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of independent draws."""
    drawn = np.asarray(values)
    draws = np.random.default_rng(seed).integers(len(drawn), size=(RESAMPLES, len(drawn)))
    low, high = np.quantile(drawn[draws].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
