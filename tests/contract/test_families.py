"""What every mission family keeps at an easy, a middle and the hardest level, whatever breaks.

The token limits of its texts are in `tests/client/test_token_limits.py`.
"""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from orbital_ops_env.client.render import render
from orbital_ops_env.commands import (
    CalibrateGyro,
    Coast,
    Detumble,
    Downlink,
    Hold,
    Image,
    ReportFault,
    SelectAttitudeSource,
    Slew,
    Unreadable,
)
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.models import OrbitalOpsObservation
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import Fault, GyroBias, StuckClosed, StuckOpen, TrackerOutage
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Limits, Snapshot, Track

Frame = Callable[[OrbitalOpsObservation], str]
ONSET_S = 40.0
SECRETS = ("tru", "sigma", "omega", "fault", "onset", "unit", "bias", "seed", "estimate", "spec")
"""Parts of names that belong to the truth or to what the mission hides."""
CELLS = list(product(FAMILIES, (0, 4, 9)))
cells = pytest.mark.parametrize(("family", "level"), CELLS)


def history(snapshots: Iterable[Snapshot]) -> bytes:
    """Every number that was true or estimated."""
    tracks = (track for s in snapshots for track in (s.truth, s.estimate))
    return b"".join(getattr(track, f.name).tobytes() for track in tracks for f in fields(Track))


def faults(onset_s: float) -> tuple[Fault, ...]:
    """One of every kind."""
    bias = (0.0, math.radians(0.3), 0.0)
    return (
        GyroBias(onset_s, bias),
        TrackerOutage(onset_s),
        StuckClosed(onset_s, 4),
        StuckOpen(onset_s, 5),
    )


def mission(family: str, level: int, *broken: Fault) -> MissionSpec:
    return generate(family, level, 6).model_copy(update={"faults": broken})


@pytest.fixture(scope="module")
def fly(fly_mission: Any, script: Any) -> Callable[[MissionSpec], Any]:
    """Flies the script on a mission."""
    return lambda spec: fly_mission(script(spec), spec, 2)


@pytest.fixture(params=CELLS, ids=str, scope="module")
def broken(request: pytest.FixtureRequest, fly) -> Any:
    """A flight of each family and level on which everything breaks at once."""
    flown = fly(mission(*request.param, *faults(ONSET_S)))
    assert flown.snapshots[-1].t > ONSET_S + 20.0
    return flown


# -- the same and not the same -----------------------------------------------------------------


@cells
def test_the_same_mission_seed_and_commands_give_the_same_bytes(
    fly, frame: Frame, family: str, level: int
) -> None:
    spec = generate(family, level, 6)
    one, other = (fly(spec) for _ in range(2))
    assert [frame(o) for o in one.observations] == [frame(o) for o in other.observations]
    assert history(one.snapshots) == history(other.snapshots)


@cells
def test_the_start_varies_with_the_episode_seed_and_the_brief_does_not(family: str, level: int) -> None:
    episodes = [Episode(generate(family, level, 6), episode_seed) for episode_seed in range(4)]
    assert len({episode.snapshot.truth.sigma_BN[0].tobytes() for episode in episodes}) == 4
    assert len({episode.observation.telemetry.model_dump_json() for episode in episodes}) == 4
    assert len({str(episode.observation.brief) for episode in episodes}) == 1


@cells
def test_a_fault_that_begins_after_the_end_leaves_no_trace(
    fly, frame: Frame, family: str, level: int
) -> None:
    healthy = mission(family, level)
    one, other = fly(healthy), fly(mission(family, level, *faults(healthy.clock_s + 1.0)))
    assert [frame(o) for o in one.observations] == [frame(o) for o in other.observations]
    assert history(one.snapshots) == history(other.snapshots)


# -- what is sent ------------------------------------------------------------------------------


def test_every_number_is_finite(broken: Any) -> None:
    for snapshot, observation in zip(broken.snapshots, broken.observations, strict=True):
        for part in (snapshot.truth, snapshot.estimate, snapshot.sensed):
            values = [getattr(part, f.name) for f in fields(part)]
            numbers = [v for v in values if isinstance(v, float | np.ndarray)]
            assert all(np.isfinite(number).all() for number in numbers)
        assert all(math.isfinite(number) for number in numbers_in(observation.model_dump()))


def test_every_observation_is_one_of_the_schema(broken: Any, frame: Frame) -> None:
    schema = Draft202012Validator(OrbitalOpsObservation.model_json_schema())
    for observation in broken.observations:
        sent = json.loads(frame(observation))["data"]
        fields_sent = sent["observation"] | {"reward": sent["reward"], "done": sent["done"]}
        schema.validate(fields_sent)
        assert OrbitalOpsObservation.model_validate(fields_sent) == observation


def names_in(data: Any) -> set[str]:
    """Every key of nested data."""
    if isinstance(data, dict):
        return set(data) | {name for value in data.values() for name in names_in(value)}
    return {name for value in data for name in names_in(value)} if isinstance(data, list) else set()


def numbers_in(data: Any) -> set[float]:
    """Every number of nested data that is not whole."""
    if isinstance(data, dict | list | tuple):
        values = data.values() if isinstance(data, dict) else data
        return {number for value in values for number in numbers_in(value)}
    return {data} if isinstance(data, float) and not data.is_integer() else set()


def test_no_name_of_the_truth_is_sent(broken: Any, frame: Frame) -> None:
    for observation in broken.observations:
        names = names_in(json.loads(frame(observation)))
        assert not [(name, secret) for name in names for secret in SECRETS if secret in name]


def test_no_true_number_is_sent(broken: Any, frame: Frame) -> None:
    """With a thruster stuck open, not even the counted gas is."""
    for observation, snapshot in zip(broken.observations, broken.snapshots, strict=True):
        truth = snapshot.truth
        true = {*truth.sigma_BN[-1], *truth.omega_BN_B[-1], *np.degrees(truth.omega_BN_B[-1])}
        if snapshot.t > ONSET_S:
            true |= {truth.propellant_kg[-1], 1e3 * truth.propellant_kg[-1]}
        assert not numbers_in(json.loads(frame(observation))) & {float(number) for number in true}


def test_no_text_tells_of_a_fault(broken: Any, unspoken: tuple[str, ...]) -> None:
    assert not [word for word in unspoken for text in broken.texts if word in text.lower()]


@cells
def test_the_first_text_is_the_same_with_and_without_a_fault(family: str, level: int) -> None:
    specs = (mission(family, level), mission(family, level, *faults(ONSET_S)))
    healthy, faulty = (render(Episode(spec, episode_seed=2).observation) for spec in specs)
    assert healthy == faulty


# -- what is refused ---------------------------------------------------------------------------


@cells
def test_refused_commands_leave_the_craft_as_a_coast_of_the_same_length_does(family: str, level: int) -> None:
    spec = mission(family, level, *faults(60.0))
    refused, coasted = (Plant(spec.start, dict(spec.targets), 2, faults=spec.faults) for _ in range(2))
    away = next(name for name in dict(spec.targets) if name != "sun")
    for plant in (refused, coasted):
        plant.execute(Detumble(rate_deg_s=0.5), Limits(edges_s=(20.0,)))
        plant.execute(SelectAttitudeSource(source="gyro"))
    commands = (
        Slew(target="nowhere", rate_deg_s=1.0),
        Hold(target=away, deadband_deg=1.0, duration_s=60.0),
        CalibrateGyro(duration_s=60.0),
        Image(target="nadir"),
        Downlink(station="nadir"),
        ReportFault(kind="stuck_open"),
        Unreadable(text="please coast"),
    )
    for command in commands:
        ended = refused.execute(command)
        coast = coasted.execute(Coast(duration_s=30.0), Limits(edges_s=(ended.t,)))
        assert ended.reason == "refused", command
        assert coast.t == ended.t
        assert history([ended]) == history([coast])
    after = [plant.execute(Detumble(rate_deg_s=0.1)) for plant in (refused, coasted)]
    assert history(after[:1]) == history(after[1:])
