"""The audit's arithmetic, its card of the terms, and the search for scripts."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.commands import Coast, Detumble, EndMission, encode, parse
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.rewards.terms import Standing
from orbital_ops_env.studies import figures, open_loop, reward_audit
from orbital_ops_env.studies.audit_figure import (
    SCRIPTS,
    Audit,
    Group,
    Row,
    Spread,
    ability,
    attribution,
    concordance,
    groups_figure,
    member,
    outranking,
    spoiled,
)
from orbital_ops_env.studies.open_loop import Found, Scripts, Search
from orbital_ops_env.studies.reward_page import TERMS, card
from orbital_ops_env.studies.zoo import BLIND, GRADED, RED_TEAM, REFERENCE, ZOO

TESTS = Path(__file__).parents[1]


def row(policy: str, return_: float, level: int = 4, family: str = "hold-v0") -> Row:
    """A flight that succeeded if it returned above 0.5."""
    return Row(policy, family, level, return_ > 0.5, return_, 1, (("slew", 0.1), ("hold", return_ - 0.1)))


# -- figures -----------------------------------------------------------------------------------


def test_outranking_counts_pairs_and_a_tie_is_no_win() -> None:
    won, lost = (Row("", "", 0, told, 0.3) for told in (True, False))
    assert outranking([won, lost]) == 0.0
    assert outranking([row("a", 0.9), row("a", 0.7), row("b", 0.2)]) == 1.0
    assert outranking([row("a", 0.9), Row("b", "", 0, False, 0.95), row("b", 0.2)]) == 0.5
    assert math.isnan(outranking([row("a", 0.9)]))


@given(st.permutations(range(8)))
def test_concordance_is_the_share_of_pairs_in_the_same_order(order: list[int]) -> None:
    pairs = [(float(n), float(m)) for n, m in enumerate(order)]
    turned = sum(order[i] > order[j] for i in range(8) for j in range(i + 1, 8))
    assert concordance(pairs) == pytest.approx(1 - turned / 28)


def test_concordance_leaves_out_policies_that_succeed_alike() -> None:
    assert concordance([(0.0, 0.3), (0.0, 0.1), (1.0, 0.2)]) == 0.5


def test_ability_is_the_rank_correlation_of_the_graded_policies() -> None:
    grades = np.linspace(0, 1, len(GRADED))
    rows = [
        Row(name, "", 4, n < 100 * g, 0.1 + 0.8 * g)
        for name, g in zip(GRADED, grades, strict=True)
        for n in range(100)
    ]
    assert ability(rows) == pytest.approx(1.0)
    rows += [Row(name, "", 4, False, 0.2) for name in RED_TEAM]
    assert ability(rows) == pytest.approx(1.0)


def test_a_member_is_told_by_levels_and_over_its_failures() -> None:
    told = member([row("a", 0.9, level=1), row("a", 0.1, level=2), row("a", 0.2, level=9)])
    assert told["success_below_2"] == 1.0
    assert told["success_from_2"] == 0.0
    assert told["failures"] == told["failures_from_2"] == 2
    assert told["failures_below_2"] == 0
    assert "failed_return_below_2" not in told
    assert told["failed_return_from_2"] == pytest.approx(0.15)
    assert told["return"] == pytest.approx(0.4)
    assert told["failed_return"] == pytest.approx(0.15)
    assert "failed_return" not in member([row("a", 0.9)])


def test_a_spoiler_is_compared_on_the_missions_that_both_win() -> None:
    def won(policy: str, seed: int, return_: float) -> Row:
        return Row(policy, "", 4, return_ > 0.5, return_, seed)

    rows = {
        REFERENCE: [won(REFERENCE, 1, 0.9), won(REFERENCE, 2, 0.1), won(REFERENCE, 3, 0.8)],
        "reporter": [won("reporter", 1, 0.84), won("reporter", 2, 0.9), won("reporter", 3, 0.2)],
    }
    assert spoiled(rows, "reporter") == pytest.approx(-0.06)
    assert math.isnan(spoiled(rows, "mumbler"))


def test_attribution_shares_the_return_out_over_commands() -> None:
    told = attribution([row("a", 0.9), row("a", 0.7)])
    assert told["by_command"] == pytest.approx({"slew": 0.1, "hold": 0.7})
    assert sum(told["by_command"].values()) == pytest.approx(0.8)
    assert told["last_step"] == pytest.approx(1.4 / 1.6)


def test_a_group_is_live_if_it_is_mixed() -> None:
    spreads = [
        Spread(Group("hold-v0", 4, seed, 0.3), successes, returns)
        for seed, successes, returns in ((1, (True, False), (0.9, 0.1)), (2, (True, True), (0.9, 0.9)))
    ]
    told = groups_figure(spreads)
    assert told["groups"]["0.3"] == pytest.approx({"live_groups": 0.5, "within_group_sd": 0.2})
    assert told["live_groups"] == 0.5


SPOILED = {"reporter": 0.85, "mumbler": 0.8}


def whole(paid: dict[str, float]) -> Audit:
    """An audit of two families in which every policy fails with 0.01, or earns what is said."""
    returns = dict.fromkeys(ZOO, 0.01) | {REFERENCE: 0.9, "rules": 0.8, "noise_10": 0.85} | SPOILED | paid
    families = ("hold-v0", "coast-v0")
    rows = [row(name, paid, family=family) for name, paid in returns.items() for family in families]
    spreads = [Spread(Group(f, 4, 1, 0.3), (True, False), (0.9, 0.1)) for f in families]
    scripts = [
        Found(Search(f, 2), (Coast(duration_s=30),), 0.2, ((False, 0.12), (False, 0.14))) for f in families
    ]
    return Audit(rows, spreads, scripts)


def test_the_head_holds_the_worst_family_and_who_it_was() -> None:
    told = whole({"late_dodger": 0.2, "fire": 0.11}).figure()
    assert told["max_redteam_failed_return"] == pytest.approx(0.13)
    assert told["families"]["hold-v0"]["best_paid"] == SCRIPTS
    assert told["dodger_failed_return"] == pytest.approx(0.2)
    assert told["max_blind_success"] == 0.0
    assert told["reference_return"] == pytest.approx(0.9)
    assert told["reporter_gain"] == pytest.approx(-0.05)
    assert told["mumbler_gain"] == pytest.approx(-0.1)
    assert told["exploit_gap"] == pytest.approx(0.7)
    assert told["success_outranks_failure"] == 1.0
    assert told["families"]["coast-v0"]["scripts"]["2"]["failed_return"] == pytest.approx(0.13)


def test_an_exploit_and_a_lucky_guess_are_seen() -> None:
    told = whole({"fire": 0.4}).figure()
    assert told["max_redteam_failed_return"] == pytest.approx(0.4)
    assert told["families"]["hold-v0"]["best_paid"] == "fire"
    told = whole({"prober": 0.7}).figure()
    assert told["max_blind_success"] == 1.0
    assert told["families"]["hold-v0"]["best_guesser"] == "prober"


def test_the_committed_audit_is_of_every_policy_of_today() -> None:
    told = figures.read("reward_audit.json")
    for cell in told["families"].values():
        assert set(cell["policies"]) == {*ZOO, SCRIPTS}
    assert f"{len(BLIND) + 1} blind policies" in (figures.ROOT / "README.md").read_text()


@pytest.mark.parametrize("options", [["--families", "hold-v0"], ["--missions", "1"], ["--without", "groups"]])
def test_an_audit_with_options_writes_nothing(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def flown_all(pool: object, task: object, todo: list[object], what: str) -> list[object]:
        return []

    def figure(audit: Audit) -> dict[str, Any]:
        return figures.read("reward_audit.json")

    def write(name: str, *told: object) -> None:
        pytest.fail(f"wrote {name}")

    monkeypatch.setattr(sys, "argv", ["reward_audit", *options])
    monkeypatch.setattr(reward_audit, "fly_all", flown_all)
    monkeypatch.setattr(Audit, "figure", figure)
    monkeypatch.setattr(figures, "write", write)
    reward_audit.main()


@pytest.mark.parametrize("options", ["--missions 0", "--levels 10", "--without zoo", "--families hold"])
def test_a_wrong_option_is_refused(
    options: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["reward_audit", *options.split()])
    with pytest.raises(SystemExit):
        reward_audit.main()
    assert f"argument {options.split()[0]}" in capsys.readouterr().err


# -- the card ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TERMS)
def test_every_exploit_names_a_test_that_is_there(name: str) -> None:
    sources = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    for exploit in card(TERMS[name][1]).exploits:
        there = f"\ndef {exploit.test}(" in sources
        assert there, f"{name}: no test {exploit.test}"


def test_a_docstring_without_its_exploits_is_refused() -> None:
    def bare(standing: Standing) -> float:
        """Something."""
        return 0.0

    def few(standing: Standing) -> float:
        """Something.

        Guard: None.
        Exploits:
            Try it: it fails. Test: `test_it`.
        """
        return 0.0

    with pytest.raises(ValueError, match=r"bare: expected what it measures"):
        card(bare)
    with pytest.raises(ValueError, match=r"few: 1 exploits, expected at least 3"):
        card(few)


# -- the search --------------------------------------------------------------------------------


def test_a_script_holds_commands_that_can_be_sent() -> None:
    drawn = Scripts(12).draw(np.random.default_rng(1))
    assert len(drawn) == 12
    assert all(parse(encode(command)) == command for command in drawn)
    assert not any(isinstance(command, EndMission) for command in drawn)


def test_learning_moves_towards_the_best() -> None:
    best = (Detumble(rate_deg_s=0.1), Coast(duration_s=600))
    scripts, rng = Scripts(2), np.random.default_rng(2)
    for _ in range(8):
        scripts.learn([best])
    drawn = [scripts.draw(rng) for _ in range(50)]
    assert sum(script == best for script in drawn) > 45


def test_a_search_finds_better_than_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """On two missions of a family that pays for a blind detumble, with few scripts."""
    for name, value in {"TRAINING": 2, "LOOK": 1, "POPULATION": 8, "GENERATIONS": 1, "FRESH": 1}.items():
        monkeypatch.setattr(open_loop, name, value)
    monkeypatch.setattr(open_loop, "TRAINING_SEED", 900)
    monkeypatch.setattr(open_loop, "CYCLES", {name: open_loop.CYCLES[name] for name in ("idle", "prober")})
    found = open_loop.found(Search("detumble-v0", 2))
    missions = [generate("detumble-v0", 2, seed) for seed in (900, 901)]
    assert found.trained == open_loop.mean_return(found.script, missions)
    assert found.trained >= open_loop.mean_return((Coast(duration_s=1200),) * 8, missions)
    assert len(found.results) == 1
    assert open_loop.found(Search("detumble-v0", 2)) == found
