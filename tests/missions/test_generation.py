"""Missions are pure functions of family, level and seed, and keep their promises."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env.client.prompt import SLEW_COSTS
from orbital_ops_env.missions import budget, coast, detumble, hold, recovery, retarget
from orbital_ops_env.missions.catalog import FAMILIES, SHORT_FAMILIES, generate
from orbital_ops_env.missions.directives import Point, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import Reserve, SunKeepOut
from orbital_ops_env.missions.targets import EARTH_LIMB_RAD
from orbital_ops_env.policies import reference
from orbital_ops_env.sim.constants import EARTH_RADIUS_M
from orbital_ops_env.sim.frames import angle_between, unit
from orbital_ops_env.sim.state import target_directions, target_frame

Sample = dict[tuple[str, int], list[MissionSpec]]
LEVELS = range(10)
SHORT_FIRST = {family: FAMILIES[family].FIRST for family in SHORT_FAMILIES}
cells = st.tuples(st.sampled_from(sorted(SHORT_FAMILIES)), st.integers(0, 9), st.integers(0, 2**40))


@given(cells)
@settings(max_examples=60, deadline=None)
def test_the_same_cell_and_seed_give_the_same_mission(cell: tuple[str, int, int]) -> None:
    spec = generate(*cell)
    assert generate(*cell).canonical_json == spec.canonical_json
    assert MissionSpec.model_validate_json(spec.canonical_json) == spec


@pytest.mark.parametrize("cell", list(itertools.product(SHORT_FAMILIES, LEVELS)), ids=str)
def test_different_seeds_give_different_missions(sample: Sample, cell: tuple[str, int]) -> None:
    assert len({spec.content_hash for spec in sample[cell]}) == len(sample[cell])


@given(cells)
@settings(max_examples=60, deadline=None)
def test_missions_last_at_most_half_an_hour_and_windows_follow_each_other(
    cell: tuple[str, int, int],
) -> None:
    spec = generate(*cell)
    closes = [directive.closes_s for directive in spec.directives]
    assert spec.clock_s == closes[-1] <= 1800
    assert closes == sorted(closes)
    for directive in spec.directives:
        assert directive.closes_s - directive.opens_s > directive.dwell_s


@given(cells)
@settings(max_examples=60, deadline=None)
def test_turn_limits_are_those_of_the_level(cell: tuple[str, int, int]) -> None:
    assert generate(*cell).turns == (8 if cell[1] <= 4 else 12)


@given(cells)
@settings(max_examples=60, deadline=None)
def test_targets_are_clear_of_the_sun_and_the_earth_when_they_are_due(
    cell: tuple[str, int, int],
) -> None:
    spec = generate(*cell)
    orbit = spec.start.orbit
    keep_out = max((r.angle_rad for r in spec.rules if isinstance(r, SunKeepOut)), default=0.0)
    for directive in spec.directives:
        if not isinstance(directive, Point) or directive.target == "sun":
            continue
        due = np.array([directive.closes_s])
        direction = target_directions(spec.target(directive.target), orbit, due)[0]
        nadir = -unit(orbit.state(directive.closes_s)[0])
        assert angle_between(direction, orbit.sun_hat_N) > keep_out
        assert angle_between(direction, nadir) > math.asin(EARTH_RADIUS_M / orbit.radius_m) + EARTH_LIMB_RAD


@given(cells.filter(lambda cell: cell[0] != detumble.FAMILY))
@settings(max_examples=60, deadline=None)
def test_direct_turns_are_clear_of_the_sun(
    cell: tuple[str, int, int],
) -> None:
    spec = generate(*cell)
    keep_out = next(r.angle_rad for r in spec.rules if isinstance(r, SunKeepOut))
    points = [d for d in spec.directives if isinstance(d, Point)]
    for before, after in itertools.pairwise(points):
        start, end = (
            target_frame(spec.target(point.target), spec.start.orbit, before.closes_s)
            for point in (before, after)
        )
        assert budget.path_angle(start, end, spec.start.orbit.sun_hat_N) > keep_out


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_from_level_2_up_every_pointing_target_is_drawn_from_a_long_closed_list(
    sample: Sample, family: str
) -> None:
    named = {name for level in range(2, 10) for spec in sample[family, level] for name in first_name(spec)}
    assert named == set(SHORT_FIRST[family])
    assert len(named) >= 24


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_the_first_name_is_as_likely_as_any_other(sample: Sample, family: str) -> None:
    """Chi square of the counts, whose mean is one less than the names and whose deviation about 8."""
    drawn = Counter(
        name for level in range(2, 10) for spec in sample[family, level] for name in first_name(spec)
    )
    expected = drawn.total() / len(SHORT_FIRST[family])
    chi_square = sum((drawn[name] - expected) ** 2 / expected for name in SHORT_FIRST[family])
    assert chi_square < len(SHORT_FIRST[family]) + 30


def first_name(spec: MissionSpec) -> list[str]:
    """The first target with a name, but for the Sun."""
    named = (d.target for d in spec.directives if not isinstance(d, ReduceRate) and d.target != "sun")
    return [next(named)]


@pytest.mark.parametrize("module", [coast, detumble, hold, recovery, retarget], ids=lambda m: m.FAMILY)
def test_levels_get_harder(module: Any) -> None:
    """A level that adds a directive may be easier in gas than the one before."""
    rows = module.LEVELS
    for column in (
        [(getattr(row, "onward", False), row.demanding) for row in rows],
        [-row.slack_s for row in rows],
        [-row.tolerance_deg for row in rows],
        [row.turns for row in rows],
    ):
        assert column == sorted(column)


def test_every_mission_keeps_a_reserve_below_its_budget(sample: Sample) -> None:
    for spec in itertools.chain(*sample.values()):
        reserve = next(r.propellant_kg for r in spec.rules if isinstance(r, Reserve))
        assert 0 < reserve < spec.start.propellant_kg


@pytest.mark.parametrize(
    ("family", "level", "seed", "words"),
    [
        ("retarget", 0, 0, "did you mean retarget-v0"),
        ("retarget-v0", 10, 0, "expected 0 to 9"),
        ("retarget-v0", -1, 0, "expected 0 to 9"),
        ("retarget-v0", 0, -1, "expected 0 or more"),
    ],
)
def test_a_mission_that_does_not_exist_is_a_clear_error(
    family: str, level: int, seed: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        generate(family, level, seed)


def test_a_directive_at_an_unknown_target_is_refused() -> None:
    spec = generate("retarget-v0", 0, 0)
    fields = spec.model_dump() | {"targets": [("nadir", {"kind": "nadir"})]}
    with pytest.raises(ValueError, match="point names"):
        MissionSpec.model_validate(fields)


def test_prompt_and_budget_state_the_same_costs() -> None:
    for rate, cost in SLEW_COSTS.items():
        assert budget.SLEW_TIME_S[rate] == (cost.time_base_s, cost.time_per_deg_s)
        assert budget.SLEW_GAS_G[rate] == (cost.gas_base_g, cost.gas_per_deg_g)
        assert budget.SLEW_GAS_SD_G[rate] == cost.gas_sd_g
        assert cost.time_sd_s == budget.SLEW_TIME_SD_S


def test_reference_reckons_with_the_hold_costs_of_the_budget() -> None:
    assert reference.HOLD_G_S == budget.HOLD_GAS_G_S
