"""The splits: tasks by number, frozen ones with their hashes, and none of `train` near a frozen one."""

import hashlib
import json
import lzma
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from orbital_ops_env.curriculum.certificate import SPLIT
from orbital_ops_env.missions import ood, splits
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.missions.likeness import Missions
from orbital_ops_env.missions.splits import (
    CERTIFICATE_SEEDS,
    EPISODE_SEEDS,
    FIRST_SEEDS,
    FROZEN,
    FROZEN_SPLITS,
    SPLITS,
    TRAIN_TASKS,
    Task,
    cell,
    certificate_seeds,
    decode,
    encode,
    episode_seed,
    held_out,
    num_tasks,
    task,
)
from orbital_ops_env.models import Seed

MANIFEST = json.loads((FROZEN / "manifest.json").read_text())
UNSEEN = {"weak_thruster", "gyro_drift"}
indices = st.integers(0, TRAIN_TASKS - 1)


# -- frozen data -------------------------------------------------------------------------------


@pytest.mark.parametrize("split", FROZEN_SPLITS)
def test_a_frozen_split_is_what_its_manifest_says(split: str) -> None:
    content = lzma.decompress((FROZEN / f"{split}.jsonl.xz").read_bytes())
    told = MANIFEST["splits"][split]
    assert hashlib.sha256(content).hexdigest() == told["sha256"]
    assert num_tasks(split) == content.count(b"\n") == told["tasks"]
    assert encode(decode(content)) == content
    assert set(MANIFEST) == {"command", "commit", "sources", "unfilled", "splits"}
    assert MANIFEST["unfilled"] == []


def test_the_frozen_data_are_small() -> None:
    assert sum(path.stat().st_size for path in FROZEN.iterdir()) < 2_000_000


def test_frozen_tasks_are_no_near_duplicates_of_each_other() -> None:
    missions = Missions()
    for split in FROZEN_SPLITS:
        for index in range(num_tasks(split)):
            spec = task(split, index).spec
            assert not missions.near(spec), (split, index)
            missions.add(spec)


@pytest.mark.parametrize("split", ["val", "test"])
def test_a_frozen_mission_is_of_a_seed_of_its_split(split: str) -> None:
    for index in range(num_tasks(split)):
        spec = task(split, index).spec
        assert 0 <= spec.seed - FIRST_SEEDS[split] < 1_000_000
        assert cell(split, index) == (spec.family, spec.level)


@pytest.mark.parametrize("split", FROZEN_SPLITS)
def test_a_frozen_task_has_the_episode_seed_of_its_content_which_no_certificate_flies(split: str) -> None:
    assert num_tasks(split) > 0
    for index in range(num_tasks(split)):
        frozen = task(split, index)
        assert frozen.episode_seed == episode_seed(frozen.spec)
        assert frozen.episode_seed not in certificate_seeds(frozen.spec, SPLIT.seeds)


@pytest.mark.parametrize("split", ["val", "test"])
def test_frozen_missions_are_what_their_families_make_today(split: str) -> None:
    for index in range(0, num_tasks(split), 13):
        spec = task(split, index).spec
        assert generate(spec.family, spec.level, spec.seed) == spec, (split, index)


@pytest.mark.parametrize(
    ("split", "menu"), [("ood_fault", {(kind,) for kind in ood.KINDS}), ("ood_composite", set(ood.PAIRS))]
)
def test_missions_of_new_faults_are_what_they_are_drawn_as_and_carry_those_faults(
    split: str, menu: set[tuple[str, ...]]
) -> None:
    found = Counter(
        tuple(fault.kind for fault in task(split, n).spec.faults) for n in range(num_tasks(split))
    )
    assert set(map(frozenset, found)) == set(map(frozenset, menu))
    for index in range(0, num_tasks(split), 7):
        spec = task(split, index).spec
        assert spec.family not in ood.EXCLUDED
        assert ood.generate(split, spec.seed - ood.FIRST_SEED[split]) == spec


def test_tasks_are_read_back_as_they_were() -> None:
    tasks = tuple(Task(generate(family, 9, 3), n) for n, family in enumerate(FAMILIES))
    assert decode(encode(tasks)) == tasks


# -- train -------------------------------------------------------------------------------------


def test_families_take_turns_then_levels() -> None:
    assert [cell("train", index)[0] for index in range(5)] == list(FAMILIES)[:5]
    found = Counter(cell("train", index) for index in range(6100))
    often = [count for (family, _), count in found.items() if family not in splits.RARE]
    assert set(found) == {(family, level) for family in FAMILIES for level in LEVELS}
    assert max(often) - min(often) <= 1


def test_a_rare_family_has_one_task_where_the_others_have_one_of_each_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splits, "RARE", ("hold-v0",))
    lap = (len(FAMILIES) - 1) * len(LEVELS) + 1
    found = [cell("train", index) for index in range(10 * lap)]
    assert [level for family, level in found if family == "hold-v0"] == list(LEVELS)
    assert set(Counter(found[:lap]).values()) == {1}


@given(indices)
def test_a_task_of_train_is_always_the_same_and_of_seeds_of_its_own(index: int) -> None:
    drawn = task("train", index)
    generate.cache_clear()
    assert drawn == task("train", index)
    spec = drawn.spec
    assert (spec.family, spec.level) == cell("train", index)
    assert (spec.seed - FIRST_SEEDS["train"]) % TRAIN_TASKS == index
    assert FIRST_SEEDS["train"] <= spec.seed < FIRST_SEEDS["val"]
    assert drawn.episode_seed == episode_seed(spec)


@given(indices)
@settings(max_examples=300)
def test_no_task_of_train_has_a_fault_of_the_unseen_splits(index: int) -> None:
    faults = task("train", index).spec.faults
    assert len(faults) <= 1, "a pair of faults"
    assert not {fault.kind for fault in faults} & UNSEEN


def test_a_task_of_train_near_a_frozen_one_takes_the_next_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = 7
    family, level = cell("train", index)
    first, second, third = (
        generate(family, level, FIRST_SEEDS["train"] + index + n * TRAIN_TASKS) for n in range(3)
    )
    for split in FROZEN_SPLITS:
        held = {"val": [first], "test": [second]}.get(split, [])
        content = encode(Task(spec, 0) for spec in held)
        (tmp_path / f"{split}.jsonl.xz").write_bytes(lzma.compress(content))
    monkeypatch.setattr(splits, "FROZEN", tmp_path)
    assert task("train", index).spec == third
    assert task("train", index + 1).spec.seed == FIRST_SEEDS["train"] + index + 1


@pytest.mark.parametrize("split", FROZEN_SPLITS)
def test_no_frozen_mission_may_come_again(split: str) -> None:
    for index in range(num_tasks(split)):
        spec = task(split, index).spec
        assert held_out().near(spec.model_copy(update={"seed": 0}))


def test_hardly_a_task_of_train_is_near_a_frozen_one() -> None:
    """So that the split is drawn fast, and from all over the missions."""
    drawn = [task("train", index).spec.seed for index in range(0, TRAIN_TASKS, 331)]
    assert sum(seed >= FIRST_SEEDS["train"] + TRAIN_TASKS for seed in drawn) <= 0.03 * len(drawn)


# -- episode seeds -----------------------------------------------------------------------------


@given(st.sampled_from(list(FAMILIES)), st.sampled_from(LEVELS), st.integers(0, 2**40))
def test_nobody_is_scored_on_a_seed_of_a_certificate(family: str, level: int, seed: int) -> None:
    spec = generate(family, level, seed)
    certified = certificate_seeds(spec, 16)
    assert len(set(certified)) == 16
    assert min(certified) >= CERTIFICATE_SEEDS > EPISODE_SEEDS > episode_seed(spec) >= 0
    assert TypeAdapter(Seed).validate_python(max(certified)) == max(certified), "no seed that reset takes"
    assert certificate_seeds(spec, 16) == certified


# -- what there is not -------------------------------------------------------------------------


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("beyond", [-1, 0])
def test_an_index_out_of_range_says_the_range(split: str, beyond: int) -> None:
    count = num_tasks(split)
    index = beyond if beyond < 0 else count
    for ask in (task, cell):
        with pytest.raises(IndexError, match=f"split {split} has no task {index}: "):
            ask(split, index)
    if count:
        with pytest.raises(IndexError, match=f"expected 0 to {count - 1}$"):
            task(split, index)


@pytest.mark.parametrize("name", ["vall", "", "curriculum"])
def test_an_unknown_split_says_which_there_are(name: str) -> None:
    for ask in (lambda: task(name, 0), lambda: cell(name, 0), lambda: num_tasks(name)):
        with pytest.raises(ValueError, match="Expected one of train, val, test, ood_fault, ood_composite"):
            ask()
    with pytest.raises(ValueError, match="no split 'vall', did you mean val"):
        task("vall", 0)
