"""Numbered missions for demonstrations and for evaluation: pure functions of their numbers.

Those that GRPO trains on are chosen by the server's curriculum (`training/curriculum.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

RUNGS: Final = {"easy": (0, 1, 2), "medium": (3, 4, 5), "hard": (6, 7, 8, 9)}
"""Levels by difficulty."""
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
