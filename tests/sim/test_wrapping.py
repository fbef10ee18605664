"""Basilisk's sharp edges, one test for each."""

import gc
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.commands import Coast, Detumble, Slew
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Orbit, Sensors, SpacecraftConfig, Start
from orbital_ops_env.sim.variation import Variation, draw_variation
from orbital_ops_env.sim.vehicle import Vehicle

Build = Callable[..., Plant]
START = Start(
    Orbit(raan_rad=1.02, latitude_rad=0.0, sun_longitude_rad=1.0, sidereal_rad=0.2),
    (0.1, -0.3, 0.2),
    (0.002, -0.001, 0.003),
    0.004,
)


def drawn(seed: int = 3) -> Variation:
    return draw_variation(START, seed, SpacecraftConfig())[1]


def readings(variation: Variation, craft: SpacecraftConfig | None = None) -> dict[str, bytes]:
    """Every reading of each instrument over ten seconds of coast, and the truth."""
    vehicle = Vehicle(START, variation, craft or SpacecraftConfig())
    seen: dict[str, list[Any]] = {"gyro": [], "tracker": [], "sun": [], "truth": []}
    for tick in range(1, 21):
        vehicle.advance(0.5 * tick)
        seen["gyro"].append(vehicle.gyro.imuOutMsg.read().AngVelPlatform)
        seen["tracker"].append(vehicle.tracker.stOutMsg.read().qInrtl2Case)
        seen["sun"].append(vehicle.sun_sensors.sunOutMsg.read().vehSunPntBdy)
        seen["truth"].append(vehicle.hub.scStateOutMsg.read().sigma_BN)
    return {name: np.array(rows).tobytes() for name, rows in seen.items()}


@pytest.mark.parametrize(("index", "name"), list(enumerate(("gyro", "tracker", "sun"))))
def test_a_new_seed_in_one_sensor_shifts_no_other(index: int, name: str) -> None:
    seeds = list(drawn().sensor_seeds)
    before = readings(drawn())
    seeds[index] += 1
    after = readings(replace(drawn(), sensor_seeds=tuple(seeds)))  # type: ignore[arg-type]
    assert {key for key in before if before[key] != after[key]} == {name}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"gyro_noise_rad_s": 0.0}, "gyro"),
        ({"tracker_noise_rad": 0.0}, "tracker"),
        ({"sun_noise_rad": 0.0}, "sun"),
        ({"tracker_rate_rad_s": 0.0}, "tracker"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_other_noise_in_one_sensor_shifts_no_other(change: dict[str, float], name: str) -> None:
    craft = SpacecraftConfig(sensors=Sensors(**change))
    before, after = readings(drawn()), readings(drawn(), craft)
    assert {key for key in before if before[key] != after[key]} == {name}


@given(st.integers(0, 2**63))
def test_sensor_seeds_are_distinct_and_above_one(episode_seed: int) -> None:
    seeds = drawn(episode_seed).sensor_seeds
    assert len(set(seeds)) == 3
    assert all(2 <= seed < 2**31 for seed in seeds)


@given(st.integers(0, 2**63))
def test_an_episode_varies_within_reason(episode_seed: int) -> None:
    moved, variation = draw_variation(START, episode_seed, SpacecraftConfig())
    assert np.linalg.norm(variation.dipole_a_m2) == pytest.approx(0.1)
    assert np.linalg.norm(variation.drag_direction) == pytest.approx(1.0)
    assert 0.0 < variation.density_ratio < 10.0
    assert 0.6 <= variation.battery_fraction <= 0.95
    assert np.array(moved.omega_BN_B) == pytest.approx(np.array(START.omega_BN_B), rel=0.12)
    assert np.linalg.norm(moved.sigma_BN) <= 1.0


@pytest.mark.parametrize("seed", [0, 1])
def test_two_episodes_differ_in_everything_that_varies(seed: int) -> None:
    one, other = drawn(seed), drawn(seed + 1)
    for field in fields(Variation):
        assert np.all(np.array(getattr(one, field.name)) != np.array(getattr(other, field.name)))


def test_a_new_plant_remembers_nothing_of_the_last(build: Build) -> None:
    """Re-initialising a simulation would keep its noise; building anew does not."""
    first = build(omega_deg_s=(1.0, 0.0, 0.0))
    flown = first.execute(Detumble(rate_deg_s=0.1))
    again = build(omega_deg_s=(1.0, 0.0, 0.0)).execute(Detumble(rate_deg_s=0.1))
    assert np.array_equal(flown.estimate.omega_BN_B, again.estimate.omega_BN_B)
    assert flown.sensed.pressure_pa == again.sensed.pressure_pa


def test_the_clock_begins_at_zero_after_a_first_reading_of_every_instrument(build: Build) -> None:
    plant = build()
    assert plant.t == 0.0
    vehicle = plant._vehicle
    counted = (vehicle.gyro, vehicle.tracker, vehicle.estimator, vehicle.recorder)
    assert [kernel.memory.count for kernel in counted] == [1] * 4
    assert vehicle.valves.memory.count == 0


def test_every_kernel_keeps_step_with_the_clock(build: Build) -> None:
    plant = build()
    plant.execute(Coast(duration_s=30.0))
    vehicle = plant._vehicle
    counts = {
        kernel.ModelTag: kernel.memory.count
        for kernel in (
            vehicle.gyro,
            vehicle.estimator,
            vehicle.tracker,
            vehicle.sun_sensors,
            vehicle.guidance,
            vehicle.valves,
            vehicle.recorder,
        )
    }
    assert [counts.pop(name) for name in ("gyro", "estimator")] == [301, 301]
    assert counts.pop("recorder") == 31
    assert [counts.pop(name) for name in ("guidance", "valve_driver")] == [60, 60]
    assert set(counts.values()) == {61}


@pytest.mark.parametrize("lag", [-1, 1])
def test_an_estimator_that_lost_step_is_an_error(build: Build, lag: int) -> None:
    plant = build()
    plant._vehicle.estimator.memory.count += lag
    with pytest.raises(RuntimeError, match="build a new plant"):
        plant.execute(Coast(duration_s=30.0))


def test_a_clock_that_cannot_follow_is_an_error(build: Build) -> None:
    vehicle = build()._vehicle
    vehicle.advance(10.0)
    with pytest.raises(RuntimeError, match="expected 5000000000 ns"):
        vehicle.advance(5.0)


def test_the_force_mapping_runs_its_second_loop(build: Build) -> None:
    assert build()._vehicle.mapping.use2ndLoop == 1


def test_integration_step_minimum_pulse_and_control_period_fit_together(build: Build) -> None:
    plant = build()
    jets, vehicle = plant.craft.thrusters, plant._vehicle
    assert vehicle.dt == jets.step_s == vehicle.firing.thrMinFireTime
    assert jets.control_s / jets.step_s == pytest.approx(round(jets.control_s / jets.step_s))
    assert vehicle.thrusters.thrusterData[0].MinOnTime == 0.0


def test_building_and_flying_print_nothing(build: Build, capfd: pytest.CaptureFixture[str]) -> None:
    plant = build(omega_deg_s=(1.0, 2.0, -1.0), seed=11)
    plant.execute(Detumble(rate_deg_s=0.1))
    plant.execute(Slew(target="sun", rate_deg_s=2.0))
    del plant
    gc.collect()
    assert capfd.readouterr() == ("", "")
