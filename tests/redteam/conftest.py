"""One mission of every family at levels 0 and 4, flown by every policy of the reward audit."""

from collections.abc import Callable
from typing import Any

import pytest

from orbital_ops_env.missions.catalog import FAMILIES
from orbital_ops_env.studies.audit_figure import Audit, Row
from orbital_ops_env.studies.reward_audit import flown, jobs

LEVELS = (0, 4)


@pytest.fixture(scope="session")
def rows() -> list[Row]:
    """What became of every flight."""
    return [flown(job) for job in jobs(list(FAMILIES), LEVELS, 1)]


@pytest.fixture(scope="session")
def figure(rows: list[Row]) -> dict[str, Any]:
    """The audit's figure of those flights, without groups and searched scripts."""
    return Audit(rows=rows).figure()


@pytest.fixture(scope="session")
def of_policy(rows: list[Row]) -> Callable[[str], list[Row]]:
    """The flights of a policy."""
    return lambda policy: [row for row in rows if row.policy == policy]
