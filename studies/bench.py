"""`make bench`: what the environment costs over raw Basilisk, and what a server carries.

Every ratio comes from pairs measured in turn within this run, so that other work on the machine
meets both sides. The server is a process of its own; resets and steps are timed from this process,
one request at a time: resets with the blocking client, steps with the asyncio one. `two_core_scaling`
compares two sessions that fly at once, from two threads of this process, with the same two flown one
after the other; a flight is so long (`LONG_S`) that the client costs next to nothing. The load comes
from asyncio clients in one further process. Nothing is pinned to a core: clients and server share what
there is.
"""

import argparse
import asyncio
import multiprocessing
import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, cast

import numpy as np
from openenv.core import SyncEnvClient
from rich.console import Console
from rich.table import Table

from orbital_ops_env.client import (
    OrbitalOpsAction,
    OrbitalOpsEnv,
    OrbitalOpsObservation,
    OrbitalOpsState,
)
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.catalog import SHORT_FAMILIES, generate
from orbital_ops_env.models import Outcome
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.raw_basilisk import (
    Course,
    RawFlight,
    build_s,
    coast,
    find_course,
    hold,
    serving,
)

SERVER, BARE = "orbital_ops_env.server.app", "orbital_ops_env.studies.raw_basilisk"
STEP_S, LONG_S = 30.0, 300.0
"""[s] flight of a step, and of a step of `two_core_scaling`."""
RESET_LEVELS: Final = (0, 4, 9)
PATIENCE_S: Final = 600.0
"""[s] what a client under load waits for an answer."""
TARGETS: Final = {"reset_ratio": "≤ 2", "step_ratio": "≤ 1.5", "two_core_scaling": "≥ 1.6"}
Session = SyncEnvClient[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]
Times = list[tuple[float, ...]]
"""[s] wall times of raw Basilisk, of `Plant` and through the wire; one row for each round."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Args:
        resets: Missions of each family and level.
        episodes: Episodes of each kind of step.
        steps: Steps of an episode, under load too.
        pairs: Rounds of `two_core_scaling`.
        ours: Episodes of each session under load, by number of sessions.
        bare: The same for the bare framework.
    """

    resets: int
    episodes: int
    steps: int
    pairs: int
    ours: dict[int, int]
    bare: dict[int, int]


FULL: Final = Effort(8, 6, 10, 24, {1: 12, 16: 3, 64: 2, 256: 1}, {1: 200, 64: 16})
QUICK: Final = Effort(1, 1, 2, 2, {1: 1, 2: 1, 4: 1}, {2: 2})


@dataclass(frozen=True)
class Load:
    """What sessions got that stepped at once."""

    steps_per_s: float
    p50_ms: float
    p99_ms: float
    rss_mb: float
    """[MB] resident memory of the server with the sessions open."""


def wall_s(call: Callable[[], object]) -> float:
    """[s] wall time of a call."""
    began = perf_counter()
    call()
    return perf_counter() - began


def session(url: str) -> Session:
    """A session with the blocking client."""
    return cast(Session, OrbitalOpsEnv(url).sync())  # pyright: ignore[reportUnknownMemberType]


def in_turn(turn: int, contenders: Sequence[Callable[[], float]]) -> tuple[float, ...]:
    """[s] what each contender returns, in their order; who goes first changes with the turn."""
    took = [0.0] * len(contenders)
    for place in range(len(contenders)):
        number = (turn + place) % len(contenders)
        took[number] = contenders[number]()
    return tuple(took)


def time_resets(url: str, missions: int) -> dict[str, Times]:
    """Resets on an open session, each to a mission not seen before, by family and level."""
    times: dict[str, Times] = {}
    with session(url) as env:
        env.reset()
        for seed in range(1, missions + 1):
            for family, level in product(SHORT_FAMILIES, RESET_LEVELS):
                spec = generate(family, level, seed)
                contenders = (
                    partial(build_s, spec, seed),
                    partial(wall_s, partial(Plant, spec.start, dict(spec.targets), seed)),
                    partial(wall_s, partial(env.reset, family=family, level=level, seed=seed)),
                )
                times.setdefault(f"{family}.{level}", []).append(in_turn(seed, contenders))
    return times


def time_steps(url: str, course: Course, episodes: int) -> Times:
    """A course flown by raw Basilisk, by `Plant` and through the wire in turn.

    Raises:
        RuntimeError: They did not fly the same.
    """
    times, env = Times(), OrbitalOpsEnv(url)

    async def begin() -> None:
        await env.reset(**course.reset)
        for command in course.prelude:
            await fly(command)

    async def fly(command: AnyCommand) -> None:
        await env.step(OrbitalOpsAction(command=command))

    async def outcome() -> Outcome | None:
        return (await env.state()).outcome

    async def close() -> None:
        await env.close()

    with asyncio.Runner() as runner:
        for _ in range(episodes):
            raw, plant = RawFlight(course), course.plant()
            runner.run(begin())
            contenders = (
                raw.fly_s,
                partial(wall_s, partial(plant.execute, course.command)),
                partial(wall_s, lambda: runner.get_loop().run_until_complete(fly(course.command))),
            )
            times += [in_turn(turn, contenders) for turn in range(course.repeats)]
            if not raw.ended_at(plant.snapshot) or runner.run(outcome()) != "ongoing":
                raise RuntimeError(f"raw, plant and wire did not fly {course.command!r} alike")
        runner.run(close())
    return times


def gain(prepare: Callable[[], Sequence[Callable[[], object]]]) -> float:
    """[-] throughput of prepared calls all at once over one after the other."""
    alone = sum(wall_s(call) for call in prepare())
    calls = prepare()
    with ThreadPoolExecutor(len(calls)) as threads:
        together = wall_s(lambda: wait([threads.submit(call) for call in calls]))
    return alone / together


def time_pairs(url: str, course: Course, rounds: int) -> tuple[list[float], list[float]]:
    """[-] gains of two sessions at once, through the wire and of raw Basilisk, in turn."""
    action, wire, raw = OrbitalOpsAction(command=course.command), list[float](), list[float]()
    with session(url) as one, session(url) as other:

        def reset() -> list[Callable[[], object]]:
            for env in (one, other):
                env.reset(**course.reset)
            return [partial(env.step, action) for env in (one, other)]

        for _ in range(rounds):
            wire.append(gain(reset))
            raw.append(gain(lambda: [RawFlight(course).fly_s for _ in range(2)]))
    return wire, raw


async def _fly(env: OrbitalOpsEnv, course: Course) -> list[float]:
    """[s] wall time of each step of a course without prelude."""
    action, latencies = OrbitalOpsAction(command=course.command), list[float]()
    for _ in range(course.repeats):
        began = perf_counter()
        await env.step(action)
        latencies.append(perf_counter() - began)
    return latencies


async def _load(url: str, course: Course, sessions: int, episodes: int, server: int) -> Load:
    envs = [OrbitalOpsEnv(url, message_timeout_s=PATIENCE_S) for _ in range(sessions)]
    latencies, took = list[float](), 0.0
    try:
        await asyncio.gather(*(env.connect() for env in envs))
        for _ in range(episodes):
            await asyncio.gather(*(env.reset(**course.reset) for env in envs))
            began = perf_counter()
            for steps in await asyncio.gather(*(_fly(env, course) for env in envs)):
                latencies += steps
            took += perf_counter() - began
        p50, p99 = (1e3 * float(p) for p in np.percentile(latencies, (50, 99)))
        return Load(len(latencies) / took, p50, p99, resident_mb(server))
    finally:
        await asyncio.gather(*(env.close() for env in envs))


def load(url: str, course: Course, sessions: int, episodes: int, server: int) -> Load:
    """Sessions that step at once, as asyncio clients of this process; resets are not timed.

    Args:
        url: The server's address.
        course: What each flies; without prelude.
        sessions: How many.
        episodes: How often each flies it.
        server: The server's process id.
    """
    return asyncio.run(_load(url, course, sessions, episodes, server))


def resident_mb(pid: int) -> float:
    """[MB] resident memory of a process, as Linux counts it."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def loads(module: str, course: Course, counts: dict[int, int]) -> dict[int, Load]:
    """Loads on a fresh server, by number of sessions."""
    spawn = multiprocessing.get_context("spawn")
    with serving(module) as (url, pid), ProcessPoolExecutor(1, spawn) as clients:
        return {
            sessions: clients.submit(load, url, course, sessions, episodes, pid).result()
            for sessions, episodes in counts.items()
        }


def summary(times: Times) -> dict[str, float]:
    """Medians of the wall times, and of the ratios of each round."""
    raw, plant, wire = (1e3 * median(row[n] for row in times) for n in range(3))
    return {
        "raw_ms": raw,
        "plant_ms": plant,
        "wire_ms": wire,
        "plant_ratio": median(row[1] / row[0] for row in times),
        "wire_ratio": median(row[2] / row[0] for row in times),
        "rounds": len(times),
    }


def measure(effort: Effort) -> dict[str, Any]:
    """The figures of a run."""
    cores, busy = os.cpu_count() or 1, os.getloadavg()[0]
    coasting = find_course(coast, STEP_S, effort.steps)
    holding = find_course(hold, STEP_S, effort.steps)
    long = find_course(coast, LONG_S, 1)
    with serving(SERVER) as (url, _):
        resets = time_resets(url, effort.resets)
        steps = {
            "coast": summary(time_steps(url, coasting, effort.episodes)),
            "hold": summary(time_steps(url, holding, effort.episodes)),
        }
        wire_gains, raw_gains = time_pairs(url, long, effort.pairs)
    ours = loads(SERVER, coasting, effort.ours)
    bare = loads(BARE, coasting, effort.bare)
    every_reset = summary([row for times in resets.values() for row in times])
    crowd, most = sorted(ours)[-2:]
    fair_ms = crowd * ours[1].p50_ms / cores
    return {
        "reset_ratio": every_reset["wire_ratio"],
        "step_ratio": max(step["wire_ratio"] for step in steps.values()),
        "two_core_scaling": median(wire_gains),
        "two_core_scaling_raw": median(raw_gains),
        f"p99_over_fair_{crowd}": ours[crowd].p99_ms / fair_ms,
        f"rss_mb_{most}": ours[most].rss_mb,
        "framework_steps_per_s": max(each.steps_per_s for each in bare.values()),
        "steps_per_s": {sessions: each.steps_per_s for sessions, each in ours.items()},
        "reset": {"all": every_reset} | {name: summary(each) for name, each in resets.items()},
        "step": steps,
        "load": {sessions: asdict(each) for sessions, each in ours.items()},
        "framework": {sessions: asdict(each) for sessions, each in bare.items()},
        "missions": {
            "coast": str(coasting.spec),
            "hold": str(holding.spec),
            "pairs": str(long.spec),
        },
        "machine": {"cores": cores, "system": platform.platform(), "load_before": busy},
    }


def tables(measured: dict[str, Any]) -> list[Table]:
    """The figures to read."""
    keys = Table("figure", "value", "target")
    for key, value in measured.items():
        if isinstance(value, float):
            keys.add_row(key, f"{value:.2f}", TARGETS.get(key, ""))
    costs = Table("median, ms", "Basilisk", "Plant", "wire", "Plant, ratio", "wire, ratio")
    for group in ("reset", "step"):
        for name, row in measured[group].items():
            cells = [f"{value:.2f}" for key, value in row.items() if key != "rounds"]
            costs.add_row(f"{group} {name}", *cells)
    crowds = Table("sessions at once", "steps/s", "p50, ms", "p99, ms", "memory, MB")
    for group in ("load", "framework"):
        for sessions, row in measured[group].items():
            crowds.add_row(f"{group} {sessions}", *(f"{value:.1f}" for value in row.values()))
    return [keys, costs, crowds]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="Cost over raw Basilisk; load of a server.")
    parser.add_argument("--quick", action="store_true", help="tiny counts, writes nothing")
    effort = QUICK if parser.parse_args().quick else FULL
    measured = measure(effort)
    for table in tables(measured):
        Console().print(table)
    if effort is FULL:
        seeds = f"1 to {effort.resets} for resets; missions and their episodes as named"
        Console().print(f"written to {figures.write('bench.json', 'make bench', seeds, measured)}")


if __name__ == "__main__":
    main()
