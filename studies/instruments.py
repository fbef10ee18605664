"""`make instruments`: whether missions, faults and policies measure what they should.

    diagnosability   can each fault be told from the text? (`studies/diagnosability.py`)
    fresh            six policies on fresh missions; what `reference` reports (`studies/success.py`)
    acceptance       does `reference` solve a mission nearly always or nearly never?
    groups           do groups of eight noisy flights hold successes and failures?
    oracle           what one could do who knows what breaks (`studies/oracle.py`)

The figure's head holds the worst family of each number, and the oracle over all missions. A run of some parts
only (`--parts`) prints its table and writes nothing.
"""

import argparse
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES
from orbital_ops_env.studies import diagnosability, figures, oracle, success
from orbital_ops_env.studies.evaluate import positive

T = TypeVar("T")
R = TypeVar("R")
Figure = dict[str, Any]
SEARCHES: Final = 4
"""Parts that the pairs of a fault and a family are looked for in."""
WORST: Final[Mapping[str, tuple[Callable[..., Any], str]]] = {
    "min_auroc": (min, "min_auroc"),
    "fault_named": (min, "fault_named"),
    "false_alarm": (max, "false_alarm"),
    "reference_low": (min, "reference_low"),
    "reference_high": (min, "reference_high"),
    "rules_min": (min, "policies.rules.success"),
    "rules_max": (max, "policies.rules.success"),
    "random_max": (max, "random_from_2"),
    "idle_max": (max, "policies.idle.success"),
    "live_groups": (min, "live_groups"),
}
"""Key of the head: which family is the worst, and its key there."""
ROWS: Final = {
    "least AUROC": "min_auroc",
    "fault named": "fault_named",
    "false alarm": "false_alarm",
    "two turns unused, of faulty": "two_unused.faulty",
    "reference, levels 0-4": "reference_low",
    "reference, 5-9": "reference_high",
    "rules": "policies.rules.success",
    "random, 2-9": "random_from_2",
    "idle": "policies.idle.success",
    "fire": "policies.fire.success",
    "safe mode": "policies.safe_mode.success",
    "solved nearly always, 0-6": "acceptance.low",
    "solved nearly always, 7-9": "acceptance.high",
    "live groups, best level": "live_groups",
    "oracle": "oracle.success",
    "oracle's gas [g]": "oracle.gas_g",
    "reference's gas [g]": "oracle.reference_gas_g",
}
"""Title and key of the printed table's rows, one column a family."""


@dataclass(frozen=True)
class Options:
    """What was asked for; see the command's help."""

    families: list[str]
    parts: list[str]
    pairs: int
    missions: int
    accepted: int
    episodes: int
    groups: int
    oracle: int
    budget: int


def fly_all(pool: ProcessPoolExecutor, task: Callable[[T], R], todo: Sequence[T], what: str) -> list[R]:
    """Do a task for each of many on all cores, with a progress bar."""
    return list(track(pool.map(task, todo), what, total=len(todo)))


# -- parts: figures of each family, under `families` -------------------------------------------


def diagnosability_part(pool: ProcessPoolExecutor, chosen: Options) -> Figure:
    """`faults`, how `reference` names them, and the least AUROC of each family."""
    todo = diagnosability.searches(chosen.families, chosen.pairs, SEARCHES)
    parts = fly_all(pool, diagnosability.pairs, todo, "diagnosability")
    found = [pair for part in parts for pair in part]
    faults, naming = diagnosability.figure(found), diagnosability.naming(found)
    families = {f: {"min_auroc": _least(faults, f)} for f in chosen.families}
    return {"faults": faults, "naming": naming, "families": families}


def _least(faults: Mapping[str, Mapping[str, Mapping[str, float]]], family: str) -> float:
    return min(min(cells[family].values()) for cells in faults.values() if family in cells)


def fresh_part(pool: ProcessPoolExecutor, chosen: Options) -> Figure:
    """Policies on fresh missions."""
    flights = fly_all(
        pool, success.flown, success.fresh_jobs(chosen.families, chosen.missions), "fresh missions"
    )
    families = {f: [each for each in flights if each.job.family == f] for f in chosen.families}
    return {"families": {family: success.fresh_figure(mine) for family, mine in families.items()}}


def acceptance_part(pool: ProcessPoolExecutor, chosen: Options) -> Figure:
    """Shares of missions that `reference` solves nearly always."""
    todo = success.missions(chosen.families, chosen.accepted, chosen.episodes)
    results = dict(zip(todo, fly_all(pool, success.solved, todo, "acceptance"), strict=True))
    families = {f: {key: done for key, done in results.items() if key.family == f} for f in chosen.families}
    return {"families": {f: {"acceptance": success.acceptance(mine)} for f, mine in families.items()}}


def groups_part(pool: ProcessPoolExecutor, chosen: Options) -> Figure:
    """Shares of groups with mixed success, at the best level of each family."""
    todo = success.groups(chosen.families, chosen.groups)
    results = dict(zip(todo, fly_all(pool, success.mixed, todo, "live groups"), strict=True))
    families = {f: {key: mix for key, mix in results.items() if key.family == f} for f in chosen.families}
    levels = {family: success.live(mine) for family, mine in families.items()}
    return {"families": {f: {"live_groups": max(mine.values()), "live": mine} for f, mine in levels.items()}}


def oracle_part(pool: ProcessPoolExecutor, chosen: Options) -> Figure:
    """The oracle beside `reference`, of all missions and of each family."""
    seeds = range(success.FRESH_SEED, success.FRESH_SEED + chosen.oracle)
    todo = [oracle.Job(f, n, seed, chosen.budget) for f in chosen.families for n in LEVELS for seed in seeds]
    bounds = fly_all(pool, oracle.search, todo, "oracle")
    families = {f: [bound for bound in bounds if bound.job.family == f] for f in chosen.families}
    return {
        "oracle": oracle.figure(bounds),
        "families": {f: {"oracle": oracle.figure(mine)} for f, mine in families.items()},
    }


PARTS: Final[Mapping[str, Callable[[ProcessPoolExecutor, Options], Figure]]] = {
    "diagnosability": diagnosability_part,
    "fresh": fresh_part,
    "acceptance": acceptance_part,
    "groups": groups_part,
    "oracle": oracle_part,
}


# -- the figure --------------------------------------------------------------------------------


def gathered(parts: Iterable[Figure]) -> Figure:
    """The figures of all parts in one: `families.<family>` and what stands beside them."""
    whole: Figure = {"families": {}}
    for part in parts:
        for family, cells in part["families"].items():
            whole["families"].setdefault(family, {}).update(cells)
        whole |= {key: cells for key, cells in part.items() if key != "families"}
    return whole


def head(families: Mapping[str, Figure]) -> dict[str, float]:
    """Each number of the worst family; NaN where no family has it."""
    found = {key: [_at(cells, path) for cells in families.values()] for key, (_, path) in WORST.items()}
    return {
        key: WORST[key][0]((number for number in numbers if not np.isnan(number)), default=float("nan"))
        for key, numbers in found.items()
    }


def _at(cells: Figure, path: str) -> float:
    """The number at a path of keys; NaN where its part was not run."""
    here: Any = cells
    for key in path.split("."):
        here = here.get(key, {})
    return here if isinstance(here, float) else float("nan")


def tables(whole: Figure) -> list[Table]:
    """The figure as tables, as far as its parts were run: families, and channels of faults."""
    families = Table("", *whole["families"], title="Families")
    for title, path in ROWS.items():
        numbers = [_at(each, path) for each in whole["families"].values()]
        if not all(np.isnan(numbers)):
            families.add_row(title, *("" if np.isnan(number) else f"{number:.2f}" for number in numbers))
    channels = Table("fault", "family", "AUROC of its channels", title="Diagnosability")
    for fault, rows in whole.get("faults", {}).items():
        for family, found in rows.items():
            channels.add_row(fault, family, "  ".join(f"{name} {area:.3f}" for name, area in found.items()))
    named = Table("fault", "named", "false alarms", title="What reference reports of these")
    for fault, shares in whole.get("naming", {}).items():
        named.add_row(fault, *(f"{share:.2f}" for share in shares.values()))
    return [families, channels, named] if channels.rows else [families]


def options() -> Options:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="instruments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", default=SHORT_FAMILIES, choices=SHORT_FAMILIES)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--pairs", type=positive, default=32, help="of each fault and family; %(default)s")
    parser.add_argument("--missions", type=positive, default=20, help="fresh, of each level; %(default)s")
    parser.add_argument("--accepted", type=positive, default=4, help="sampled, of each level; %(default)s")
    parser.add_argument("--episodes", type=positive, default=16, help="of a sampled mission; %(default)s")
    parser.add_argument("--groups", type=positive, default=12, help="of each family and level; %(default)s")
    parser.add_argument("--oracle", type=positive, default=2, help="missions of each level; %(default)s")
    parser.add_argument(
        "--budget", type=positive, default=oracle.BUDGET, help="flights of a mission; %(default)s"
    )
    return Options(**vars(parser.parse_args()))


def main() -> None:
    """Run the parts on all cores; print the tables, and write the figure if it is whole."""
    chosen, console = options(), Console()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        whole = gathered(PARTS[part](pool, chosen) for part in chosen.parts)
    console.print(*tables(whole))
    if set(chosen.parts) != set(PARTS):
        return
    note = (
        f"missions: pairs from {diagnosability.FIRST_SEED}, fresh and oracle from {success.FRESH_SEED}, "
        f"acceptance from {success.ACCEPTANCE_SEED}, groups from {success.GROUP_SEED}"
    )
    path = figures.write("instruments.json", "make instruments", note, head(whole["families"]) | whole)
    console.print(f"written to {path}")


if __name__ == "__main__":
    main()
