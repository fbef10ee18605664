"""`make bench-curriculum`: which curriculum teaches the synthetic learner most with as many rollouts.

Every curriculum gets 128 000 rollouts of the learner, all of them charged; what counts is success on 300
missions that none of them flies. Certificates cost nothing here, and missions that are drawn have one
too where the preset says `certified`. The figure goes to `plots/data/curriculum_synthetic.json`.
"""

import argparse
import math
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from orbital_ops_env.curriculum.creator import Entry, Graded, informativeness, next_generation
from orbital_ops_env.curriculum.ladder import Ladder
from orbital_ops_env.curriculum.presets import PRESETS, Preset
from orbital_ops_env.studies import figures, synthetic
from orbital_ops_env.studies.evaluate import positive
from orbital_ops_env.studies.instruments import fly_all
from orbital_ops_env.studies.synthetic import CONDITIONS, Condition, Learner, Mission, Synthetic

ROLLOUTS: Final = 128_000
GROUPS: Final = 16
"""[-] groups in a step of the learner."""
SEEDS: Final = 8
FIRST_SEED: Final = 0
TOLD: Final = 50
"""[-] points of a curve."""
QUANTILES: Final = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""[-] 97.5 % quantiles of Student's t by the number of seeds."""
EASY: Final = (0.0, 3.0)
"""Difficulties of a first generation."""
LADDER_TOP: Final = 7
"""The ladder's highest level: of difficulties 7 to 8, the last at which any mission can be done."""
COMPARED: Final = PRESETS | {"ladder070": Preset(kind="ladder", unlock_above=0.7, ease_below=0.3)}
"""Curricula by name: the presets, and a ladder that climbs later."""
ABLATIONS: Final = {
    "eva_uncertified": PRESETS["eva"].model_copy(update={"certified": False}),
    "eva_unbraked": PRESETS["eva"].model_copy(update={"harden": 1.0, "brakes": False}),
    "eva_literal_certified": PRESETS["eva_literal"].model_copy(update={"certified": True}),
}
"""What of `eva` does it,"""
ABLATED: Final = ("clean", "bad_certificate")
"""in these conditions."""


@dataclass(frozen=True)
class Job:
    """One learner."""

    condition: str
    preset: str
    seed: int


@dataclass(frozen=True)
class Learnt:
    """What became of it."""

    job: Job
    curve: tuple[float, ...]
    """[-] success on the held-out missions, evenly over the rollouts, first and last included."""
    dead: float
    """[-] share of groups that were all successes or all failures."""
    infeasible: float
    """[-] share of missions served that nobody can do."""


# -- curricula ---------------------------------------------------------------------------------


class Uniform:
    """Missions of all difficulties."""

    def __init__(self, space: Synthetic) -> None:
        self._space = space

    def serve(self) -> list[Mission]:
        """The missions of a step."""
        return self._space.fresh(0.0, synthetic.HARDEST, GROUPS)

    def hear(self, returns: Sequence[Sequence[float]], successes: Sequence[Sequence[bool]]) -> None:
        """Take what the groups made of them."""


class Climbing:
    """Missions all of whose difficulties are those of a level."""

    def __init__(self, space: Synthetic, preset: Preset) -> None:
        self._space, self._ladder = space, Ladder(preset)

    def serve(self) -> list[Mission]:
        """The missions of a step."""
        level = min(self._ladder.level, LADDER_TOP)
        return self._space.fresh(float(level), level + 1.0, GROUPS)

    def hear(self, returns: Sequence[Sequence[float]], successes: Sequence[Sequence[bool]]) -> None:
        """Take what the groups made of them."""
        for each in returns:
            self._ladder.hear(self._ladder.level, float(np.mean(each)))


class Evolving:
    """Generations of missions; while one is late, those of the last one that taught most are flown again."""

    def __init__(self, space: Synthetic, preset: Preset, rng: np.random.Generator, late: int) -> None:
        self._space, self._preset, self._rng = space, preset, rng
        self._late, self._waited = late, 0
        first = enumerate(space.fresh(*EASY, preset.missions))
        self._left = [Entry(mission, str(number), "synthetic") for number, mission in first]
        self._graded: list[Graded[Mission]] = []

    def serve(self) -> list[Mission]:
        """The missions of a step."""
        if not self._left and self._waited < self._late:
            self._waited += 1
            return self._taught_most()
        if not self._left:
            self._waited, before = 0, [each.entry for each in self._graded]
            self._left = next_generation(self._rng, self._preset, before, self._graded, self._space)
            self._graded = []
        return [entry.mission for entry in self._left[:GROUPS]]

    def _taught_most(self) -> list[Mission]:
        """Some of the best quarter of a generation, or of all if nothing taught, as the engine has it."""
        told = [(informativeness(self._preset.informativeness, each), each) for each in self._graded]
        taught = sorted((each for each in told if each[0] > 0), key=lambda each: -each[0])
        quarter = taught[: math.ceil(self._preset.repeated * self._preset.missions)]
        best = [each.entry.mission for _, each in quarter or told]
        return [best[(self._waited * GROUPS + n) % len(best)] for n in range(GROUPS)]

    def hear(self, returns: Sequence[Sequence[float]], successes: Sequence[Sequence[bool]]) -> None:
        """Take what the groups made of them; those that were flown again do not count."""
        if not self._left:
            return
        served, self._left = self._left[:GROUPS], self._left[GROUPS:]
        told = zip(served, returns, successes, strict=True)
        self._graded += [Graded(entry, tuple(r), tuple(s)) for entry, r, s in told]


def curriculum(
    preset: Preset, space: Synthetic, rng: np.random.Generator, late: int
) -> Uniform | Climbing | Evolving:
    """What a preset asks for."""
    match preset.kind:
        case "uniform":
            return Uniform(space)
        case "ladder":
            return Climbing(space, preset)
        case "evolve":
            return Evolving(space, preset, rng, late)


# -- a learner's life --------------------------------------------------------------------------


def learnt(job: Job) -> Learnt:
    """Let one learner learn."""
    preset, condition = (COMPARED | ABLATIONS)[job.preset], CONDITIONS[job.condition]
    rng = np.random.default_rng([FIRST_SEED + job.seed])
    learner, held_out = Learner(rng, condition.slopes), synthetic.held_out(rng)
    space = Synthetic(rng, condition, preset.certified)
    served = curriculum(preset, space, rng, condition.late)
    told = list(_steps(served, learner, rng, preset.members, condition, held_out))
    curve, dead, infeasible = (list(column) for column in zip(*told, strict=True))
    at = np.linspace(0, len(curve) - 1, TOLD).round().astype(int)
    return Learnt(job, tuple(curve[i] for i in at), float(np.mean(dead)), float(np.mean(infeasible)))


def _steps(
    served: Uniform | Climbing | Evolving,
    learner: Learner,
    rng: np.random.Generator,
    members: int,
    condition: Condition,
    held_out: synthetic.Array,
) -> Iterator[tuple[float, float, float]]:
    """Success on the held-out missions after each step, and what share of groups and missions was lost."""
    for _ in range(math.ceil(ROLLOUTS / (GROUPS * members))):
        missions = served.serve()
        asked = synthetic.demands(missions)
        passed, succeeded, returns = synthetic.rollouts(rng, learner, missions, members, condition)
        learner.learn(asked, passed, returns)
        served.hear(returns.tolist(), succeeded.tolist())
        dead = succeeded.all(axis=1) | ~succeeded.any(axis=1)
        yield learner.success(held_out), float(dead.mean()), float((~synthetic.feasible(asked)).mean())


# -- the figure --------------------------------------------------------------------------------


def figure(found: Sequence[Learnt]) -> dict[str, Any]:
    """`<condition>.<curriculum>` with `final`, `auc`, `dead_groups`, `infeasible`, intervals, and `curve`."""
    told: dict[str, Any] = {}
    for condition in CONDITIONS:
        for preset in rows(condition):
            mine = [each for each in found if (each.job.condition, each.job.preset) == (condition, preset)]
            columns = {
                "final": [each.curve[-1] for each in mine],
                "auc": [float(np.mean(each.curve)) for each in mine],
                "dead_groups": [each.dead for each in mine],
                "infeasible": [each.infeasible for each in mine],
            }
            cell: dict[str, Any] = {}
            for name, values in columns.items():
                cell[name], cell[f"{name}_ci95"] = interval(values)
            curves = np.array([each.curve for each in mine])
            cell["curve"] = curves.mean(axis=0).round(4).tolist()
            cell["curve_range"] = [curves.min(axis=0).round(4).tolist(), curves.max(axis=0).round(4).tolist()]
            told.setdefault(condition, {})[preset] = cell
    return told


def rows(condition: str) -> list[str]:
    """The curricula that are compared in a condition."""
    return [*COMPARED, *(ABLATIONS if condition in ABLATED else ())]


def interval(values: Sequence[float], least: float = 0.0) -> tuple[float, list[float]]:
    """Mean over seeds and its 95 % t interval, between the least there can be and 1."""
    mean = float(np.mean(values))
    reach = QUANTILES[len(values)] * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return mean, [max(mean - reach, least), min(mean + reach, 1.0)]


def table(told: dict[str, Any]) -> Table:
    """Final success and area under the curve."""
    shown = Table("condition", "curriculum", "final", "area", "dead groups", title="Held-out success")
    for condition, cells in told.items():
        for preset, cell in cells.items():
            numbers = (f"{cell[name]:.3f}" for name in ("final", "auc", "dead_groups"))
            shown.add_row(condition, preset, *numbers)
    return shown


def options(about: str | None, seeds: int) -> argparse.Namespace:
    """The command line of a bench of curricula.

    Args:
        about: What it is.
        seeds: Learners of each curriculum, unless told otherwise.
    """
    parser = argparse.ArgumentParser(
        prog="bench-curriculum", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=seeds, choices=QUANTILES, help="of each; %(default)s")
    parser.add_argument("--workers", type=positive, help="processes; default: all cores")
    return parser.parse_args()


def main() -> None:
    """Let all learn, print the table, write the figure."""
    chosen = options(__doc__, SEEDS)
    jobs = [Job(c, p, s) for s in range(chosen.seeds) for c in CONDITIONS for p in rows(c)]
    with ProcessPoolExecutor(chosen.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        told = figure(fly_all(pool, learnt, jobs, "learners"))
    Console().print(table(told))
    if chosen.seeds == SEEDS:
        note = f"learners from {FIRST_SEED}, {SEEDS} of each curriculum and condition"
        print(f"written to {figures.write('curriculum_synthetic.json', 'make bench-curriculum', note, told)}")


if __name__ == "__main__":
    main()
