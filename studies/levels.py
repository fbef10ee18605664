"""`make levels`: how hard the missions are, by family, level and policy.

Every policy flies the same fresh seeds. Beside them, 64 random fixed command scripts fly at the upper
levels: all on the first seeds, the best of those on all seeds. The best of them shows what a policy could get
that reads nothing. Some of the scripts do what such a policy would: detumble, then try names in turn.
"""

import argparse
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from orbital_ops_env.commands import Detumble, Slew
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.targets import CATALOGUE
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.idle import Idle
from orbital_ops_env.policies.random import draw
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Script
from orbital_ops_env.server.flight import fly
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.evaluate import positive

POLICIES: Final[dict[str, Callable[[], Policy]]] = {
    "idle": Idle,
    "rules": Rules,
    "reference": Reference,
}
LEVELS: Final = (0, 4, 9)
SCRIPT_LEVELS: Final = (4, 9)
FIRST_SEED: Final = 20_000
SCRIPT_SEED: Final = 64
SCRIPT_TURNS: Final = 12
PROBES: Final = 16
"""Scripts that detumble and then try names; the others are any commands."""
PROBE_DEG_S: Final = (0.5, 1.0)
FIRST_LOOK: Final = 8
"""Seeds that every script flies,"""
SHORTLIST: Final = 4
"""and scripts of each family and level that go on to fly them all."""


@dataclass(frozen=True)
class Job:
    """One episode to fly; a script is named by its number."""

    family: str
    level: int
    policy: str
    seed: int
    script: int | None = None


def script(number: int) -> Script:
    """Random fixed script of a number: any targets of the catalogue."""
    rng = np.random.default_rng([SCRIPT_SEED, number])
    names = (*CATALOGUE, "sun", "nadir")
    if number < PROBES:
        tried = rng.choice(names, SCRIPT_TURNS - 1, replace=False)
        slews = (Slew(target=str(name), rate_deg_s=float(rng.choice(PROBE_DEG_S))) for name in tried)
        return Script((Detumble(rate_deg_s=0.1), *slews))
    return Script(tuple(draw(rng, names) for _ in range(SCRIPT_TURNS)))


def succeeds(job: Job) -> bool:
    """Fly a job."""
    policy = POLICIES[job.policy]() if job.script is None else script(job.script)
    return fly(generate(job.family, job.level, job.seed), policy, job.seed).succeeded


def policy_jobs(seeds: Sequence[int]) -> list[Job]:
    """Every policy on every cell."""
    return [
        Job(family, level, policy, seed)
        for family in FAMILIES
        for level in LEVELS
        for policy in POLICIES
        for seed in seeds
    ]


def script_jobs(numbers: Iterable[tuple[str, int, int]], seeds: Sequence[int]) -> list[Job]:
    """Scripts, each given as (family, level, number), on seeds."""
    return [Job(family, level, "script", seed, number) for family, level, number in numbers for seed in seeds]


def rates(results: Mapping[Job, bool]) -> dict[Job, float]:
    """Success rate of each cell; a cell is a job with seed 0."""
    cells: dict[Job, list[bool]] = {}
    for job, success in results.items():
        cells.setdefault(replace(job, seed=0), []).append(success)
    return {cell: sum(flown) / len(flown) for cell, flown in cells.items()}


def shortlist(looked: Mapping[Job, bool]) -> list[tuple[str, int, int]]:
    """The scripts of each family and level that did best at first look."""
    ranked: dict[tuple[str, int], list[tuple[float, int]]] = {}
    for cell, rate in rates(looked).items():
        ranked.setdefault((cell.family, cell.level), []).append((-rate, cell.script or 0))
    return [(*key, number) for key, found in ranked.items() for _, number in sorted(found)[:SHORTLIST]]


def figure(policies: Mapping[Job, bool], scripts: Mapping[Job, bool]) -> dict[str, Any]:
    """`<family>.<level>.<policy>.success`; `best_script` is the best that flew all seeds."""
    cells: dict[str, Any] = {}
    for cell, rate in rates(policies).items():
        level = cells.setdefault(cell.family, {}).setdefault(str(cell.level), {})
        level[cell.policy] = {"success": rate}
    full = set(
        shortlist({job: flown for job, flown in scripts.items() if job.seed < FIRST_SEED + FIRST_LOOK})
    )
    for cell, rate in rates(scripts).items():
        if (cell.family, cell.level, cell.script) in full:
            level = cells[cell.family][str(cell.level)]
            best = level.setdefault("best_script", {"success": 0.0})
            best["success"] = max(best["success"], rate)
    return cells


def table(cells: dict[str, Any]) -> Table:
    """The figure as a table."""
    shown = Table(title="Success by family, level and policy")
    columns = (*POLICIES, "best_script")
    for name in ("family", "level", *columns):
        shown.add_column(name, justify="left" if name == "family" else "right")
    for family, levels in cells.items():
        for level, cell in levels.items():
            row = [f"{cell[c]['success']:.2f}" if c in cell else "" for c in columns]
            shown.add_row(family, level, *row)
    return shown


def fly_all(pool: ProcessPoolExecutor, todo: list[Job], what: str) -> dict[Job, bool]:
    """Fly jobs on all cores with a progress bar."""
    flown = pool.map(succeeds, todo, chunksize=4)
    return dict(zip(todo, track(flown, what, total=len(todo)), strict=True))


def main() -> None:
    """Fly everything on both cores; write the figure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=positive, default=100, help="episodes of each cell")
    parser.add_argument("--scripts", type=positive, default=64, help="random fixed scripts of each family")
    chosen = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    everyone = itertools.product(FAMILIES, SCRIPT_LEVELS, range(chosen.scripts))
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        policies = fly_all(pool, policy_jobs(seeds), "policies")
        scripts = fly_all(pool, script_jobs(everyone, seeds[:FIRST_LOOK]), "scripts, first look")
        best = script_jobs(shortlist(scripts), seeds[FIRST_LOOK:])
        scripts |= fly_all(pool, best, "scripts, shortlist")
    cells = figure(policies, scripts)
    note = (
        f"missions and episodes {seeds[0]} to {seeds[-1]}; scripts: {FIRST_LOOK} seeds, best {SHORTLIST} all"
    )
    path = figures.write("levels.json", "make levels", note, cells)
    Console().print(table(cells), f"written to {path.relative_to(figures.ROOT)}")


if __name__ == "__main__":
    main()
