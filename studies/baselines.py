"""`make baselines`: what policies without a language model reach on the splits.

Seven policies fly every task of every split, of `train` a sample, on the episode that the task is scored on;
the red team flies `val` besides. The figure goes to `plots/data/baselines.json`, its pages to
`docs/baselines.md`. A run of fewer splits or tasks prints its page and writes nothing.
"""

import argparse
import itertools
import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.missions import splits
from orbital_ops_env.missions.splits import Task
from orbital_ops_env.server.flight import fly
from orbital_ops_env.studies import baselines_figure, baselines_page, baselines_plot, figures
from orbital_ops_env.studies.baselines_figure import ATTACKED, LEADERBOARD, Row
from orbital_ops_env.studies.evaluate import positive
from orbital_ops_env.studies.instruments import fly_all
from orbital_ops_env.studies.success import POLICIES
from orbital_ops_env.studies.zoo import RED_TEAM, ZOO

SAMPLED: Final = "train"
"""The split that is too large to be flown,"""
SAMPLE: Final = 200
"""[-] tasks of it that are,"""
SAMPLE_SEED: Final = 0
"""and what draws them."""


@dataclass(frozen=True)
class Job:
    """One episode to fly."""

    split: str
    policy: str
    task: Task


def indices(split: str, count: int) -> list[int]:
    """Which tasks of a split are flown.

    Args:
        split: Its name.
        count: [-] tasks that it has.
    """
    if split != SAMPLED:
        return list(range(count))
    return sorted(np.random.default_rng(SAMPLE_SEED).choice(count, SAMPLE, replace=False).tolist())


def policies(split: str) -> list[str]:
    """Who flies a split."""
    return list(dict.fromkeys((*LEADERBOARD, *(RED_TEAM if split == ATTACKED else ()))))


def jobs(split: str, tasks: Iterable[Task]) -> list[Job]:
    """Every policy of a split on every one of some tasks."""
    return [Job(split, policy, task) for task, policy in itertools.product(tasks, policies(split))]


def flown(job: Job) -> Row:
    """Fly a job; what goes wrong says in which."""
    spec, name = job.task.spec, job.policy
    policy = POLICIES[name]() if name in POLICIES else ZOO[name](spec)
    try:
        flight = fly(spec, policy, job.task.episode_seed)
    except Exception as error:
        error.add_note(f"{name} on {job.split}: {spec} episode_seed={job.task.episode_seed}")
        raise
    return Row(job.split, name, spec.family, spec.level, flight.succeeded, flight.return_)


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="baselines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", nargs="+", default=list(splits.SPLITS), choices=list(splits.SPLITS))
    parser.add_argument("--tasks", type=positive, help="the first so many of each split; default: all")
    parser.add_argument("--workers", type=positive, help="processes; default: all cores")
    return parser.parse_args()


def run(pool: ProcessPoolExecutor, names: Sequence[str], tasks: int | None) -> list[Row]:
    """Fly splits.

    Args:
        pool: Flies.
        names: Of the splits.
        tasks: [-] most of each; None for all.

    Raises:
        ValueError: A split is empty.
    """
    counts = {split: splits.num_tasks(split) for split in names}
    if empty := [split for split, count in counts.items() if not count]:
        raise ValueError(f"no tasks in {', '.join(empty)}: expected frozen ones, run `make freeze` first")
    rows: list[Row] = []
    for split, count in counts.items():
        chosen = indices(split, count)[:tasks]
        todo = jobs(split, [splits.task(split, index) for index in chosen])
        rows += fly_all(pool, flown, todo, split)
    return rows


def main() -> None:
    """Fly the splits; print the page, and write figure, page and plot if it is of all tasks."""
    chosen = options()
    told = {"acceptance": baselines_figure.acceptance()}
    with ProcessPoolExecutor(chosen.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        told |= baselines_figure.figure(run(pool, chosen.splits, chosen.tasks))
    print(baselines_page.page(told))
    if chosen.tasks or set(chosen.splits) != set(splits.SPLITS):
        return
    note = f"the frozen ones of each task; {SAMPLE} tasks of {SAMPLED} drawn with seed {SAMPLE_SEED}"
    path = figures.write(baselines_figure.NAME, "make baselines", note, told)
    baselines_page.PAGE.write_text(baselines_page.page(told))
    print(f"written to {path}, {baselines_page.PAGE} and {baselines_plot.draw(told)}")


if __name__ == "__main__":
    main()
