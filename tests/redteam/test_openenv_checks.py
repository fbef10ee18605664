"""The checks that OpenEnv's validation policy names and cannot run yet, each under its name.

Those that want the red team's flights are in `test_bars`, beside the other bars of these.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orbital_ops_env.client.render import render, view
from orbital_ops_env.commands import AnyCommand, Check, Detumble, Slew
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.models import OrbitalOpsAction
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.rewards.rubric import Weights
from orbital_ops_env.server.environment import OrbitalOpsEnvironment
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.flight import fly

ROOT = Path(__file__).parents[2]
MANIFEST = yaml.safe_load((ROOT / "openenv.yaml").read_text())["validation"]
MAX = 1.0
"""[-] greatest return."""
SENT: tuple[AnyCommand, ...] = (
    Detumble(rate_deg_s=0.1),
    Slew(target="nadir", rate_deg_s=1.0),
    Check(subsystem="thrusters"),
)


# -- semantic ----------------------------------------------------------------------------------


def test_the_manifest_declares_oracle_canaries_and_margins() -> None:
    told = MANIFEST["capabilities"]
    assert (ROOT / told["oracle"]["location"]).is_file()
    assert (ROOT / told["canaries"]).is_file()
    assert 0 < MANIFEST["reward"]["oracle_tolerance"] <= 0.1
    assert MANIFEST["reward"]["floor_margin"] >= 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_max(family: str) -> None:
    """All but what must be spent: nobody points without gas and time, so efficiency is counted as full."""
    flown = fly(generate(family, 0, 50_000), Reference(), 50_000)
    withheld = Weights().efficiency * (1 - flown.components["reward/efficiency"])
    assert flown.return_ + withheld >= MAX - MANIFEST["reward"]["oracle_tolerance"]
    assert flown.return_ >= MAX - MANIFEST["reward"]["oracle_tolerance"] - Weights().efficiency


# -- runtime -----------------------------------------------------------------------------------


@pytest.fixture
def told(frame: Callable[..., str]) -> Callable[..., list[str]]:
    """The frames of an environment that flies `SENT` on a mission."""

    def told(env: OrbitalOpsEnvironment, **mission: Any) -> list[str]:
        return list(flying(env, frame, **mission))

    return told


def flying(env: OrbitalOpsEnvironment, frame: Callable[..., str], **mission: Any) -> Iterator[str]:
    yield frame(env.reset(**mission))
    for command in SENT:
        yield frame(env.step(OrbitalOpsAction(command=command)))


MISSION: dict[str, Any] = {"family": "detumble-v0", "level": 1, "seed": 3}


def test_seed_control(told: Callable[..., list[str]]) -> None:
    env = OrbitalOpsEnvironment()
    first, again = told(env, **MISSION), told(env, **MISSION)
    assert first == again
    for other in ({"seed": 4}, {"episode_seed": 4}, {"level": 2}):
        assert told(env, **MISSION | other)[0] != first[0]


def test_episode_determinism(told: Callable[..., list[str]]) -> None:
    assert told(OrbitalOpsEnvironment(), **MISSION) == told(OrbitalOpsEnvironment(), **MISSION)


def test_episode_isolation(told: Callable[..., list[str]], frame: Callable[..., str]) -> None:
    """Neither an episode before, cut short, nor one beside changes anything."""
    alone = told(OrbitalOpsEnvironment(), **MISSION)
    env, beside = OrbitalOpsEnvironment(), OrbitalOpsEnvironment()
    env.reset(family="recovery-v0", level=9, seed=1)
    env.step(OrbitalOpsAction(command=SENT[1]))
    other = flying(beside, frame, family="hold-v0", level=4, seed=2)
    together = zip(flying(env, frame, **MISSION), other, strict=True)
    assert [mine for mine, _ in together] == alone


@pytest.mark.parametrize("family", FAMILIES)
def test_no_solution_leakage(family: str, unspoken: tuple[str, ...]) -> None:
    """What a policy reads tells of no score, seed or fault, and begins the same if nothing breaks."""
    spec = next(s for s in (generate(family, 5, seed) for seed in range(987_600, 987_700)) if s.faults)
    healthy = spec.model_copy(update={"faults": ()})
    text, calm = (render(Episode(mission, 7).observation) for mission in (spec, healthy))
    assert text == calm
    episode = Episode(spec, 7)
    seen = view(episode.observation)
    for command in SENT:
        observation = episode.step(command)
        text += render(observation, seen)
        seen = view(observation, seen)
        if observation.done:
            break
    told = (
        "reward",
        "score",
        "success",
        "component",
        "primary",
        str(spec.seed),
        spec.content_hash,
        *unspoken,
    )
    assert [word for word in told if word in text.lower()] == []
