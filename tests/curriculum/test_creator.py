"""The creator's step on missions that are plain numbers: an edit adds or takes one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.curriculum.creator import (
    Entry,
    Graded,
    informativeness,
    mixed,
    next_generation,
    normalised,
    offspring,
    parents,
)
from orbital_ops_env.curriculum.presets import PRESETS, Preset

EVA, LITERAL = PRESETS["eva"], PRESETS["eva_literal"]


@dataclass
class Numbers:
    """Missions are numbers; those of one sign are admitted."""

    refused: set[int] = field(default_factory=set[int])

    def edit(self, rng: np.random.Generator, mission: int, harder: bool) -> int | None:
        return mission + (1 if harder else -1)

    def admits(self, missions: Sequence[int]) -> list[bool]:
        return [each not in self.refused for each in missions]


def step(rng: np.random.Generator, preset: Preset, some: Sequence[Graded[int]]) -> list[Entry[int]]:
    return next_generation(rng, preset, [each.entry for each in some], some, Numbers())


def graded(number: int, returns: Sequence[float], family: str = "a") -> Graded[int]:
    return Graded(Entry(number, str(number), family), tuple(returns), tuple(each > 0.5 for each in returns))


@pytest.mark.parametrize(
    ("kind", "returns", "told"),
    [
        ("gap", [0.1, 0.2, 0.9, 0.9], 0.8),
        ("max_mean", [0.1, 0.2, 0.9, 0.9], 0.375),
        ("success", [0.1, 0.2, 0.9, 0.9], 0.5),
        ("success", [0.9, 0.1, 0.1, 0.1], 0.75),
        ("success", [0.1, 0.2, 0.1, 0.2], 0.0),
        ("success", [0.9, 0.8, 0.9, 0.8], 0.0),
        ("gap", [0.1, 0.2, 0.1, 0.2], 0.1),
    ],
)
def test_informativeness_by_hand(kind, returns, told) -> None:
    assert informativeness(kind, graded(0, returns)) == pytest.approx(told)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_weights_are_shares_over_the_least(told: list[float]) -> None:
    shares = normalised(np.array(told))
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    if max(told) > min(told):
        assert all(shares[n] == 0 for n, each in enumerate(told) if each == min(told))


def test_missions_that_teach_nothing_are_no_parents_as_long_as_others_teach() -> None:
    some = [graded(n, [0.9, 0.1]) for n in range(10)] + [graded(n, [0.1, 0.1]) for n in range(10, 40)]
    for seed in range(20):
        chosen = parents(np.random.default_rng(seed), EVA, some)
        assert len(chosen) == len({each.entry.mission for each in chosen}) == 10
        assert all(each.entry.mission < 10 for each in chosen)


def test_a_generation_that_teaches_nothing_is_eased_where_nobody_succeeds_and_hardened_elsewhere() -> None:
    stuck = [graded(0, [0.1] * 8) for _ in range(60)] + [graded(1000, [0.9] * 8) for _ in range(60)]
    following = step(np.random.default_rng(1), EVA.model_copy(update={"harden": 1.0}), stuck)
    told = Counter(each.mission for each in following)
    assert {each for each in told if each < 500} <= {0, -1, -2}
    assert {each for each in told if each > 500} <= {1000, 1001, 1002}
    assert told[-1]
    assert told[1001]


def test_a_family_that_nobody_succeeds_in_has_parents_however_lively_the_others_are() -> None:
    stuck = [graded(n, [0.1] * 8, "stuck") for n in range(16)]
    lively = [graded(n, [0.9] * 4 + [0.1] * 4, "lively") for n in range(16, 32)]
    told = Counter[str]()
    for seed in range(200):
        chosen = parents(np.random.default_rng(seed), EVA, stuck + lively)
        told.update(each.entry.family for each in chosen)
    assert told["stuck"] > told.total() / 4


def test_every_edit_of_a_chain_is_kept() -> None:
    grown = offspring(np.random.default_rng(1), LITERAL, [graded(10, [0.9, 0.1])], Numbers())
    assert [each.mission for each in grown] == [11, 12, 13, 14]
    assert {each.root for each in grown} == {"10"}


def test_a_chain_ends_where_nothing_is_admitted() -> None:
    grown = offspring(np.random.default_rng(1), LITERAL, [graded(10, [0.9, 0.1])], Numbers(refused={13}))
    assert [each.mission for each in grown] == [11, 12]


def test_four_fifths_are_evolved_and_a_fifth_is_of_the_generation_before() -> None:
    before = [Entry(-n, f"old {n}", "a") for n in range(100)]
    evolved = [Entry(n, f"new {n}", "a") for n in range(1, 101)]
    taken = mixed(np.random.default_rng(1), Preset(kind="evolve", missions=100), evolved, before)
    assert (sum(each.mission > 0 for each in taken), sum(each.mission <= 0 for each in taken)) == (80, 20)


def test_no_lineage_takes_over_and_no_family_is_lost() -> None:
    before = [Entry(-n, f"old {n}", "rare" if n < 30 else "often") for n in range(100)]
    evolved = [Entry(n, "one", "often") for n in range(1, 61)] + [
        Entry(n, f"{n}", "often") for n in range(61, 140)
    ]
    taken = mixed(np.random.default_rng(1), Preset(kind="evolve", missions=100), evolved, before)
    assert len(taken) == 100
    assert Counter(each.root for each in taken)["one"] <= 15
    assert Counter(each.family for each in taken)["rare"] >= 10


def test_every_family_keeps_its_share_though_only_one_of_them_teaches() -> None:
    rng, families = np.random.default_rng(3), "abcdef"
    entries = [Entry(n, f"{n}", families[n % 6]) for n in range(120)]
    for _ in range(12):
        some = [Graded(each, (), (True, False) if each.family == "a" else (False, False)) for each in entries]
        entries = next_generation(rng, EVA, entries, some, Numbers())
        told = Counter(each.family for each in entries)
        assert len(entries) == 120
        assert min(told[family] for family in families) >= 12
        assert told["a"] > 12


def test_missions_without_a_group_have_no_offspring_and_may_be_flown_again() -> None:
    entries = [Entry(100 * n, f"{n}", "a") for n in range(10)]
    some = [Graded(each, (), (True, False)) for each in entries[:5]]
    following = next_generation(np.random.default_rng(1), EVA, entries, some, Numbers())
    assert len(following) == 10
    assert {each.root for each in following if each.mission % 100} <= {str(n) for n in range(5)}
    assert sorted(
        each.mission for each in next_generation(np.random.default_rng(1), EVA, entries, [], Numbers())
    ) == [100 * n for n in range(10)]


@given(st.integers(0, 2**32))
def test_the_same_generator_gives_the_same_generation(seed: int) -> None:
    some = [graded(n, [0.9, 0.1 * (n % 9)]) for n in range(128)]
    one, two = (step(np.random.default_rng(seed), EVA, some) for _ in range(2))
    assert one == two
    assert len(one) == 128


def test_too_few_children_for_the_evolved_share_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least `evolved`"):
        Preset(kind="evolve", sampled=0.25, edits=2)
