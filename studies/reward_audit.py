"""`make reward-audit`: what the reward pays to policies that are after it, and what it pays for ability.

    zoo       every policy of `studies/zoo.py` on fresh missions: the red team, abilities by degrees, a reader
    groups    groups of eight noisy flights of one episode: do their returns differ?
    scripts   the best open-loop scripts that a search finds (`studies/open_loop.py`)

The figure's head holds the worst family of each number (`studies/audit_figure.py`). A run with any option
prints its tables and writes nothing.
"""

import argparse
import itertools
import multiprocessing
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.policies.noisy import Noisy
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.studies import figures, open_loop, reward_page, reward_plot
from orbital_ops_env.studies.audit_figure import Audit, Group, Row, Spread
from orbital_ops_env.studies.evaluate import positive
from orbital_ops_env.studies.instruments import fly_all
from orbital_ops_env.studies.success import GROUP, GROUP_LEVELS, Job
from orbital_ops_env.studies.zoo import BLIND, ZOO, noise_seed

FIRST_SEED: Final = 50_000
"""Missions of the zoo from here on, which no other study flies,"""
GROUP_SEED: Final = 52_000
"""and of the groups from here on."""
NOISES: Final = (0.1, 0.3, 0.5)
"""[-] shares of random commands in the groups."""
OPTIONAL: Final = ("groups", "scripts")
"""Parts that can be left out."""


def jobs(policies: Iterable[str], families: Sequence[str], levels: Sequence[int], missions: int) -> list[Job]:
    """Every policy on missions of every family and level."""
    seeds = range(FIRST_SEED, FIRST_SEED + missions)
    return [Job(*cell) for cell in itertools.product(policies, families, levels, seeds)]


def flown(job: Job) -> Row:
    """Fly a job."""
    spec = generate(job.family, job.level, job.seed)
    flight = fly(spec, ZOO[job.policy](spec), job.seed)
    return Row(job.policy, job.family, job.level, flight.succeeded, flight.return_, job.seed, _steps(flight))


def _steps(flight: Flight) -> tuple[tuple[str, float], ...]:
    names = (command.command for command in flight.commands)
    return tuple(zip(names, flight.rewards, strict=True))


def groups(families: Sequence[str], levels: Sequence[int], wanted: int) -> list[Group]:
    """Groups of every family, level and noise."""
    seeds = range(GROUP_SEED, GROUP_SEED + wanted)
    return [Group(*cell) for cell in itertools.product(families, levels, seeds, NOISES)]


def spread(group: Group) -> Spread:
    """Fly a group."""
    spec = generate(group.family, group.level, group.seed)
    seeds = (noise_seed(spec, member) for member in range(GROUP))
    flights = [fly(spec, Noisy(group.noise, seed), group.seed) for seed in seeds]
    return Spread(group, tuple(f.succeeded for f in flights), tuple(f.return_ for f in flights))


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="reward_audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--without", nargs="+", default=[], choices=OPTIONAL, help="parts to leave out")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--levels", nargs="+", type=int, default=list(LEVELS), choices=LEVELS)
    parser.add_argument("--missions", type=positive, default=5, help="of each family and level; %(default)s")
    parser.add_argument("--blind", type=positive, default=8, help="the same of blind policies; %(default)s")
    parser.add_argument(
        "--groups", type=positive, default=4, help="of each family, level and noise; %(default)s"
    )
    return parser.parse_args()


def run(pool: ProcessPoolExecutor, chosen: argparse.Namespace) -> Audit:
    """Fly what was asked for."""
    families, levels = list(dict.fromkeys(chosen.families)), list(dict.fromkeys(chosen.levels))
    searches = [open_loop.Search(*cell) for cell in itertools.product(families, open_loop.LEVELS)]
    scripts = [] if "scripts" in chosen.without else fly_all(pool, open_loop.found, searches, "scripts")
    seeing = [name for name in ZOO if name not in BLIND]
    zoo = jobs(BLIND, families, levels, chosen.blind) + jobs(seeing, families, levels, chosen.missions)
    rows = fly_all(pool, flown, zoo, "zoo")
    todo = [] if "groups" in chosen.without else groups(families, GROUP_LEVELS, chosen.groups)
    return Audit(rows, fly_all(pool, spread, todo, "groups"), scripts)


def main() -> None:
    """Run the audit on all cores; print the tables, and write figure, page and plot unless it has options."""
    chosen = options()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        whole = run(pool, chosen).figure()
    print(reward_page.audit_page(whole))
    if sys.argv[1:]:
        return
    note = (
        f"missions: zoo from {FIRST_SEED}, groups from {GROUP_SEED}, scripts trained from "
        f"{open_loop.TRAINING_SEED} and told from {open_loop.FRESH_SEED}"
    )
    path = figures.write("reward_audit.json", "make reward-audit", note, whole)
    reward_page.AUDIT.write_text(reward_page.audit_page(whole))
    print(f"written to {path}, {reward_page.AUDIT} and {reward_plot.draw(whole)}")


if __name__ == "__main__":
    main()
