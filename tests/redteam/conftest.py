"""Missions of every short family at three levels, flown by every policy of the reward audit."""

from collections.abc import Callable
from typing import Any

import pytest

from orbital_ops_env.missions.catalog import SHORT_FAMILIES
from orbital_ops_env.studies.audit_figure import Audit, Row
from orbital_ops_env.studies.reward_audit import flown, jobs
from orbital_ops_env.studies.zoo import GRADED, ZOO

LEVELS = (0, 4, 7)
GRADED_MISSIONS = 3
"""Of each family and level for the abilities by degrees, whose order takes more than one."""


@pytest.fixture(scope="session")
def rows() -> list[Row]:
    """What became of every flight."""
    todo = jobs(ZOO, list(SHORT_FAMILIES), LEVELS, 1)
    more = jobs(GRADED, list(SHORT_FAMILIES), LEVELS, GRADED_MISSIONS)
    return [flown(job) for job in dict.fromkeys((*todo, *more))]


@pytest.fixture(scope="session")
def figure(rows: list[Row]) -> dict[str, Any]:
    """The audit's figure of those flights, without groups and searched scripts."""
    return Audit(rows=rows).figure()


@pytest.fixture(scope="session")
def of_policy(rows: list[Row]) -> Callable[[str], list[Row]]:
    """The flights of a policy."""
    return lambda policy: [row for row in rows if row.policy == policy]
