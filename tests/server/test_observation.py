"""Telemetry is what instruments and onboard software know: alive in every channel, never truth."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from orbital_ops_env.commands import Check, Image, Slew
from orbital_ops_env.missions.catalog import FAMILIES, FLAGSHIP, generate
from orbital_ops_env.missions.mission import Progress
from orbital_ops_env.models import Telemetry
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.observe import observe
from orbital_ops_env.sim.frames import angle_between, angles_between, body_axis
from orbital_ops_env.sim.state import PAYLOAD_B, Snapshot, Track

SUBSYSTEMS = ("gyro", "star_tracker", "thrusters", "tank", "power")
NUMBER: tuple[Any, ...] = (int, float, float | None)
CHANNELS = Telemetry.model_fields.items()
NUMERIC = tuple(name for name, field in CHANNELS if field.annotation in NUMBER)


WITH_IMAGES = ("shift-v0", FLAGSHIP)
CONSTANT = {("shift-v0", "dwell_s"), *((name, "stored_pct") for name in FAMILIES if name not in WITH_IMAGES)}
"""Nothing is stored where no image is asked for; an image and a downlink serve their dwell in one command."""


def erased(snapshot: Snapshot) -> Snapshot:
    """The same snapshot with nothing true left in it."""
    nothing = {f.name: np.full_like(getattr(snapshot.truth, f.name), np.nan) for f in fields(Track)}
    return replace(snapshot, truth=Track(**nothing))


def stages(record: Any) -> Iterator[tuple[Telemetry, Snapshot, Progress, int]]:
    """Telemetry, snapshot and the progress by the estimated history, turn by turn."""
    sequence = record.spec.model_copy(update={"rules": ()})
    onboard = sequence.begin()
    for turn, (sent, snapshot) in enumerate(zip(record.observations, record.snapshots, strict=True)):
        onboard = sequence.advance(onboard, snapshot.estimate)
        if sent.outcome == "ongoing":
            onboard = sequence.overruled(onboard)
        yield sent.telemetry, snapshot, onboard, turn


# -- every channel lives -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "channel"),
    [pair for pair in product(FAMILIES, NUMERIC) if pair not in CONSTANT],
)
def test_no_channel_is_constant_over_seeds_and_turns(flights, family: str, channel: str) -> None:
    values = {
        getattr(observation.telemetry, channel)
        for record in flights
        if record.spec.family == family
        for observation in record.observations
    }
    assert len(values - {None}) > 1


def test_stored_data_are_told_after_an_image() -> None:
    """In a family that asks for none, too."""
    episode = Episode(generate("retarget-v0", 0, 1), 1)
    episode.step(Image(target=next(name for name, _ in episode.spec.targets)))
    assert episode.observation.telemetry.stored_pct == 0.0  # far away: refused
    target = episode.spec.directives[0].target  # type: ignore[union-attr]
    episode.step(Slew(target=target, rate_deg_s=1.0))
    stored = episode.step(Image(target=target)).telemetry.stored_pct
    assert stored == pytest.approx(100 / 3)


@pytest.mark.parametrize("channel", ["reason", "tracker_valid", "branch", "source"])
def test_no_word_is_constant_over_seeds_and_turns(flights, channel: str) -> None:
    assert len({getattr(o.telemetry, channel) for r in flights for o in r.observations}) > 1


@pytest.fixture(scope="module")
def checks() -> dict[str, list[dict[str, float]]]:
    """What each check finds, over seeds and turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SUBSYSTEMS}
    for family in FAMILIES:
        for seed in range(3):
            episode = Episode(generate(family, 2, seed), episode_seed=seed)
            for name in SUBSYSTEMS:
                found[name].append(episode.step(Check(subsystem=name)).telemetry.check)
    return found


@pytest.mark.parametrize("name", SUBSYSTEMS)
def test_no_residual_of_a_check_is_constant(checks, name: str) -> None:
    keys = {key for found in checks[name] for key in found}
    assert keys
    for key in keys:
        assert len({found[key] for found in checks[name] if key in found}) > 1, key  # no Sun in the dark


@pytest.mark.parametrize("name", SUBSYSTEMS)
def test_a_check_finds_at_most_three_numbers(checks, name: str) -> None:
    assert all(len(found) <= 3 for found in checks[name])


def test_every_number_is_finite(flights) -> None:
    for record in flights:
        for observation in record.observations:
            telemetry = observation.telemetry
            numbers = [getattr(telemetry, channel) for channel in NUMERIC]
            numbers += [*telemetry.check.values(), *observation.components.values()]
            assert all(math.isfinite(number) for number in numbers if number is not None)


# -- nothing true leaks ------------------------------------------------------------------------


def test_telemetry_is_the_same_when_the_truth_is_erased(flights) -> None:
    for record in flights:
        commands = (None, *record.commands)
        for telemetry, snapshot, onboard, turn in stages(record):
            again = observe(record.spec, erased(snapshot), onboard, turn, commands[turn])
            assert again == telemetry, f"{record}, turn {turn}"


def test_the_sequencer_goes_by_the_estimate(flights) -> None:
    for record in flights:
        for telemetry, _, onboard, _ in stages(record):
            assert telemetry.directive == onboard.done + 1
            assert telemetry.dwell_s == onboard.dwelt


def true_values(record: Any, snapshot: Snapshot) -> set[float]:
    """The end of the true history, and what telemetry could have made of it."""
    truth, orbit = snapshot.truth, record.spec.start.orbit
    (payload,) = body_axis(truth.sigma_BN[-1:], int(np.argmax(PAYLOAD_B)))
    angles = [directive.errors(truth, record.spec)[-1] for directive in record.spec.directives]
    angles += [np.linalg.norm(truth.omega_BN_B[-1]), angle_between(payload, orbit.sun_hat_N)]
    radians = [*truth.omega_BN_B[-1], *angles]
    return {float(v) for v in (*truth.sigma_BN[-1], *radians, *np.degrees(radians))} - {0.0}


def test_no_number_of_the_telemetry_is_a_true_one(flights) -> None:
    """But the gas, counted from the commanded on-time: without a leak that is the truth."""
    for record in flights:
        for telemetry, snapshot, _, turn in stages(record):
            sent = telemetry.model_dump(exclude={"propellant_g"})
            numbers = {*sent.pop("check").values(), *(v for v in sent.values() if v is not None)}
            assert not numbers & true_values(record, snapshot), f"{record}, turn {turn}"


def test_the_score_is_by_the_truth(flights) -> None:
    """Progress on the true history is what the components say, whatever was believed on board."""
    for record in flights:
        true = record.spec.begin()
        for observation, snapshot in zip(record.observations, record.snapshots, strict=True):
            true = record.spec.advance(true, snapshot.truth)
            if snapshot is not record.snapshots[0]:
                assert observation.components["reward/process"] == record.spec.completion(true)
        assert (record.observations[-1].outcome == "succeeded") == record.spec.succeeded(true)


def test_believed_and_true_attitude_are_not_the_same(flights) -> None:
    for record in flights:
        for snapshot in record.snapshots[1:]:
            axes = [body_axis(track.sigma_BN, 2) for track in (snapshot.truth, snapshot.estimate)]
            assert angles_between(*axes).min() > 0
