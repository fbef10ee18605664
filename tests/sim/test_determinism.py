"""The same start, seed and commands give the same bytes: again, elsewhere and on two threads."""

import os
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orbital_ops_env.commands import Coast, Detumble
from orbital_ops_env.sim.plant import Plant

Build = Callable[..., Plant]
SCRIPT = Path(__file__).with_name("flown_digest.py")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT), run_name="flown_digest")


@pytest.fixture(scope="module")
def flown(script: dict[str, Any]) -> str:
    """What seed 7 gave first."""
    return script["fly"](7)


def test_a_second_flight_in_this_process_gives_the_same_bytes(script: dict[str, Any], flown: str) -> None:
    assert script["fly"](7) == flown


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_a_fresh_process_gives_the_same_bytes_and_never_asks_the_network(flown: str, hash_seed: str) -> None:
    process = subprocess.run(
        [sys.executable, str(SCRIPT), "7"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == f"{flown}\n[]\n"
    assert process.stderr == ""


def test_another_episode_seed_gives_another_flight(script: dict[str, Any], flown: str) -> None:
    others = [script["fly"](seed).splitlines() for seed in (8, 7 + 2**31)]
    for rows in zip(flown.splitlines(), *others, strict=True):
        assert len(set(rows)) == len(rows)


def test_two_threads_with_a_plant_each_fly_as_one_after_the_other(script: dict[str, Any], flown: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(script["fly"], (7, 8, 7, 8))) == [flown, script["fly"](8)] * 2


def test_two_plants_stepped_in_turn_never_influence_each_other(script: dict[str, Any], build: Build) -> None:
    commands = (Detumble(rate_deg_s=0.2), Coast(duration_s=30.0), Coast(duration_s=60.0))
    spin = (1.0, -1.0, 2.0)
    alone = build(omega_deg_s=spin)
    expected = [script["digest"](alone.execute(command)) for command in commands]
    one, other = build(omega_deg_s=spin), build(omega_deg_s=(0.0, 3.0, 0.0), seed=9)
    for command, digest in zip(commands, expected, strict=True):
        other.execute(command)
        assert script["digest"](one.execute(command)) == digest


def test_a_plant_may_be_flown_from_another_thread_than_its_builder(
    script: dict[str, Any], build: Build
) -> None:
    plant, same = build(), build()
    with ThreadPoolExecutor(1) as pool:
        elsewhere = pool.submit(plant.execute, Coast(duration_s=30.0)).result()
    here = same.execute(Coast(duration_s=30.0))
    assert script["digest"](elsewhere) == script["digest"](here)


def test_thirty_plants_leave_no_thread_behind(build: Build) -> None:
    def os_threads() -> int:
        return len(os.listdir("/proc/self/task"))

    build().execute(Coast(duration_s=30.0))
    before = os_threads(), threading.active_count()
    for seed in range(30):
        build(seed=seed).execute(Detumble(rate_deg_s=0.5))
    assert threading.active_count() == before[1]
    ended_by = time.monotonic() + 10.0
    while os_threads() > before[0] and time.monotonic() < ended_by:
        time.sleep(0.01)  # the kernel lists a joined thread a moment longer
    assert os_threads() <= before[0]
