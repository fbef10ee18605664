"""Which mission a number is."""

from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.training.slots import (
    FIRST_EVALUATION_SEED,
    FIRST_TRAINING_SEED,
    RUNGS,
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
