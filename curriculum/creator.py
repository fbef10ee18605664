"""The creator's step: from a generation and its results to the next generation.

Estimate how informative each mission is, draw the informative ones, evolve them by small edits, and mix the
offspring with missions of the generation before. What a mission is, what an edit does and what is admitted is
given in, so that the same step serves `MissionSpec`s and the synthetic space of the bench. All of it is a
pure function of its arguments and the generator.

Source: Ye et al. (2025), algorithm 1; the authors' code for what it leaves open: weights are normalised
between the least and the greatest of the generation, sampling is without replacement, every edit of a
chain is kept.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.curriculum.presets import Informativeness, Preset

M = TypeVar("M")


@dataclass(frozen=True)
class Entry(Generic[M]):
    """A mission of a generation."""

    mission: M
    root: str
    """The first mission of its lineage."""
    family: str


@dataclass(frozen=True)
class Graded(Generic[M]):
    """A mission with what a group made of it."""

    entry: Entry[M]
    returns: tuple[float, ...]
    successes: tuple[bool, ...]

    @property
    def success(self) -> float:
        """[-] Share of the group that succeeded."""
        return float(np.mean(self.successes))


class Space(Protocol[M]):
    """Where missions live."""

    def edit(self, rng: np.random.Generator, mission: M, harder: bool) -> M | None:
        """A small edit of a mission; None if the one that was drawn does not apply."""
        ...

    def admits(self, missions: Sequence[M]) -> Sequence[bool]:
        """Which of some missions may be flown."""
        ...


def informativeness(kind: Informativeness, graded: Graded[M]) -> float:
    """[-] How much a mission teaches, by its group.

    With success bits, greatest less mean is the share of failures if anybody succeeded, else 0.
    """
    told = [float(each) for each in graded.successes] if kind == "success" else list(graded.returns)
    return max(told) - (min(told) if kind == "gap" else float(np.mean(told)))


def next_generation(
    rng: np.random.Generator,
    preset: Preset,
    before: Sequence[Entry[M]],
    graded: Sequence[Graded[M]],
    space: Space[M],
) -> list[Entry[M]]:
    """The missions that come after some, in the order in which they are flown.

    Args:
        rng: Draws parents, edits, and the mixture.
        preset: The numbers.
        before: The generation before.
        graded: What is known of it; the rest has no offspring.
        space: Edits and admits missions.
    """
    chosen = parents(rng, preset, graded)
    return mixed(rng, preset, offspring(rng, preset, chosen, space), before)


def parents(rng: np.random.Generator, preset: Preset, graded: Sequence[Graded[M]]) -> list[Graded[M]]:
    """Those that are evolved, drawn without replacement by informativeness.

    If too few groups of a family are mixed, any of its missions may be, as likely as the mean of all: easier
    ones then come of those that nobody succeeds on, harder ones of the others.
    """
    if not graded:
        return []
    weights = normalised(np.array([informativeness(preset.informativeness, each) for each in graded]))
    if preset.brakes:
        families = np.array([each.entry.family for each in graded])
        live = np.array([0 < each.success < 1 for each in graded])
        stalled = [family for family in set(families) if live[families == family].mean() < preset.mixed_least]
        weights[np.isin(families, stalled)] = weights.mean()
        weights /= weights.sum()
    count = min(math.ceil(preset.sampled * len(graded)), int(np.count_nonzero(weights)))
    return [graded[i] for i in rng.choice(len(graded), count, replace=False, p=weights)]


def normalised(told: NDArray[np.float64]) -> NDArray[np.float64]:
    """[-] (n,) Shares of numbers over the least of them; all the same if the numbers are."""
    over = told - told.min()
    return over / over.sum() if over.any() else np.full(len(told), 1 / len(told))


def offspring(
    rng: np.random.Generator, preset: Preset, chosen: Sequence[Graded[M]], space: Space[M]
) -> list[Entry[M]]:
    """All edits of the chains that begin at some missions.

    All chains grow by an edit at a time, so that edits are admitted many at once.
    """
    grown: list[Entry[M]] = []
    heads = [(each.entry, preset.brakes and not any(each.successes)) for each in chosen]
    for _ in range(preset.edits):
        heads = list(_grown(rng, preset, heads, space))
        grown += [entry for entry, _ in heads]
    return grown


def _grown(
    rng: np.random.Generator, preset: Preset, heads: Sequence[tuple[Entry[M], bool]], space: Space[M]
) -> Iterator[tuple[Entry[M], bool]]:
    """The heads of chains after another edit each; a chain none of whose edits is admitted ends."""
    waiting = list(heads)
    for _ in range(preset.tries):
        drawn = [
            (head, space.edit(rng, head[0].mission, not head[1] and bool(rng.random() < preset.harden)))
            for head in waiting
        ]
        edited = [(head, mission) for head, mission in drawn if mission is not None]
        admitted = space.admits([mission for _, mission in edited])
        waiting = [head for head, mission in drawn if mission is None]
        for (head, mission), fits in zip(edited, admitted, strict=True):
            if fits:
                yield replace(head[0], mission=mission), head[1]
            else:
                waiting.append(head)


def mixed(
    rng: np.random.Generator, preset: Preset, evolved: Sequence[Entry[M]], before: Sequence[Entry[M]]
) -> list[Entry[M]]:
    """As many missions as before: evolved ones, and for the rest those of the generation before.

    With brakes, each family has its least share first, evolved ones of it before others, and no lineage has
    more than its greatest share as long as there are missions of others.
    """
    size = len(before)
    least = math.ceil(preset.family_least * size) if preset.brakes else 0
    most = math.ceil(preset.lineage_most * size) if preset.brakes else size
    room = round(preset.evolved * size)
    offered = [*_shuffled(rng, evolved), *_shuffled(rng, before)]
    taken: set[int] = set()
    families, lineages = Counter[str](), Counter[str]()

    def take(numbers: Iterable[int], fits: Callable[[Entry[M]], bool]) -> None:
        """Take those of some numbers that fit, as long as there is room for them."""
        nonlocal room
        for number in numbers:
            entry, is_new = offered[number], number < len(evolved)
            if number in taken or len(taken) == size or (is_new and not room) or not fits(entry):
                continue
            taken.add(number)
            room -= is_new
            families[entry.family] += 1
            lineages[entry.root] += 1

    every, old = range(len(offered)), range(len(evolved), len(offered))
    take(every, lambda entry: families[entry.family] < least and lineages[entry.root] < most)
    take(every, lambda entry: lineages[entry.root] < most)
    take(old, lambda entry: True)  # there is nothing else
    return _shuffled(rng, [offered[number] for number in sorted(taken)])


def _shuffled(rng: np.random.Generator, entries: Sequence[Entry[M]]) -> list[Entry[M]]:
    return [entries[i] for i in rng.permutation(len(entries))]
