"""Numbered tasks to train and to be measured on: a task is a mission and an episode seed.

`train` is drawn on demand, 100 000 tasks. The others are frozen as data, in `frozen/`: `val` to tune on,
`test` to report on, `ood_fault` and `ood_composite` for faults, and pairs of faults, that no other split has.
No task of `train` is a near-duplicate of a frozen one.
"""

import functools
import json
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orbital_ops_env.commands import did_you_mean, printable
from orbital_ops_env.missions.catalog import FAMILIES, FLAGSHIP, LEVELS, generate
from orbital_ops_env.missions.likeness import Missions
from orbital_ops_env.missions.mission import MissionSpec

FROZEN_SPLITS: Final = ("val", "test", "ood_fault", "ood_composite")
SPLITS: Final = ("train", *FROZEN_SPLITS)
CURRICULUM: Final = "curriculum"
"""What a server takes for a split whose tasks are slots of a run."""
FROZEN: Final = Path(__file__).parent / "frozen"
"""Where the frozen splits are: `<split>.jsonl.xz`, and `manifest.json` with their hashes."""
TRAIN_TASKS: Final = 100_000
FIRST_SEEDS: Final = {"train": 2_000_000_000, "val": 3_000_000_000, "test": 4_000_000_000}
"""Mission seeds of a split from here on, which nothing else draws."""
ATTEMPTS: Final = 1000
"""[-] seeds tried for a task of `train`."""
RARE: Final = (FLAGSHIP,)
"""Families of long missions: one task of `train` each, where every other family has one of each level."""
EPISODE_SEEDS: Final = 2**32
"""Episode seeds of tasks are under it,"""
CERTIFICATE_SEEDS: Final = 2**62
"""and those of certificates not under this one."""


@dataclass(frozen=True)
class Task:
    """A mission and the episode seed that it is flown with."""

    spec: MissionSpec
    episode_seed: int


def num_tasks(split: str) -> int:
    """How many tasks a split has.

    Raises:
        ValueError: There is no such split.
    """
    if split not in SPLITS:
        hint = did_you_mean(split, SPLITS)
        raise ValueError(f"no split {printable(split)!r}{hint} Expected one of {', '.join(SPLITS)}.")
    return TRAIN_TASKS if split == "train" else len(_frozen(FROZEN / f"{split}.jsonl.xz"))


def task(split: str, index: int) -> Task:
    """A task of a split: always the same one.

    Args:
        split: A name of `SPLITS`.
        index: 0 or more.

    Raises:
        ValueError: There is no such split.
        IndexError: The split has no task of that index.
    """
    _check(split, index)
    if split == "train":
        spec = _drawn(index)
        return Task(spec, episode_seed(spec))
    return _frozen(FROZEN / f"{split}.jsonl.xz")[index]


def cell(split: str, index: int) -> tuple[str, int]:
    """Family and level of a task, without drawing it; raises as `task` does."""
    _check(split, index)
    if split == "train":
        return _turn(index)
    spec = task(split, index).spec
    return spec.family, spec.level


def _check(split: str, index: int) -> None:
    count = num_tasks(split)
    if not 0 <= index < count:
        expected = f"expected 0 to {count - 1}" if count else "it is empty"
        raise IndexError(f"split {split} has no task {index}: {expected}")


# -- train -------------------------------------------------------------------------------------


def _turn(index: int) -> tuple[str, int]:
    """Family and level whose turn it is: families in rotation, then levels, then the rare ones."""
    often = [family for family in FAMILIES if family not in RARE]
    rare = [family for family in FAMILIES if family in RARE]
    cells = len(often) * len(LEVELS)
    lap, place = divmod(index, cells + len(rare))
    if place < cells:
        return often[place % len(often)], LEVELS[place // len(often)]
    return rare[place - cells], LEVELS[lap % len(LEVELS)]


def _drawn(index: int) -> MissionSpec:
    """The first mission of a task's seeds that is no near-duplicate of a frozen one."""
    family, level = _turn(index)
    first = FIRST_SEEDS["train"] + index
    frozen = held_out()
    for seed in range(first, first + ATTEMPTS * TRAIN_TASKS, TRAIN_TASKS):
        spec = generate(family, level, seed)
        if not frozen.near(spec):
            return spec
    raise RuntimeError(f"train {index}: {ATTEMPTS} missions of {family} level={level} are near frozen ones")


def held_out() -> Missions:
    """The frozen missions, to which nobody may train on a near one."""
    return _held_out(FROZEN)


@functools.cache
def _held_out(folder: Path) -> Missions:
    missions = Missions()
    for split in FROZEN_SPLITS:
        for each in _frozen(folder / f"{split}.jsonl.xz"):
            missions.add(each.spec)
    return missions


# -- episode seeds -----------------------------------------------------------------------------


def episode_seed(spec: MissionSpec) -> int:
    """The seed that a task of a mission is scored on, by the mission's content."""
    return int(spec.content_hash, 16) % EPISODE_SEEDS


def certificate_seeds(spec: MissionSpec, count: int) -> range:
    """Seeds that a mission is certified on, by its content; nobody is scored on them."""
    place = int(spec.content_hash, 16) % EPISODE_SEEDS
    first = CERTIFICATE_SEEDS + place * count
    return range(first, first + count)


# -- frozen data -------------------------------------------------------------------------------


def encode(tasks: Iterable[Task]) -> bytes:
    """Tasks as they are frozen, uncompressed: a line of JSON each."""
    lines = (f'{{"episode_seed":{t.episode_seed},"spec":{t.spec.canonical_json}}}\n' for t in tasks)
    return "".join(lines).encode()


def decode(content: bytes) -> tuple[Task, ...]:
    """What `encode` was given."""
    rows = map(json.loads, content.decode().splitlines())
    return tuple(Task(MissionSpec.model_validate(row["spec"]), row["episode_seed"]) for row in rows)


@functools.cache
def _frozen(path: Path) -> tuple[Task, ...]:
    return decode(lzma.decompress(path.read_bytes()))
