"""An episode is its mission, its episode seed and its commands, and nothing else."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from orbital_ops_env.client.render import render
from orbital_ops_env.commands import AnyCommand, Check, Coast, Detumble, Fire, SafeMode, Slew
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server.episode import Episode

COMMANDS: tuple[AnyCommand, ...] = (
    Check(subsystem="thrusters"),
    Detumble(rate_deg_s=0.5),
    Fire(axis="-y", on_time_s=5),
    Slew(target="nadir", rate_deg_s=2),
    Slew(target="nowhere", rate_deg_s=2),
    Check(subsystem="tank"),
    Coast(duration_s=30),
    SafeMode(duration_s=300),
)


@dataclass(frozen=True)
class Mission:
    family: str
    level: int
    seed: int = 3
    episode_seed: int = 8

    @property
    def options(self) -> dict[str, Any]:
        return vars(self)

    @property
    def spec(self) -> MissionSpec:
        return generate(self.family, self.level, self.seed)


MISSIONS = [Mission(family, level) for family in FAMILIES for level in (0, 9)]


def fly_here(mission: Mission, frame: Callable[..., str]) -> Iterator[str]:
    episode = Episode(mission.spec, mission.episode_seed)
    yield frame(episode.observation)
    for command in COMMANDS:
        if episode.outcome != "ongoing":
            return
        yield frame(episode.step(command))


def fly_there(mission: Mission, session: Any, length: int) -> Iterator[str]:
    yield session.reset(**mission.options)
    for command in COMMANDS[: length - 1]:
        yield session.step(command)


def in_turn(flights: list[Iterator[str]], turns: int) -> list[list[str]]:
    """The frames of flights that are stepped one after another, turn by turn."""
    flown = [[next(flight, None) for flight in flights] for _ in range(turns)]
    return [[sent for sent in flight if sent is not None] for flight in zip(*flown, strict=True)]


@pytest.fixture(scope="module")
def alone(frame: Callable[..., str]) -> list[list[str]]:
    """The frames of each mission, flown in this process."""
    return [list(fly_here(mission, frame)) for mission in MISSIONS]


@pytest.mark.parametrize("n", range(len(MISSIONS)), ids=[str(mission) for mission in MISSIONS])
def test_two_servers_and_no_server_give_the_same_bytes(
    servers: tuple[str, str], open_session, alone: list[list[str]], n: int
) -> None:
    assert len(alone[n]) > 3
    for url in servers:
        assert list(fly_there(MISSIONS[n], open_session(url), len(alone[n]))) == alone[n]


def test_a_later_episode_of_a_session_is_as_good_as_the_first(
    url: str, open_session, alone: list[list[str]]
) -> None:
    session = open_session(url)
    for n in (0, -1, 0):
        assert list(fly_there(MISSIONS[n], session, len(alone[n]))) == alone[n]


def test_sessions_stepped_in_turn_fly_as_if_alone(url: str, open_session, alone: list[list[str]]) -> None:
    lengths = [len(frames) for frames in alone]
    together = [
        fly_there(mission, open_session(url), length)
        for mission, length in zip(MISSIONS, lengths, strict=True)
    ]
    assert in_turn(together, max(lengths)) == alone


def test_episodes_stepped_in_turn_in_one_process_fly_as_if_alone(frame, alone: list[list[str]]) -> None:
    together = [fly_here(mission, frame) for mission in MISSIONS]
    assert in_turn(together, max(len(frames) for frames in alone)) == alone


@pytest.mark.parametrize("mission", MISSIONS, ids=str)
def test_the_episode_seed_draws_noise_and_not_the_mission(mission: Mission) -> None:
    one, other = (Episode(mission.spec, episode_seed=seed).observation for seed in (1, 2))
    assert one.brief == other.brief
    assert one.telemetry != other.telemetry


@pytest.mark.parametrize("level", [0, 4, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_different_seeds_give_different_missions(family: str, level: int) -> None:
    specs = [generate(family, level, seed) for seed in range(30)]
    assert len({spec.content_hash for spec in specs}) == len(specs)
    assert len({spec.model_copy(update={"seed": 0}).content_hash for spec in specs}) == len(specs)


@pytest.mark.parametrize("level", [0, 4, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_different_seeds_give_different_first_texts(family: str, level: int) -> None:
    texts = {render(Episode(generate(family, level, seed), 0).observation) for seed in range(8)}
    assert len(texts) == 8


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_mission_survives_its_json(family: str, level: int) -> None:
    spec = generate(family, level, seed=5)
    for text in (spec.canonical_json, spec.model_dump_json()):
        again = MissionSpec.model_validate_json(text)
        assert again == spec
        assert again.canonical_json == spec.canonical_json
        assert again.content_hash == spec.content_hash


def test_content_hashes_do_not_depend_on_the_process() -> None:
    script = (
        "from orbital_ops_env.missions.catalog import FAMILIES, generate\n"
        "for family in sorted(FAMILIES):\n"
        "    for level in range(10):\n"
        "        print(generate(family, level, 7).content_hash)\n"
    )
    hashes = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert hashes[0] == hashes[1]
    here = [generate(f, level, 7).content_hash for f in sorted(FAMILIES) for level in range(10)]
    assert hashes[0].split() == here
