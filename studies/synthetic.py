"""A space of missions and a learner without any simulator, to compare curricula on many rollouts.

A mission asks for two to four of six skills, each at a difficulty in [0, 10]. The learner passes each with a
probability that is logistic in what it has learnt at that difficulty and nearby; to succeed it must pass all.
It learns by group-relative policy gradients on its own pass bits. In most conditions difficulties are
mis-calibrated: how much a step of difficulty costs differs from skill to skill, so that no single number
orders the missions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SKILLS: Final = 6
FEWEST, MOST = 2, 4
"""[-] skills of a mission."""
HARDEST: Final = 10.0
TWO_MOST, ALL_MOST = 15.0, 26.0
"""[-] the two greatest demands of a feasible mission, and all of them, add up to no more."""
HELD_OUT: Final = 300
HELD_OUT_SPAN: Final = (3.0, 8.0)
"""Difficulties of the held-out missions."""
CENTRES: Final = np.linspace(0.0, HARDEST, 11)
"""[-] difficulties at which the learner has a feature, one wide."""
EASE: Final = 2.0
"""[-] logits of a skill at difficulty 0 before any practice."""
RATE: Final = 0.12
"""[-] of learning,"""
SPREAD: Final = 0.15
"""[-] what practice at one difficulty gives to all,"""
FORGOTTEN: Final = 2e-4
"""[-] and what each step takes."""
SUCCESS_REWARD: Final = 0.8
"""[-] for success; the rest is for the share of skills passed before the first failure."""
STEP: Final = (0.2, 0.8)
"""[-] least and greatest edit of a difficulty."""
NEW_SKILL: Final = (0.0, 1.0)
"""[-] difficulty of a skill that is added."""
STRUCTURAL: Final = 0.2
"""[-] share of edits that add or drop a skill, where that is possible."""
INHERITED: Final = 0.9
"""[-] of coin-flip missions pass that on to a mission edited from them."""


@dataclass(frozen=True)
class Mission:
    """Difficulty of each skill; NaN for those that it does not ask for."""

    demands: tuple[float, ...]
    coin_flip: bool = False
    """Whether it succeeds half of the time, whatever the learner does."""


@dataclass(frozen=True)
class Condition:
    """How the difficulties are calibrated, and what is wrong with rewards, certificates and generations."""

    slopes: tuple[float, float] = (0.8, 3.2)
    """[-] logits that a skill loses by step of difficulty: of the mildest and of the steepest."""
    late: int = 0
    """[-] steps that the next generation takes to be made; as long, missions are flown again."""
    noise: float = 0.0
    """[-] standard deviation of the reward."""
    lucky: float = 0.0
    """[-] share of failures that count as success."""
    coin_flips: float = 0.0
    """[-] share of missions that are coin flips."""
    wrongly_refused: float = 0.0
    """[-] share of good missions that the certificate refuses,"""
    infeasible_let_in: float = 0.0
    """[-] of infeasible ones that it lets in,"""
    coin_flips_let_in: float = 0.0
    """[-] and of coin flips."""


CONDITIONS: Final = {
    "clean": Condition(),
    "noise": Condition(noise=0.3),
    "bad_certificate": Condition(
        noise=0.15,
        lucky=0.01,
        coin_flips=0.1,
        wrongly_refused=0.1,
        infeasible_let_in=0.02,
        coin_flips_let_in=0.03,
    ),
    "late": Condition(late=8),
    "less_skew": Condition(slopes=(1.2, 2.6)),
    "no_skew": Condition(slopes=(2.0, 2.0)),
}


def demands(missions: Sequence[Mission]) -> Array:
    """(n, 6) difficulties."""
    return np.array([each.demands for each in missions])


def feasible(asked: Array) -> NDArray[np.bool_]:
    """(n,) whether missions of some difficulties (n, 6) can be done at all."""
    ordered = np.sort(np.nan_to_num(asked), axis=1)
    return (ordered[:, -2:].sum(axis=1) <= TWO_MOST) & (ordered.sum(axis=1) <= ALL_MOST)


def drawn(rng: np.random.Generator, least: float, most: float) -> tuple[float, ...]:
    """Difficulties of a mission between two."""
    asked = np.full(SKILLS, np.nan)
    skills = rng.choice(SKILLS, int(rng.integers(FEWEST, MOST + 1)), replace=False)
    asked[skills] = rng.uniform(least, most, len(skills))
    return tuple(asked.tolist())


def held_out(rng: np.random.Generator) -> Array:
    """(300, 6) difficulties of feasible missions that no curriculum flies."""
    asked = np.array([drawn(rng, *HELD_OUT_SPAN) for _ in range(3 * HELD_OUT)])
    return asked[feasible(asked)][:HELD_OUT]


# -- the space ---------------------------------------------------------------------------------


class Synthetic:
    """The space in which missions are drawn, edited and certified.

    Args:
        rng: Draws what is wrong.
        condition: How often something is.
        certified: Whether there is a certificate at all.
    """

    def __init__(self, rng: np.random.Generator, condition: Condition, certified: bool) -> None:
        self._rng, self._condition, self._certified = rng, condition, certified

    def fresh(self, least: float, most: float, count: int) -> list[Mission]:
        """Admitted missions of difficulties between two."""
        found: list[Mission] = []
        while len(found) < count:
            tried = [self._mission(drawn(self._rng, least, most)) for _ in range(count)]
            found += [each for each, fits in zip(tried, self.admits(tried), strict=True) if fits]
        return found[:count]

    def edit(self, rng: np.random.Generator, mission: Mission, harder: bool) -> Mission | None:
        """A step of one difficulty, or a skill more or less."""
        asked = np.array(mission.demands)
        active, idle = np.flatnonzero(~np.isnan(asked)), np.flatnonzero(np.isnan(asked))
        structural = rng.random() < STRUCTURAL
        if structural and harder and len(active) < MOST:
            asked[rng.choice(idle)] = rng.uniform(*NEW_SKILL)
        elif structural and not harder and len(active) > FEWEST:
            asked[rng.choice(active)] = np.nan
        else:
            step = rng.uniform(*STEP) * (1 if harder else -1)
            skill = rng.choice(active)
            asked[skill] = np.clip(asked[skill] + step, 0.0, HARDEST)
        inherits = rng.random() < INHERITED
        edited = self._mission(tuple(asked.tolist()))
        return Mission(edited.demands, mission.coin_flip if inherits else edited.coin_flip)

    def admits(self, missions: Sequence[Mission]) -> list[bool]:
        """Which missions get a certificate; all of them if there is none."""
        if not self._certified or not missions:
            return [True] * len(missions)
        wrong, luck = self._condition, self._rng.random(len(missions))
        coin = np.array([each.coin_flip for each in missions])
        good = np.where(
            feasible(demands(missions)), luck >= wrong.wrongly_refused, luck < wrong.infeasible_let_in
        )
        return np.where(coin, luck < wrong.coin_flips_let_in, good).tolist()

    def _mission(self, asked: tuple[float, ...]) -> Mission:
        return Mission(asked, bool(self._rng.random() < self._condition.coin_flips))


# -- the learner -------------------------------------------------------------------------------


class Learner:
    """Pass probabilities by skill and difficulty.

    Args:
        rng: Draws which skill is how steep.
        slopes: Of the mildest and of the steepest.
    """

    def __init__(self, rng: np.random.Generator, slopes: tuple[float, float]) -> None:
        self._slopes = rng.permutation(np.linspace(*slopes, SKILLS))
        self._local = np.zeros((SKILLS, len(CENTRES)))
        self._common = np.zeros(SKILLS)

    def passes(self, asked: Array) -> Array:
        """[-] (n, 6) probability to pass each skill; 1 for those not asked for."""
        difficulty = np.nan_to_num(asked)
        practised = (_features(difficulty) * self._local).sum(axis=-1) + SPREAD * self._common
        logits = EASE - self._slopes * difficulty + practised
        return np.where(np.isnan(asked), 1.0, 1 / (1 + np.exp(-logits)))

    def success(self, asked: Array) -> float:
        """[-] Mean probability to succeed on feasible missions."""
        return float(self.passes(asked).prod(axis=1).mean())

    def learn(self, asked: Array, passed: Array, returns: Array) -> None:
        """One step of group-relative policy gradients.

        Args:
            asked: (n, 6) difficulties.
            passed: (n, group, 6) pass bits.
            returns: (n, group) of each rollout.
        """
        centred = returns - returns.mean(axis=1, keepdims=True)
        advantages = centred / (returns.std(axis=1, keepdims=True) + 1e-4)
        surprise = np.where(np.isnan(asked)[:, None, :], 0.0, passed - self.passes(asked)[:, None, :])
        push = RATE * (advantages[:, :, None] * surprise).mean(axis=1)
        self._local += (push[:, :, None] * _features(np.nan_to_num(asked))).sum(axis=0)
        self._common += SPREAD * push.sum(axis=0)
        self._local *= 1 - FORGOTTEN


def _features(difficulty: Array) -> Array:
    """(..., 11) bumps about the centres, of unit length."""
    bumps = np.exp(-0.5 * (difficulty[..., None] - CENTRES) ** 2)
    return bumps / np.linalg.norm(bumps, axis=-1, keepdims=True)


def rollouts(
    rng: np.random.Generator,
    learner: Learner,
    missions: Sequence[Mission],
    members: int,
    condition: Condition,
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Pass bits (n, members, 6), successes and returns (n, members) of groups."""
    asked = demands(missions)
    passed = rng.random((len(missions), members, SKILLS)) < learner.passes(asked)[:, None, :]
    succeeded = passed.all(axis=2) & feasible(asked)[:, None]
    coin = np.array([each.coin_flip for each in missions])[:, None]
    succeeded = np.where(coin, rng.integers(0, 2, succeeded.shape) == 1, succeeded)
    succeeded |= rng.random(succeeded.shape) < condition.lucky
    active = ~np.isnan(asked)
    led = (np.logical_and.accumulate(passed, axis=2) & active[:, None, :]).sum(axis=2) / active.sum(axis=1)[
        :, None
    ]
    returns: Array = SUCCESS_REWARD * succeeded + (1 - SUCCESS_REWARD) * led
    return passed.astype(float), succeeded, returns + rng.normal(0.0, condition.noise, returns.shape)
