"""Which mission a slot is, and the ladder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.training.slots import (
    FIRST_EVALUATION_SEED,
    FIRST_TRAINING_SEED,
    RUNGS,
    Ladder,
    evaluation,
    slot,
)

FAMILIES = ("detumble-v0", "retarget-v0")
SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.sampled_from(list(RUNGS)), st.integers(0, 10**6))
def test_a_slot_is_always_the_same_mission_of_its_rung(run_seed: int, rung: str, number: int) -> None:
    chosen = slot(run_seed, rung, number, FAMILIES)
    assert chosen == slot(run_seed, rung, number, FAMILIES)
    assert chosen["level"] in RUNGS[rung]
    assert chosen["family"] == FAMILIES[number % 2]
    assert chosen["seed"] >= FIRST_TRAINING_SEED


def test_other_slots_rungs_and_runs_are_other_missions() -> None:
    drawn = [
        slot(run_seed, rung, number, FAMILIES)["seed"]
        for run_seed in range(5)
        for rung in RUNGS
        for number in range(200)
    ]
    assert len(set(drawn)) == len(drawn)


@given(st.integers(0, 10**5), st.integers(1, 200))
def test_no_training_slot_is_ever_an_evaluation_mission(first: int, episodes: int) -> None:
    chosen = evaluation("detumble-v0", (0, 1, 2), episodes, first)
    assert len({each["seed"] for each in chosen}) == episodes
    assert all(FIRST_EVALUATION_SEED <= each["seed"] < FIRST_TRAINING_SEED for each in chosen)
    assert chosen == evaluation("detumble-v0", (0, 1, 2), episodes, first)


def test_the_levels_of_the_rungs_are_all_levels_once() -> None:
    assert [level for levels in RUNGS.values() for level in levels] == list(range(10))


def ladder(rung: str = "medium") -> Ladder:
    return Ladder(ease_below=0.1, ease_after=3, unlock_above=0.7, unlock_after=2, rung=rung)


@pytest.mark.parametrize(
    ("returns", "rung"),
    [
        ([0.71], "medium"),
        ([0.7, 0.7], "medium"),
        ([0.71, 0.71], "hard"),
        ([0.71, 0.7, 0.71], "medium"),
        ([0.71] * 6, "hard"),
        ([0.09, 0.09], "medium"),
        ([0.09, 0.09, 0.09], "easy"),
        ([0.09, 0.09, 0.1, 0.09, 0.09], "medium"),
        ([0.09] * 9, "easy"),
        ([0.09] * 3 + [0.71], "easy"),
        ([0.09] * 3 + [0.71] * 2, "medium"),
        ([0.71] * 3, "hard"),
        ([0.71] * 2 + [0.09] * 3, "medium"),
    ],
)
def test_the_ladder_goes_up_after_good_steps_in_a_row_and_down_after_bad_ones(
    returns: list[float], rung: str
) -> None:
    climbed = ladder()
    for each in returns:
        climbed.hear(each)
    assert climbed.rung == rung


def test_a_rung_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no rung 'impossible' on the ladder: expected one of easy, medium"):
        ladder("impossible")
