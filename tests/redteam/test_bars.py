"""What the reward must pay at most for exploits, and at least for ability."""

from collections.abc import Callable
from typing import Any

import pytest

from orbital_ops_env.missions.catalog import SHORT_FAMILIES
from orbital_ops_env.studies.audit_figure import BLIND_FROM, Row
from orbital_ops_env.studies.zoo import BLIND, DODGERS, REFERENCE

PAID, DODGED, GUESSED = 0.15, 0.25, 0.05
"""[-] mean return over failed episodes of the red team and of the dodger; success of blind policies."""
RETURN = 0.75
"""[-] mean return of `reference`."""
RANKED = 0.95
"""[-] Spearman's correlation of return and success over abilities by degrees."""


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
