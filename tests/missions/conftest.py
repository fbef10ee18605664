"""Missions to look at: many of every family and level."""

from itertools import product

import pytest

from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec

Sample = dict[tuple[str, int], list[MissionSpec]]
SEEDS = range(40)


@pytest.fixture(scope="session")
def sample() -> Sample:
    """Forty missions by family and level, 200 a level."""
    return {cell: [generate(*cell, seed) for seed in SEEDS] for cell in product(SHORT_FAMILIES, LEVELS)}
