"""The yardsticks of the benchmark: Basilisk without us, and the framework without Basilisk.

The model is the plant's own: `Vehicle` assembles the same modules, parameters, kernels and seeds,
so its construction is the raw build. For the raw flight the plant sets a command up as always
(gains, reference, valves; not timed), and Basilisk then flies it in a single `StepUntilStop`: no
steps of a second, no reading of rows, no limits, no mission. After the flight the craft is where
`Plant.execute` leaves it, bit for bit.

The bare framework (`python -m orbital_ops_env.studies.raw_basilisk`) answers every command with the
same observation, one of ours, to the same client.
"""
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from time import perf_counter, sleep
from typing import Any, Final

import numpy as np
import uvicorn
from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

from orbital_ops_env.commands import AnyCommand, Coast, Hold, Slew
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.directives import Point
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import OrbitalOpsAction, OrbitalOpsObservation
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.kernels import RING_SIZE, ROW
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Snapshot, SpacecraftConfig
from orbital_ops_env.sim.variation import draw_variation
from orbital_ops_env.sim.vehicle import BODY, SECOND_NS, Vehicle

FAMILY, LEVEL = "retarget-v0", 9
"""Of the missions flown: at rest at the start, with the most directives and rules."""
SEEDS: Final = range(300)
"""Missions looked through for one that flies a course in full."""
HOST, CAPACITY = "127.0.0.1", 300
"""Of the servers under test."""
STARTUP_S: Final = 180.0
"""[s] a server that is not healthy by then has failed."""
LAST_WORDS: Final = 2000
"""[-] characters of its log that are shown then."""


def build_s(spec: MissionSpec, episode_seed: int) -> float:
    """[s] wall time of one build of an episode's model; taking it down is not timed."""
    craft = SpacecraftConfig()
    start, variation = draw_variation(spec.start, episode_seed, craft)
    began = perf_counter()
    vehicle = Vehicle(start, variation, craft)
    took = perf_counter() - began
    del vehicle
    return took


@dataclass(frozen=True)
class Course:
    """Commands that a mission flies in full: no limit, window edge or end cuts them short."""

    spec: MissionSpec
    prelude: tuple[AnyCommand, ...]
    command: AnyCommand
    flight_s: float
    """[s] duration of `command`."""
    repeats: int
    """How often `command` follows the prelude."""

    @property
    def reset(self) -> dict[str, Any]:
        """The options of `reset`; the episode seed is the mission's."""
        return {"family": self.spec.family, "level": self.spec.level, "seed": self.spec.seed}

    def plant(self) -> Plant:
        """The craft after the prelude."""
        plant = Plant(self.spec.start, dict(self.spec.targets), self.spec.seed)
        for command in self.prelude:
            plant.execute(command)
        return plant

    def flies(self) -> bool:
        """Whether the mission lets every command fly in full."""
        episode = Episode(self.spec, self.spec.seed)
        for command in self.prelude:
            if episode.step(command).outcome != "ongoing":
                return False
        for _ in range(self.repeats):
            outcome, began = episode.step(self.command).outcome, episode.snapshot.began
            if outcome != "ongoing" or round(episode.snapshot.t - began, 6) != self.flight_s:
                return False
        return True


def coast(spec: MissionSpec, flight_s: float, repeats: int) -> Course:
    """Coasting from the start, valves inhibited."""
    return Course(spec, (), Coast(duration_s=flight_s), flight_s, repeats)


def hold(spec: MissionSpec, flight_s: float, repeats: int) -> Course:
    """Holding the first target of the mission after the turn to it."""
    target = next(d.target for d in spec.directives if isinstance(d, Point))
    command = Hold(target=target, deadband_deg=1.0, duration_s=flight_s)
    return Course(spec, (Slew(target=target, rate_deg_s=1.0),), command, flight_s, repeats)


def find_course(kind: Callable[[MissionSpec, float, int], Course], flight_s: float, repeats: int) -> Course:
    """The course of a kind on the first mission that flies it in full.

    Raises:
        LookupError: No mission of `SEEDS` does.
    """
    for seed in SEEDS:
        course = kind(generate(FAMILY, LEVEL, seed), flight_s, repeats)
        if course.flies():
            return course
    name = f"{kind.__name__} {flight_s:.0f} s {repeats} times"
    raise LookupError(f"{FAMILY} level {LEVEL}: no mission of {SEEDS} flies {name} in full")


class RawFlight:
    """The craft of a course after its prelude, flown by Basilisk alone."""

    def __init__(self, course: Course) -> None:
        self._course, self._plant = course, course.plant()

    def fly_s(self) -> float:
        """[s] wall time of Basilisk over the course's command."""
        plant, vehicle = self._plant, self._plant._vehicle
        vehicle.valves.memory.surplus = np.zeros(3)
        plant._begin(self._course.command)
        end = round((plant.t + self._course.flight_s) * SECOND_NS)
        began = perf_counter()
        vehicle._sim.TotalSim.StepUntilStop(end, BODY)
        took = perf_counter() - began
        plant._row = vehicle._ring[(vehicle.recorder.memory.count - 1) % RING_SIZE].copy()
        plant._finish()
        return took

    def ended_at(self, snapshot: Snapshot) -> bool:
        """Whether the craft is exactly where a snapshot says."""
        row, truth = self._plant._row, snapshot.truth
        return (
            row[ROW["t"]] == snapshot.t
            and row[ROW["true_propellant"]] == truth.propellant_kg[-1]
            and np.array_equal(row[ROW["true_sigma"]], truth.sigma_BN[-1])
            and np.array_equal(row[ROW["true_omega"]], truth.omega_BN_B[-1])
        )


class Nothing(Environment[OrbitalOpsAction, OrbitalOpsObservation, State]):
    """An environment that answers everything with one observation."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, observation: OrbitalOpsObservation) -> None:
        super().__init__()
        self._observation = observation

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> OrbitalOpsObservation:
        """The observation, whatever the options."""
        return self._observation

    def step(
        self, action: OrbitalOpsAction, timeout_s: float | None = None, **kwargs: Any
    ) -> OrbitalOpsObservation:
        """The observation, whatever the command."""
        return self._observation

    @property
    def state(self) -> State:
        """An empty state."""
        return State()


def serve_nothing(port: int) -> None:
    """Serve the bare framework until stopped."""
    observation = Episode(generate(FAMILY, LEVEL, 0), 0).step(Coast(duration_s=30.0))
    make = partial(Nothing, observation)
    app = create_app(make, OrbitalOpsAction, OrbitalOpsObservation, max_concurrent_envs=CAPACITY)
    uvicorn.run(app, host=HOST, port=port)


@contextmanager
def serving(module: str) -> Generator[tuple[str, int]]:
    """A server in a process of its own: its address and process id.

    Raises:
        RuntimeError: It stopped or was silent for `STARTUP_S`; the end of its log is shown.
    """
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    settings = {"HOST": HOST, "PORT": str(port), "MAX_CONCURRENT_ENVS": str(CAPACITY)}
    address, command = f"http://{HOST}:{port}", [sys.executable, "-m", module]
    with TemporaryFile() as log:
        server = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
        try:
            if not _answers(f"{address}/health", server):
                log.seek(0)
                words = log.read().decode(errors="replace")[-LAST_WORDS:]
                raise RuntimeError(f"{module} stopped, or was silent for {STARTUP_S:.0f} s:\n{words}")
            yield address, server.pid
        finally:
            server.terminate()
            server.wait()


def _answers(health: str, server: "subprocess.Popen[bytes]") -> bool:
    deadline = perf_counter() + STARTUP_S
    while server.poll() is None and perf_counter() < deadline:
        try:
            with urllib.request.urlopen(health, timeout=5):
                return True
        except OSError:
            sleep(0.1)
    return False


if __name__ == "__main__":
    serve_nothing(int(os.environ["PORT"]))
