"""Gate and comparison, on rollouts written by hand."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orbital_ops_env.commands import Coast, Unreadable
from orbital_ops_env.training.results import compare, gate, live, summary, wilson
from orbital_ops_env.training.rollout import Rollout

NO_CONVERSATION: Any = None


def rollout(succeeded: bool, *, bad: int = 0, good: int = 4, seed: int = 0, value: float = 0.0) -> Rollout:
    return Rollout(
        {"seed": seed},
        NO_CONVERSATION,
        commands=[*[Coast(duration_s=30)] * good, *[Unreadable(text="?")] * bad],
        rewards=[value or (0.8 if succeeded else 0.1)],
        components={"reward/overall": 0.8 if succeeded else 0.1},
        outcome="succeeded" if succeeded else "out_of_turns",
    )


def test_a_group_is_live_if_it_holds_a_success_and_a_failure() -> None:
    won, lost = rollout(True), rollout(False)
    assert live([won, lost, won, won, lost, lost], 2) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="5 episodes do not fill groups of 2"):
        live([won] * 5, 2)


@pytest.mark.parametrize(
    ("won", "lost", "passed"),
    [(4, 4, True), (8, 0, False), (0, 8, False), (2, 6, True), (1, 7, False), (6, 2, False), (5, 3, True)],
)
def test_the_gate_asks_for_live_groups_and_for_success_within_its_bounds(
    won: int, lost: int, passed: bool
) -> None:
    found = gate([rollout(True)] * won + [rollout(False)] * lost, 8)
    assert found.success == won / 8
    assert found.passed is passed


@pytest.mark.parametrize(("bad", "passed"), [(0, True), (1, True), (3, False)])
def test_the_gate_asks_for_readable_replies(bad: int, passed: bool) -> None:
    """One of 29 replies is over 95 %, three of 31 are not."""
    flown = [rollout(True)] * 4 + [rollout(False)] * 3
    assert gate([*flown, rollout(False, bad=bad, good=0 if bad else 4)], 8).passed is passed


def test_valid_turns_weigh_every_reply_alike() -> None:
    found = summary([rollout(True, good=1), rollout(False, good=0, bad=9)])
    assert found["episode/valid_turns"] == pytest.approx(0.1)
    assert found["episode/turns"] == 5
    assert found["episode/timeout_rate"] == found["episode/success_rate"] == 0.5
    assert found["reward/overall"] == pytest.approx(0.45)


@given(st.lists(st.floats(0, 0.5), min_size=2, max_size=40), st.floats(-0.1, 0.5))
def test_an_equal_gain_everywhere_is_found_with_no_width(returns: list[float], gain: float) -> None:
    before = [rollout(True, seed=n, value=value + 0.2) for n, value in enumerate(returns)]
    after = [rollout(True, seed=n, value=value + 0.2 + gain) for n, value in enumerate(returns)]
    found = compare(before, after)
    assert found.after - found.before == pytest.approx(gain, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((gain, gain), abs=1e-12)


def test_the_interval_holds_the_gain_and_says_percent_only_over_a_baseline() -> None:
    before = [rollout(False, seed=n, value=0.01 + 0.001 * n) for n in range(20)]
    after = [rollout(False, seed=n, value=0.1 + 0.01 * (n % 7)) for n in range(20)]
    found = compare(before, after)
    assert found.low < found.after - found.before < found.high
    assert str(found).endswith("over 20 paired episodes")
    better = [rollout(True, seed=n, value=0.8) for n in range(20)]
    assert str(compare(after, better)).endswith("%")


def test_other_missions_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="flew other missions"):
        compare([rollout(True, seed=1)], [rollout(True, seed=2)])


def test_a_mission_that_comes_twice_is_refused_and_so_is_nothing() -> None:
    with pytest.raises(ValueError, match="2 episodes on 1 missions: expected one on each"):
        compare([rollout(True)] * 2, [rollout(True)] * 2)
    with pytest.raises(ValueError, match="0 episodes on 0 missions"):
        compare([], [])
    with pytest.raises(ValueError, match="no episodes to summarise"):
        summary([])


@given(st.integers(1, 1000), st.floats(0, 1))
def test_the_wilson_interval_is_that_of_scipy(episodes: int, share: float) -> None:
    won = round(share * episodes)
    theirs = cast(Any, stats).binomtest(won, episodes).proportion_ci(0.95, "wilson")
    assert wilson(won, episodes) == pytest.approx((theirs.low, theirs.high), abs=1e-7)


def test_no_episodes_have_no_interval() -> None:
    with pytest.raises(ValueError, match="expected at least one episode"):
        wilson(0, 0)
