"""`make evaluate POLICY=reference`: fly a policy on fresh missions, on all cores, and rank it.

    make evaluate POLICY=rules ARGS='--families retarget-v0 --levels 0 4 9 --missions 100 --episodes 4'
    make evaluate POLICY=my.module:MyPolicy WIRE=1
    make evaluate POLICY=my.module:MyPolicy ARGS='--split test'

Without the wire unless `WIRE=1` puts a server in between; both give the same rows. Each episode is a JSON
line in `outputs/evaluate/<policy>.jsonl`, which a new evaluation of the policy replaces once it is whole, and
`leaderboard.md` there ranks all policies on the same levels of this very environment. With `--split` every
task of a split is flown, on the episode that it is scored on, and both files are in a folder of the split's
name. A new policy is one class: the class `MyPolicy` in `policies/my_policy.py`, or `package.module:Class`
from a folder on PYTHONPATH.
"""

import argparse
import functools
import hashlib
import json
import multiprocessing
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from rich.progress import track

from orbital_ops_env.client import (
    OrbitalOpsAction,
    OrbitalOpsEnv,
    OrbitalOpsObservation,
    PolicyView,
    view,
)
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies import Policy
from orbital_ops_env.server.flight import fly
from orbital_ops_env.studies import figures
from orbital_ops_env.training.results import interval, wilson
from orbital_ops_env.training.server import local_server

OUTPUT: Final = Path("outputs/evaluate")
LEADERBOARD: Final = "leaderboard.md"
FIRST_SEED: Final = 40_000
"""Missions from here on, which no other study flies."""
MISSIONS, EPISODES = 20, 1
"""[-] missions of each family and level, and episodes of each."""
EPISODE_STRIDE: Final = 1_000_003
"""Between the seeds of two episodes of one mission."""
HELD: Final = ("commands.py", "models.py", "sim", "missions", "rewards", "server")
"""Sources that decide the numbers of an episode."""
COMPUTING: Final = ("bsk", "numba", "numpy")
"""Libraries that do."""
HEAD: Final = (
    "| policy | family | levels | missions | episodes | success | return | turns | gas [g] |",
    "|---|---|---|---|---|---|---|---|---|",
)
Row = dict[str, Any]
"""One episode, as it is written."""


@dataclass(frozen=True)
class Job:
    """One episode to fly."""

    policy: str
    family: str
    level: int
    seed: int
    episode_seed: int
    url: str | None = None
    """A server to fly it on; None for none in between."""
    split: str | None = None
    index: int = 0
    """The task, if it is one of a split."""

    @property
    def spec(self) -> MissionSpec:
        """The mission."""
        if self.split:
            return splits.task(self.split, self.index).spec
        return generate(self.family, self.level, self.seed)

    @property
    def options(self) -> dict[str, Any]:
        """Of `reset`."""
        if self.split:
            return {"split": self.split, "index": self.index, "episode_seed": self.episode_seed}
        mission = {"family": self.family, "level": self.level, "seed": self.seed}
        return mission | {"episode_seed": self.episode_seed}


def resolve(name: str) -> Policy:
    """The policy of a name, `rules` or `package.module:Class`.

    Raises:
        ValueError: There is none; the message says what was looked for.
    """
    camel = "".join(part.title() for part in name.split("_"))
    path = name if ":" in name else f"orbital_ops_env.policies.{name}:{camel}"
    try:
        policy = pkgutil.resolve_name(path)()
        _ = policy.begin, policy.act, policy.rationale
        return policy
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ValueError(
            f"no policy {name!r}: expected a module of policies/ or package.module:Class ({error})"
        ) from error


@functools.cache
def environment_hash() -> str:
    """SHA-256 of the sources that decide an episode's numbers, and what computes them; hexadecimal."""
    return source_hash(HELD)


def source_hash(sources: Iterable[str]) -> str:
    """SHA-256 of files and of folders' modules, with the versions of `COMPUTING`; hexadecimal."""
    versions = figures.versions()
    digest = hashlib.sha256(" ".join(versions[name] for name in COMPUTING).encode())
    for held in sources:
        path = figures.ROOT / held
        for source in [path] if path.is_file() else sorted(path.glob("*.py")):
            digest.update(source.relative_to(figures.ROOT).as_posix().encode() + source.read_bytes())
    return digest.hexdigest()


def jobs(
    policy: str, families: Sequence[str], levels: Sequence[int], missions: int, episodes: int
) -> list[Job]:
    """Every episode of an evaluation: missions of each family and level, episodes of each mission."""
    return [
        Job(policy, family, level, seed, seed + EPISODE_STRIDE * episode)
        for family in dict.fromkeys(families)
        for level in dict.fromkeys(levels)
        for seed in range(FIRST_SEED, FIRST_SEED + missions)
        for episode in range(episodes)
    ]


def tasks(policy: str, split: str, families: Sequence[str], levels: Sequence[int]) -> list[Job]:
    """The tasks of a split that are of some families and levels.

    Raises:
        ValueError: There are none.
    """
    told: list[Job] = []
    for index in range(splits.num_tasks(split)):
        spec, episode_seed = (task := splits.task(split, index)).spec, task.episode_seed
        if spec.family in families and spec.level in levels:
            job = Job(policy, spec.family, spec.level, spec.seed, episode_seed, split=split, index=index)
            told.append(job)
    if not told:
        known = sorted({splits.cell(split, index)[0] for index in range(splits.num_tasks(split))})
        raise ValueError(
            f"{split} has no task of {', '.join(families)} at these levels: it has {', '.join(known)}"
        )
    return told


def flown(job: Job) -> Row:
    """Fly a job; what goes wrong says in which."""
    try:
        return _over_the_wire(job, job.url) if job.url else _in_process(job)
    except Exception as error:
        error.add_note(
            f"{job.policy} on {job.family} level={job.level} seed={job.seed} episode_seed={job.episode_seed}"
        )
        raise


def _in_process(job: Job) -> Row:
    spec = job.spec
    flight = fly(spec, resolve(job.policy), job.episode_seed)
    return _row(
        job,
        spec.content_hash,
        flight.commands,
        flight.rationales,
        flight.views,
        flight.outcome,
        flight.components,
    )


def _over_the_wire(job: Job, url: str) -> Row:
    policy, commands, rationales = resolve(job.policy), list[AnyCommand](), list[str]()
    policy.begin(job.seed)
    with cast(Any, OrbitalOpsEnv(url).sync()) as env:  # pyright: ignore
        told: OrbitalOpsObservation = env.reset(**job.options).observation
        views = [view(told)]
        while not told.done:
            commands.append(policy.act(views[-1]))
            rationales.append(policy.rationale)
            told = env.step(OrbitalOpsAction(command=commands[-1])).observation
            views.append(view(told, views[-1]))
        spec_hash = str(env.state().spec_hash)
    return _row(job, spec_hash, commands, rationales, views, told.outcome, told.components)


def _row(
    job: Job,
    spec_hash: str,
    commands: Iterable[AnyCommand],
    rationales: Iterable[str],
    views: Sequence[PolicyView],
    outcome: str,
    components: dict[str, float],
) -> Row:
    sent = [command.model_dump(mode="json") for command in commands]
    before, after = (each.telemetry.propellant_g for each in (views[0], views[-1]))
    return {
        "policy": job.policy,
        "split": job.split,
        "index": job.index if job.split else None,
        "family": job.family,
        "level": job.level,
        "seed": job.seed,
        "episode_seed": job.episode_seed,
        "spec_hash": spec_hash,
        "environment_hash": environment_hash(),
        "outcome": outcome,
        "success": outcome == "succeeded",
        "return": components["reward/overall"],
        "components": components,
        "turns": len(sent),
        "gas_g": round(before - after, 2),
        "commands": sent,
        "rationales": list(rationales),
    }


def evaluate(todo: Sequence[Job], path: Path) -> None:
    """Fly jobs on all cores, with a progress bar.

    Each row goes into `<path>.part` as it comes, which becomes the file once it is whole; what stood there
    before is kept until then.
    """
    part = path.with_name(f"{path.name}.part")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=spawn) as pool, part.open("w") as file:
        rows = pool.map(flown, todo, chunksize=4)
        for row in track(rows, todo[0].policy, total=len(todo)):
            file.write(json.dumps(row) + "\n")
            file.flush()
    part.replace(path)


def leaderboard(rows: Iterable[Row]) -> str:
    """Policies by family and levels, best first, in Markdown; then those that flew every family, over all.

    Intervals are of 95 %: bootstraps over missions, and Wilson's for success where each is flown once.
    """
    boards: dict[tuple[str, str], list[Row]] = {}
    by_policy: dict[str, list[Row]] = {}
    for row in rows:
        boards.setdefault((f"`{row['family']}`", row["policy"]), []).append(row)
        by_policy.setdefault(row["policy"], []).append(row)
    families = {row["family"] for flights in by_policy.values() for row in flights}
    for policy, flights in by_policy.items():
        if len(families) > 1 and {row["family"] for row in flights} == families:
            boards[f"all {len(families)}", policy] = flights

    def rank(item: tuple[tuple[str, str], list[Row]]) -> tuple[str, str, float, str]:
        (family, policy), flights = item
        return family, _levels(flights), -_mean(flights, "success"), policy

    lines = [_line(policy, family, flights) for (family, policy), flights in sorted(boards.items(), key=rank)]
    return "\n".join((*HEAD, *lines))


def _levels(rows: Sequence[Row]) -> str:
    return " ".join(str(level) for level in sorted({row["level"] for row in rows}))


def _line(policy: str, family: str, rows: Sequence[Row]) -> str:
    missions = {_mission(row) for row in rows}
    rates = (f"{_mean(rows, key):.2f} {_interval(rows, key)}" for key in ("success", "return"))
    means = (f"{_mean(rows, key):.1f}" for key in ("turns", "gas_g"))
    cells = (f"`{policy}`", family, _levels(rows), str(len(missions)), str(len(rows)), *rates, *means)
    return f"| {' | '.join(cells)} |"


def _mean(rows: Sequence[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _interval(rows: Sequence[Row], key: str) -> str:
    by_mission: dict[tuple[str, int, int], list[float]] = {}
    for row in rows:
        by_mission.setdefault(_mission(row), []).append(float(row[key]))
    if key == "success" and len(by_mission) == len(rows):
        low, high = wilson(sum(row[key] for row in rows), len(rows))
    else:
        low, high = interval([float(np.mean(values)) for values in by_mission.values()])
    return f"[{low:.2f}, {high:.2f}]"


def _mission(row: Row) -> tuple[str, int, int]:
    return row["family"], row["level"], row["seed"]


def read(folder: Path) -> list[Row]:
    """The rows of every policy in a folder that were flown in this environment, as its hash says.

    Raises:
        ValueError: A line that is no row; the message says where.
    """
    rows: list[Row] = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                row = json.loads(line)
                mine = row["environment_hash"] == environment_hash()
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path} line {number} is no row of an evaluation: remove it") from error
            rows += [row] if mine else []
    return rows


def positive(text: str) -> int:
    """A number of at least 1 from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _todo(chosen: argparse.Namespace) -> list[Job]:
    if chosen.split:
        return tasks(chosen.policy, chosen.split, chosen.families, chosen.levels)
    counts = (chosen.missions or MISSIONS, chosen.episodes or EPISODES)
    return jobs(chosen.policy, chosen.families, chosen.levels, *counts)


def main() -> int:
    """Evaluate one policy; the exit status."""
    parser = argparse.ArgumentParser(
        prog="evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", help="name in policies/, or package.module:Class")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--levels", nargs="+", type=int, default=list(range(10)), choices=range(10))
    parser.add_argument("--split", choices=splits.FROZEN_SPLITS, help="its tasks instead of fresh missions")
    parser.add_argument("--missions", type=positive, help=f"of each family and level; {MISSIONS}")
    parser.add_argument("--episodes", type=positive, help=f"of each mission; {EPISODES}")
    parser.add_argument("--wire", action="store_true", help="through a server of its own")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder; %(default)s")
    chosen = parser.parse_args()
    if chosen.split and (chosen.missions or chosen.episodes):
        parser.error(f"{chosen.split} has its own missions and episodes: leave --missions and --episodes out")
    try:
        resolve(chosen.policy)
        todo = _todo(chosen)
        chosen.output /= chosen.split or ""
        chosen.output.mkdir(parents=True, exist_ok=True)
        read(chosen.output)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    path = chosen.output / f"{chosen.policy.replace(':', '.')}.jsonl"
    with local_server() if chosen.wire else nullcontext() as url:
        evaluate([replace(job, url=url) for job in todo], path)
    board = leaderboard(read(chosen.output))
    (chosen.output / LEADERBOARD).write_text(board + "\n")
    print(f"{board}\n\n{path}\n{chosen.output / LEADERBOARD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
