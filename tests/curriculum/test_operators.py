"""Edits keep every bound of a mission, can be taken back, and never make what is held out."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orbital_ops_env.curriculum.operators import OPERATORS, edit
from orbital_ops_env.curriculum.tiers import tier
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import LONGEST_S
from orbital_ops_env.missions.rules import QuietWindow

SEEDS = st.integers(90_000, 90_099)
missions = st.builds(
    functools.cache(generate), st.sampled_from(SHORT_FAMILIES), st.sampled_from(LEVELS), SEEDS
)
seeds = st.integers(0, 2**32)
names = pytest.mark.parametrize("name", OPERATORS)


def edited(name: str, spec: MissionSpec, seed: int, harder: bool) -> MissionSpec | None:
    return OPERATORS[name](spec, np.random.default_rng(seed), harder)


@names
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(spec=missions, seed=seeds, harder=st.booleans())
def test_an_edited_mission_keeps_schema_and_bounds(
    name: str, spec: MissionSpec, seed: int, harder: bool
) -> None:
    if not harder:  # there may be nothing to take away
        spec = edited(name, spec, seed, harder=True) or spec
    changed = edited(name, spec, seed, harder)
    assume(changed)
    assert changed
    assert MissionSpec.model_validate(changed.model_dump()) == changed
    assert changed.content_hash != spec.content_hash
    assert changed.clock_s == changed.directives[-1].closes_s <= LONGEST_S
    closes = [each.closes_s for each in changed.directives]
    assert closes == sorted(closes)
    assert all(each.closes_s - each.opens_s >= each.dwell_s for each in changed.directives)
    assert 2e-4 < changed.start.propellant_kg - changed.reserve_kg < 30e-3
    assert len(changed.faults) <= 1
    assert {each.kind for each in changed.faults} <= set(FAMILIES[spec.family].KINDS)
    assert all(each.onset_s < changed.clock_s for each in changed.faults)


@names
@settings(max_examples=1000, deadline=None)
@given(spec=missions, seed=seeds)
def test_the_inverse_restores_the_tier_within_one_step(name: str, spec: MissionSpec, seed: int) -> None:
    harder = edited(name, spec, seed, harder=True)
    assume(harder is not None)
    assert harder
    back = edited(name, harder, seed, harder=False)
    assert back
    assert abs(tier(back) - tier(spec)) <= 1


@names
def test_an_inverse_of_another_size_does_too_on_evolved_missions_nearly_always(name: str) -> None:
    rng, apart = np.random.default_rng(4), list[int]()
    for number, (family, level) in enumerate(itertools.product(SHORT_FAMILIES, LEVELS)):
        for seed in range(90_200, 90_208):
            spec = generate(family, level, seed)
            for _ in range(number % 4):
                if found := edit(spec, rng, harder=bool(rng.random() < 0.7)):
                    spec = found[1]
            if (harder := OPERATORS[name](spec, rng, True)) and (back := OPERATORS[name](harder, rng, False)):
                apart.append(abs(tier(back) - tier(spec)))
    assert len(apart) > 200
    assert max(apart) <= 2
    assert np.mean(np.array(apart) <= 1) >= 0.99


def test_missions_of_the_tables_are_of_their_own_tier_or_the_next() -> None:
    apart = [
        abs(tier(generate(family, level, seed)) - level)
        for family in SHORT_FAMILIES
        for level in LEVELS
        for seed in range(90_300, 90_305)
    ]
    assert max(apart) <= 2
    assert np.mean(apart) < 0.5


@settings(max_examples=300, deadline=None)
@given(spec=missions, seed=seeds)
def test_no_rule_outlasts_its_mission_however_it_is_edited(spec: MissionSpec, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(8):
        if found := edit(spec, rng, harder=bool(rng.random() < 0.5)):
            spec = found[1]
    assert all(
        each.until_s is None or each.until_s <= spec.clock_s
        for each in spec.rules
        if not isinstance(each, QuietWindow)
    )
