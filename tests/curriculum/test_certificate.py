"""The certificate: what it accepts, why it refuses, and how soon it stops."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.curriculum.certificate import SOLVER, SPLIT, UNSKILLED, Bar, certify
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server import flight

SPEC = generate("retarget-v0", 2, 1)
SEEDS = range(100, 116)


@dataclass(frozen=True)
class Told:
    """An outcome that is made up."""

    succeeded: bool


def flying(succeeds: Callable[[str, int], bool]) -> Callable[[MissionSpec, str, int], Told]:
    """Flies nothing, and says what is told."""
    return lambda spec, policy, seed: Told(succeeds(policy, seed))


def test_a_mission_that_skill_alone_solves_is_accepted() -> None:
    told = certify(SPEC, flying(lambda policy, seed: policy == SOLVER), SEEDS)
    assert told.accepted
    assert told.spec_hash == SPEC.content_hash
    assert told.solved == (16, 16)
    assert told.trivial_by is None
    assert len(told.evidence) == 16 * (1 + len(UNSKILLED))
    assert {(each.policy, each.episode_seed) for each in told.evidence} == {
        (policy, seed) for policy in (SOLVER, *UNSKILLED) for seed in SEEDS
    }


@given(st.sets(st.sampled_from(SEEDS)))
def test_one_loss_is_forgiven_and_the_second_ends_it(lost: set[int]) -> None:
    told = certify(SPEC, flying(lambda policy, seed: policy == SOLVER and seed not in lost), SEEDS)
    assert told.accepted == (len(lost) <= 1)
    if not told.accepted:
        assert told.verdict == "unsolved"
        second = sorted(lost)[1]
        assert told.evidence[-1].episode_seed == second
        assert told.solved == (second - 100 - 1, second - 100 + 1)


@pytest.mark.parametrize("policy", UNSKILLED)
@pytest.mark.parametrize("lucky", [100, 115])
def test_a_mission_that_no_skill_solves_is_trivial(policy: str, lucky: int) -> None:
    told = certify(SPEC, flying(lambda who, seed: who == SOLVER or (who == policy and seed == lucky)), SEEDS)
    assert (told.verdict, told.trivial_by) == ("trivial", policy)
    assert told.evidence[-1].episode_seed == lucky


def test_the_door_asks_for_less() -> None:
    seeds, bar = range(8), PRESETS["eva"].bar
    assert bar == Bar(7, 8)
    assert certify(SPEC, flying(lambda policy, seed: policy == SOLVER and seed != 3), seeds, bar).accepted
    assert not certify(SPEC, flying(lambda policy, seed: policy == SOLVER and seed > 1), seeds, bar).accepted


@pytest.mark.parametrize("seeds", [range(15), range(17), [1] * 16])
def test_other_seeds_than_asked_for_are_refused(seeds: list[int]) -> None:
    with pytest.raises(ValueError, match="expected 16 that differ"):
        certify(SPEC, flying(lambda policy, seed: True), seeds, SPLIT)


@pytest.mark.parametrize(("needed", "seeds"), [(0, 4), (5, 4)])
def test_a_bar_that_makes_no_sense_is_refused(needed: int, seeds: int) -> None:
    with pytest.raises(ValueError, match="of 4 seeds"):
        Bar(needed, seeds)


def test_real_flights_certify_a_real_mission() -> None:
    told = certify(SPEC, flight.by_name, [70_001, 70_002], Bar(2, 2))
    assert told.accepted, told.evidence
    assert flight.by_name(SPEC, SOLVER, 70_001).succeeded


def test_a_mission_without_gas_is_not_solved() -> None:
    """Less than it takes to stop, so no controller can."""
    spec = generate("detumble-v0", 3, 1)
    start = replace(spec.start, propellant_kg=6e-4)
    told = certify(spec.model_copy(update={"start": start}), flight.by_name, [1, 2], Bar(2, 2))
    assert told.verdict == "unsolved"
    assert told.solved == (0, 1)


def test_an_unknown_controller_is_refused() -> None:
    with pytest.raises(ValueError, match="no controller 'captain'"):
        flight.by_name(SPEC, "captain", 1)
