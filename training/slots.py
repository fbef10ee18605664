"""Which mission a slot of a run is, and the difficulty ladder that decides how hard slots are.

A slot is a number, the only thing that the trainer's dataset holds. Slot i of a run is a pure function of the
run's seed, the ladder's rung and i, so all members of a group fly the same mission with the same seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

RUNGS: Final = {"easy": (0, 1, 2), "medium": (3, 4, 5), "hard": (6, 7, 8, 9)}
"""Levels of each rung of the ladder, from the ground up."""
FIRST_TRAINING_SEED: Final = 1_000_000
"""Mission seeds from here on are for training."""
TRAINING_SEEDS: Final = 1_000_000_000
"""[-] how many."""
FIRST_EVALUATION_SEED: Final = 100_000
"""Mission seeds from here to `FIRST_TRAINING_SEED` are for evaluation."""


def slot(run_seed: int, rung: str, number: int, families: Sequence[str]) -> dict[str, Any]:
    """Options of `reset` for a slot; families take turns, levels and seeds are drawn.

    Args:
        run_seed: Seed of the run.
        rung: A name of `RUNGS`.
        number: The slot, 0 or more.
        families: Mission families.
    """
    place = list(RUNGS).index(rung)
    rng = np.random.default_rng([run_seed, place, number])
    return {
        "family": families[number % len(families)],
        "level": int(rng.choice(RUNGS[rung])),
        "seed": FIRST_TRAINING_SEED + int(rng.integers(TRAINING_SEEDS)),
        "episode_seed": int(rng.integers(TRAINING_SEEDS)),
    }


def evaluation(family: str, levels: Sequence[int], episodes: int, first: int = 0) -> list[dict[str, Any]]:
    """Options of `reset` for held-out missions, levels in turn; no slot ever is one of them.

    Args:
        family: A mission family.
        levels: 0 to 9.
        episodes: How many missions.
        first: Number of the first; two calls with the same numbers give the same missions.
    """
    return [
        {
            "family": family,
            "level": levels[number % len(levels)],
            "seed": FIRST_EVALUATION_SEED + number,
            "episode_seed": FIRST_EVALUATION_SEED + number,
        }
        for number in range(first, first + episodes)
    ]


@dataclass
class Ladder:
    """The rung that a run is on: up after some good steps in a row, down after some bad ones."""

    ease_below: float
    ease_after: int
    unlock_above: float
    unlock_after: int
    rung: str = "easy"
    bad_steps: int = 0
    """[-] in a row."""
    good_steps: int = 0
    """[-] in a row."""

    def __post_init__(self) -> None:
        if self.rung not in RUNGS:
            raise ValueError(f"no rung {self.rung!r} on the ladder: expected one of {', '.join(RUNGS)}")

    def hear(self, mean_return: float) -> None:
        """Take the mean return of a step."""
        self.bad_steps = self.bad_steps + 1 if mean_return < self.ease_below else 0
        self.good_steps = self.good_steps + 1 if mean_return > self.unlock_above else 0
        if self.good_steps >= self.unlock_after:
            self._go(+1)
        elif self.bad_steps >= self.ease_after:
            self._go(-1)

    def _go(self, rungs: int) -> None:
        names = list(RUNGS)
        self.rung = names[min(max(names.index(self.rung) + rungs, 0), len(names) - 1)]
        self.bad_steps = self.good_steps = 0
