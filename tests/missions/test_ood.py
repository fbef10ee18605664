"""Out-of-distribution missions: which they are, what breaks on them and when, and that skill survives it."""

import itertools
import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env.missions import catalog, ood, shift
from orbital_ops_env.missions.anomaly import EARLIEST_S, FAULT_LEVEL, KINDS
from orbital_ops_env.missions.budget import slew_time_s
from orbital_ops_env.missions.directives import ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import QuietWindow
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import by_name, fly
from orbital_ops_env.server.observe import brief
from orbital_ops_env.sim.faults import GyroDrift, WeakThruster, unit_of

FROM = 200_000
"""Candidates from here on, which nobody is scored on."""
ALL = ood.PAIRS.keys() | {(kind,) for kind in ood.KINDS}
splits = st.sampled_from(ood.SPLITS)
numbers = st.integers(FROM, FROM + 1_000_000)


@pytest.fixture(autouse=True, scope="module")
def with_shift() -> Iterator[None]:
    """A panel breaks on no other family."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.FAMILIES, shift.FAMILY, shift)
        yield


def kinds(spec: MissionSpec) -> tuple[str, ...]:
    return tuple(fault.kind for fault in spec.faults)


def arrivals(spec: MissionSpec) -> list[float]:
    """[s] Earliest end of each turn, at 1 deg/s throughout and without a wait."""
    turns = (d.turn_rad for d in spec.directives if not isinstance(d, ReduceRate) and d.turn_rad)
    return list(itertools.accumulate(slew_time_s(1.0, turn) for turn in turns))


@settings(max_examples=40, deadline=None)
@given(splits, numbers)
def test_a_candidate_is_a_function_of_split_and_number(split: str, number: int) -> None:
    spec = ood.generate(split, number)
    assert spec == ood.generate(split, number)
    assert MissionSpec.model_validate_json(spec.canonical_json) == spec
    assert spec.content_hash != ood.generate(split, number + 1).content_hash


@settings(max_examples=40, deadline=None)
@given(numbers)
def test_what_breaks_breaks_in_no_training_mission(number: int) -> None:
    single, double = (ood.generate(split, number) for split in ood.SPLITS)
    assert kinds(single) in {(kind,) for kind in ood.KINDS}
    assert kinds(double) in ood.PAIRS
    known = {kind for family in catalog.FAMILIES.values() for kind in family.KINDS}
    assert not known & set(ood.KINDS)
    assert known >= set(kinds(double))


@settings(max_examples=60, deadline=None)
@given(splits, numbers)
def test_faults_begin_during_the_first_legs(split: str, number: int) -> None:
    spec = ood.generate(split, number)
    legs = arrivals(spec)
    quiet = [rule.opens_s for rule in spec.rules if isinstance(rule, QuietWindow)]
    for fault in spec.faults:
        assert fault.onset_s >= EARLIEST_S
        if quiet or spec.level < 5 or len(legs) < 2:
            assert fault.onset_s <= legs[0]
        else:
            assert fault.onset_s <= spec.directives[1].closes_s
        assert all(fault.onset_s < opens for opens in quiet)
        assert unit_of(fault) in (None, *range(1, 7))


@settings(max_examples=40, deadline=None)
@given(splits, numbers)
def test_only_what_breaks_differs_from_an_ordinary_mission(split: str, number: int) -> None:
    spec = ood.generate(split, number)
    ordinary = catalog.generate(spec.family, spec.level, spec.seed)
    assert spec.model_copy(update={"faults": ordinary.faults}) == ordinary
    assert brief(spec) == brief(ordinary)
    assert spec.family not in ood.EXCLUDED
    assert spec.level >= FAULT_LEVEL or spec.family == "recovery-v0"


@settings(max_examples=60, deadline=None)
@given(numbers)
def test_severities_are_within_their_ranges(number: int) -> None:
    (fault,) = ood.generate("ood_fault", number).faults
    match fault:
        case WeakThruster():
            assert ood.LEFT[0] <= fault.share <= ood.LEFT[1]
        case GyroDrift():
            size = math.degrees(math.hypot(*fault.drift_rad_s2))
            assert ood.DRIFT_DEG_S2[0] <= size <= ood.DRIFT_DEG_S2[1] * (1 + 1e-9)
        case _:
            raise AssertionError(fault)


@pytest.mark.parametrize(
    ("split", "menu"), [("ood_fault", len(ood.KINDS)), ("ood_composite", len(ood.PAIRS))]
)
def test_numbers_rotate_over_kinds_families_and_levels(split: str, menu: int) -> None:
    specs = [ood.generate(split, FROM + n) for n in range(20 * menu)]
    by_kinds = [kinds(spec) for spec in specs]
    assert all(by_kinds.count(each) == 20 for each in set(by_kinds))
    assert len(set(by_kinds)) == menu
    families = {name for name in catalog.FAMILIES if name not in ood.EXCLUDED}
    assert {spec.family for spec in specs} == families
    assert {spec.level for spec in specs} >= set(range(5, 10))


def test_pairs_are_of_kinds_that_missions_carry_one_at_a_time_and_have_a_reason() -> None:
    for pair, why in ood.PAIRS.items():
        assert set(pair) <= {*KINDS, "leak", "panel"}
        assert len(set(pair)) == 2
        assert why.endswith(".")
    assert len({frozenset(pair) for pair in ood.PAIRS}) == len(ood.PAIRS)


@pytest.mark.parametrize(
    ("split", "number", "said"),
    [
        ("ood_faults", 0, "did you mean ood_fault.*Expected one of ood_fault, ood_composite"),
        ("train", 0, "Expected one of ood_fault, ood_composite"),
        ("ood_fault", -1, "candidate -1 is negative, expected 0 or more"),
    ],
)
def test_what_is_no_candidate_is_an_error(split: str, number: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ood.generate(split, number)


@pytest.mark.parametrize("each", sorted(ALL), ids="+".join)
def test_reference_survives_each_by_skill_and_nothing_less_does(each: tuple[str, ...]) -> None:
    """On one candidate of a few at least, with every fault reported and nothing else."""
    split = ood.SPLITS[len(each) > 1]
    mine = (ood.generate(split, FROM + n) for n in range(200))
    for spec in itertools.islice((spec for spec in mine if kinds(spec) == each), 8):
        flight = fly(spec, Reference(), FROM)
        if flight.succeeded and flight.components["reward/safety"] == 1.0:
            assert not any(by_name(spec, idle, FROM).succeeded for idle in ("idle", "fire", "safe_mode"))
            return
    pytest.fail(f"no candidate with {each} is survived and reported")
