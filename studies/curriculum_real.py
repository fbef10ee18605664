"""`make bench-curriculum REAL=1`: which curriculum teaches a small controller most on real missions.

An `Apprentice` learns six thresholds by the group-relative update, from missions that the engine gives out
and on the real simulator. Every curriculum gets as many episodes; the flights of certificates come on top
and are counted beside them, and generations are ready at once. What counts is success on all tasks of `val`
of the families that are trained on, flown with the thresholds themselves; learners of the same seed are
compared with one another. The figure goes to `plots/data/curriculum_real.json`.
"""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.certificate import Certificate
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine, make
from orbital_ops_env.curriculum.maker import certificate
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import SHORT_FAMILIES
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server import flight
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.apprentice import BEGINNER, NAMES, Apprentice, Array, Learner
from orbital_ops_env.studies.curriculum import interval, options
from orbital_ops_env.studies.curriculum_plots import of_archive
from orbital_ops_env.studies.instruments import fly_all

COMPARED: Final = ("uniform", "ladder030", "eva_literal", "eva")
SEEDS: Final = 3
STEPS: Final = 24
GROUPS: Final = 4
"""[-] missions a step."""
SMALL: Final = {"missions": 16, "window": 4, "members": 8}
"""What is other than in the presets: few groups are all there are, and all are of one size."""
TOLD: Final = (0, 6, 12, 18, 24)
"""Steps after which success is told."""


@dataclass(frozen=True)
class Job:
    """One apprentice."""

    preset: str
    seed: int


DRAWN: Final = Job("eva", 0)
"""Whose run the pictures show."""


@dataclass(frozen=True)
class Learnt:
    """What became of it."""

    job: Job
    curve: tuple[float, ...]
    """[-] success on `val` after the steps of `TOLD`."""
    thresholds: tuple[float, ...]
    dead: float
    """[-] share of groups that were all successes or all failures."""
    levels: float
    """[-] mean level of the missions of the last quarter."""
    certificates: int
    certificate_flights: int
    run: dict[str, Any] | None
    """For the pictures."""


@dataclass(frozen=True)
class Group:
    """What became of a slot."""

    told: list[tuple[Array, float]]
    """Thresholds and return of each member."""
    won: list[bool]
    level: int


def learnt(job: Job) -> Learnt:
    """Let one apprentice learn."""
    preset = PRESETS[job.preset].model_copy(update=SMALL)
    run = Run(f"{job.preset}.{job.seed}", preset, SHORT_FAMILIES, job.seed)
    learner = Learner(np.random.default_rng([job.seed]), BEGINNER)
    curve: list[float] = []
    certificates: list[Certificate] = []

    def certify(specs: Sequence[MissionSpec]) -> list[Certificate]:
        made = [certificate(flight.by_name, preset.bar, spec) for spec in specs]
        certificates.extend(made)
        return made

    dead, levels, won = list[bool](), list[int](), list[bool]()
    with closing(Database(IN_MEMORY)) as database:
        engine = Engine(Archive(database))
        engine.create(run)
        for step in range(STEPS + 1):
            if step in TOLD:
                curve.append(success(learner.thresholds))
                training = float(np.mean(won)) if won else None
                report = {"split": "val", "success": curve[-1], "training": training}
                engine.archive.note(run.id, "held_out", report)
            if step < STEPS:
                flown = [group(engine, run, learner, step * GROUPS + n) for n in range(GROUPS)]
                learner.learn([each.told for each in flown])
                won = [share for each in flown for share in each.won]
                dead += [len(set(each.won)) == 1 for each in flown]
                levels += [each.level for each in flown]
                for name, generation in engine.archive.pending():
                    engine.add(make(engine.job(name, generation), certify))
        drawn = of_archive(engine.archive, run.id) if job == DRAWN else None
    return Learnt(
        job,
        tuple(curve),
        tuple(learner.thresholds.tolist()),
        float(np.mean(dead)),
        float(np.mean(levels[-len(levels) // 4 :])),
        len(certificates),
        sum(len(each.evidence) for each in certificates),
        drawn,
    )


def group(engine: Engine, run: Run, learner: Learner, slot: int) -> Group:
    """Fly a slot with members that have thresholds of their own."""
    task = engine.assign(run.id, slot, 0)
    seen = Group([], [], task.spec.level)
    for member in range(run.preset.members):
        thresholds = learner.drawn()
        flown = flight.fly(task.spec, Apprentice(thresholds), task.episode_seed)
        engine.record(run.id, slot, member, Outcome(flown.succeeded, flown.return_, flown.outcome))
        seen.told.append((thresholds, flown.return_))
        seen.won.append(flown.succeeded)
    return seen


def success(thresholds: Array) -> float:
    """[-] Share of the held-out tasks that succeed."""
    tasks = (splits.task("val", index) for index in range(splits.num_tasks("val")))
    mine = [task for task in tasks if task.spec.family in SHORT_FAMILIES]
    return float(
        np.mean([flight.fly(t.spec, Apprentice(thresholds), t.episode_seed).succeeded for t in mine])
    )


# -- the figure --------------------------------------------------------------------------------


def figure(found: Sequence[Learnt]) -> dict[str, Any]:
    """`clean.<preset>` with `final`, `auc`, `eva`'s `gain` over it, intervals, and what explains them."""
    cells: dict[str, Any] = {}
    for preset in COMPARED:
        mine = [each for each in found if each.job.preset == preset]
        cell: dict[str, Any] = {"curves": [each.curve for each in mine]}
        cell["final"], cell["final_ci95"] = interval([each.curve[-1] for each in mine])
        cell["auc"], cell["auc_ci95"] = interval([float(np.mean(each.curve)) for each in mine])
        cell["dead_groups"] = float(np.mean([each.dead for each in mine]))
        cell["last_levels"] = float(np.mean([each.levels for each in mine]))
        cell["certificates"] = sum(each.certificates for each in mine)
        cell["certificate_flights"] = sum(each.certificate_flights for each in mine)
        cell["thresholds"] = {name: [each.thresholds[n] for each in mine] for n, name in enumerate(NAMES)}
        cells[preset] = cell
    for cell in cells.values():
        gains = np.subtract(cells["eva"]["curves"], cell["curves"])[:, -1].tolist()
        cell["gain"], cell["gain_ci95"] = interval(gains, least=-1.0)
    episodes = [step * GROUPS * SMALL["members"] for step in TOLD]
    (run,) = [each.run for each in found if each.run]
    return {"clean": cells, "episodes": episodes, "run": run}


def table(told: dict[str, Any]) -> Table:
    """What the figure holds, for people."""
    shown = Table(
        "curriculum", "before", "final", "area", "gain of eva", "dead groups", "last level", "certificates"
    )
    for preset, cell in told["clean"].items():
        before = float(np.mean([curve[0] for curve in cell["curves"]]))
        low, high = cell["final_ci95"]
        shown.add_row(
            preset,
            f"{before:.3f}",
            f"{cell['final']:.3f} [{low:.3f}, {high:.3f}]",
            f"{cell['auc']:.3f}",
            "{:.3f} [{:.3f}, {:.3f}]".format(cell["gain"], *cell["gain_ci95"]),
            f"{cell['dead_groups']:.2f}",
            f"{cell['last_levels']:.1f}",
            f"{cell['certificates']} of {cell['certificate_flights']} flights",
        )
    return shown


def main() -> None:
    """Let all learn, print the table, write the figure."""
    chosen = options(__doc__, SEEDS)
    # The longest come first, so that no core waits for the last of them.
    jobs = [Job(preset, seed) for preset in reversed(COMPARED) for seed in range(chosen.seeds)]
    with ProcessPoolExecutor(chosen.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        told = figure(fly_all(pool, learnt, jobs, "apprentices"))
    Console().print(table(told))
    if chosen.seeds == SEEDS:
        note = f"apprentices and runs 0 to {SEEDS - 1}; all tasks of val but the flagship's"
        print(
            f"written to {figures.write('curriculum_real.json', 'make bench-curriculum REAL=1', note, told)}"
        )


if __name__ == "__main__":
    main()
