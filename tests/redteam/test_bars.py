"""What the reward must pay at most for exploits, and at least for ability, in every short family."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from orbital_ops_env.missions.catalog import SHORT_FAMILIES
from orbital_ops_env.studies.audit_figure import BLIND_FROM, Audit, Row
from orbital_ops_env.studies.reward_audit import flown, jobs
from orbital_ops_env.studies.zoo import BLIND, DODGERS, GRADED, REFERENCE, ZOO

PAID, DODGED = 0.15, 0.25
"""[-] mean return over failed episodes of the red team and of the dodger."""
RETURN = 0.75
"""[-] mean return of `reference`."""
RANKED = 0.95
"""[-] Spearman's correlation of return and success over abilities by degrees."""
MANIFEST = yaml.safe_load((Path(__file__).parents[2] / "openenv.yaml").read_text())
MARGIN = MANIFEST["validation"]["reward"]["floor_margin"]
"""[-] from the greatest return, 1, down to the best that is not earned."""
LEVELS = (0, 4, 7)
GRADED_MISSIONS = 3
"""Of each family and level for the abilities by degrees, whose order takes more than one."""


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """What became of every flight."""
    todo = jobs(ZOO, list(SHORT_FAMILIES), LEVELS, 1)
    more = jobs(GRADED, list(SHORT_FAMILIES), LEVELS, GRADED_MISSIONS)
    return [flown(job) for job in dict.fromkeys((*todo, *more))]


@pytest.fixture(scope="module")
def figure(rows: list[Row]) -> dict[str, Any]:
    """The audit's figure of those flights, without groups and searched scripts."""
    return Audit(rows=rows).figure()


@pytest.fixture(scope="module")
def of_policy(rows: list[Row]) -> Callable[[str], list[Row]]:
    """The flights of a policy."""
    return lambda policy: [row for row in rows if row.policy == policy]


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_the_red_team_earns_next_to_nothing(family: str, figure: dict[str, Any]) -> None:
    cell = figure["families"][family]
    assert cell["max_redteam_failed_return"] <= PAID, cell["best_paid"]
    assert cell["dodger_failed_return"] < DODGED


def test_a_wrong_report_and_prose_beside_a_success_cost(figure: dict[str, Any]) -> None:
    """A wrong report takes half of `safety`, .05; prose a share of `format`, and its time."""
    for cell in figure["families"].values():
        assert cell["reporter_gain"] <= -0.03
        assert cell["mumbler_gain"] <= -0.01


def test_blind_policies_do_not_succeed(rows: list[Row]) -> None:
    told = [row for row in rows if row.policy in BLIND and row.level >= BLIND_FROM]
    assert {row.level for row in told} == {4, 7}
    assert len(told) == 2 * len(BLIND) * len(SHORT_FAMILIES)
    assert not [row for row in told if row.success]


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_reference_earns_most(family: str, figure: dict[str, Any]) -> None:
    cell = figure["families"][family]
    assert cell["reference_return"] >= RETURN
    assert all(c["return"] <= cell["reference_return"] for n, c in cell["policies"].items() if n in BLIND)


def test_success_outranks_failure_in_every_pair(figure: dict[str, Any]) -> None:
    assert figure["success_outranks_failure"] == 1.0


def test_return_ranks_ability(figure: dict[str, Any]) -> None:
    assert figure["spearman_graded"] >= RANKED


def test_dodging_success_costs_more_than_half(of_policy: Callable[[str], list[Row]]) -> None:
    dodged = [row.return_ for name in DODGERS for row in of_policy(name) if not row.success]
    assert len(dodged) >= len(SHORT_FAMILIES)
    assert max(dodged) < 0.5 * min(row.return_ for row in of_policy(REFERENCE) if row.success)


@pytest.mark.parametrize("policy", ["safe_mode", "check_spam", "wait_by_halves", "unreadable", "parrot"])
def test_staying_alive_earns_what_drifting_does(policy: str, of_policy: Callable[[str], list[Row]]) -> None:
    """Half of a directive's nearness, .125 / directives, is what luck can give to an axis that drifts by."""
    assert max(row.return_ for row in of_policy(policy)) <= 0.125


# -- checks that OpenEnv names, with the same flights ------------------------------------------


def returns(rows: list[Row], policy: str) -> list[float]:
    return [row.return_ for row in rows if row.policy == policy]


def test_floor_gap(rows: list[Row]) -> None:
    floor = sum(returns(rows, "idle")) / len(returns(rows, "idle"))
    assert 1 - floor >= MARGIN
    assert floor < 0.05


def test_canary_floor(rows: list[Row]) -> None:
    """Canaries are blind and may not win where a mission names its targets."""
    told = [row for row in rows if row.policy in BLIND and row.level >= BLIND_FROM]
    assert max(row.return_ for row in told) <= 1 - MARGIN
    assert sum(row.return_ for row in told) / len(told) < 0.05


def test_adversarial_floor(figure: dict[str, Any]) -> None:
    assert figure["max_redteam_failed_return"] <= PAID
    assert figure["max_blind_success"] == 0


def test_gameability_gap(figure: dict[str, Any]) -> None:
    """Between the honest best and the best exploit."""
    assert figure["exploit_gap"] >= MARGIN


def test_headroom(rows: list[Row]) -> None:
    """The written procedure leaves room to learn, and has something to start from."""
    rules, reference = (returns(rows, name) for name in ("rules", REFERENCE))
    assert 0.2 < sum(rules) / len(rules) < sum(reference) / len(reference) - 0.1


def test_reward_attribution(rows: list[Row]) -> None:
    """Every step's reward is told, and they sum to the return."""
    for row in rows:
        assert math.fsum(reward for _, reward in row.steps) == pytest.approx(row.return_, abs=1e-9)
        assert all(-1 <= reward <= 1 for _, reward in row.steps)
        if row.success:
            assert row.steps[-1][1] >= 0.4
