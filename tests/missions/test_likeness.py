"""What counts as a near-duplicate."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, SHORT_FAMILIES, draw, generate
from orbital_ops_env.missions.likeness import NEAR, Missions, numbers, outline
from orbital_ops_env.missions.mission import MissionSpec

SPEC = generate("retarget-v0", 4, 1)
families = st.sampled_from([FAMILIES[name] for name in SHORT_FAMILIES])
seeds = st.integers(0, 2**40)


def with_directive(spec: MissionSpec, number: int, **changes: object) -> MissionSpec:
    directives = list(spec.directives)
    directives[number] = directives[number].model_copy(update=changes)
    return spec.model_copy(update={"directives": tuple(directives)})


def near(one: MissionSpec, other: MissionSpec) -> bool:
    missions = Missions()
    missions.add(one)
    return missions.near(other)


@given(families, st.sampled_from(LEVELS), seeds)
def test_a_mission_is_near_itself_whatever_breaks(family, level: int, seed: int) -> None:
    spec = draw(family, level, seed)
    assert near(spec, spec)
    assert near(spec, spec.model_copy(update={"faults": (), "seed": seed + 1, "level": 0}))
    assert (numbers(spec) >= -1).all()
    assert (numbers(spec) <= 1).all(), "a number is above its scale"


@given(families, st.sampled_from(LEVELS), seeds, seeds)
def test_nearness_is_mutual(family, level: int, one: int, other: int) -> None:
    first, second = draw(family, level, one), draw(family, level, other)
    assert near(first, second) == near(second, first)


@pytest.mark.parametrize(
    ("field", "step"), [("closes_s", NEAR * 1800), ("turn_rad", NEAR * math.pi), ("dwell_s", NEAR * 1800)]
)
def test_a_number_counts_by_its_scale(field: str, step: float) -> None:
    value = getattr(SPEC.directives[1], field)
    assert near(SPEC, with_directive(SPEC, 1, **{field: value + 0.9 * step}))
    assert not near(SPEC, with_directive(SPEC, 1, **{field: value + 1.1 * step}))


def test_one_number_that_differs_is_enough_and_gas_is_one() -> None:
    richer = replace(SPEC.start, propellant_kg=SPEC.start.propellant_kg + 0.0004)
    spinning = replace(SPEC.start, omega_BN_B=(0.0, math.radians(0.4), 0.0))
    assert not near(SPEC, SPEC.model_copy(update={"start": richer}))
    assert not near(SPEC, SPEC.model_copy(update={"start": spinning}))


def test_targets_kinds_and_their_order_count() -> None:
    there = SPEC.model_copy(update={"directives": SPEC.directives[::-1]})
    assert outline(there) != outline(SPEC)
    assert not near(SPEC, there)
    assert not near(SPEC, SPEC.model_copy(update={"rules": SPEC.rules[1:]}))
    assert not near(SPEC, SPEC.model_copy(update={"family": "hold-v0"}))


def test_a_rule_that_lasts_is_one_to_the_end_of_the_mission() -> None:
    rule = SPEC.rules[0]
    to_the_end = SPEC.model_copy(
        update={"rules": (rule.model_copy(update={"until_s": SPEC.clock_s}), *SPEC.rules[1:])}
    )
    half = SPEC.model_copy(
        update={"rules": (rule.model_copy(update={"until_s": SPEC.clock_s / 2}), *SPEC.rules[1:])}
    )
    assert near(SPEC, to_the_end)
    assert not near(SPEC, half)


def test_near_one_of_many_is_near() -> None:
    missions = Missions()
    for seed in range(20):
        missions.add(generate("retarget-v0", 4, seed))
    assert all(missions.near(generate("retarget-v0", 4, seed)) for seed in range(20))
    assert not missions.near(generate("hold-v0", 4, 1))
