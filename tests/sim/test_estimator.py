"""What the craft believes: right while the tracker sees, drifting with the gyro when blind."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbital_ops_env.commands import (
    CalibrateGyro,
    Coast,
    Detumble,
    Hold,
    SelectAttitudeSource,
)
from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.frames import Vec3, dcm_from_mrp, ep_of_rotation, ep_product
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Nadir, Orbit, Snapshot, SpacecraftConfig
from orbital_ops_env.sim.variation import LOST_RAD

Build = Callable[..., Plant]
Knowledge = Callable[[Snapshot], float]
BIAS_DEG_S = np.array([0.3, -0.4, 0.0])
"""0.5 deg/s in all."""
MINUTE = Coast(duration_s=60.0)
HOLD_2_MIN = Hold(target="nadir", deadband_deg=1.0, duration_s=120.0)


@pytest.fixture
def blind(quiet_craft: SpacecraftConfig) -> SpacecraftConfig:
    """A craft whose star tracker never sees anything."""
    return replace(quiet_craft, sensors=replace(quiet_craft.sensors, tracker_rate_rad_s=0.0))


def bias(plant: Plant, deg_s: Vec3) -> Plant:
    plant._vehicle.gyro.memory.bias = np.radians(deg_s)
    return plant


def test_a_blind_craft_drifts_at_the_bias_rate_while_it_believes_to_hold(
    build: Build,
    blind: SpacecraftConfig,
    orbit: Orbit,
    knowledge_deg: Knowledge,
    errors_deg: Callable[..., Vec3],
) -> None:
    held = bias(build(craft=blind), BIAS_DEG_S).execute(HOLD_2_MIN)
    true, believed = (errors_deg(track, Nadir(), orbit) for track in (held.truth, held.estimate))
    assert not held.sensed.tracker_valid
    assert true[-1] == pytest.approx(60.0, abs=1.0)
    assert knowledge_deg(held) == pytest.approx(60.0, abs=0.5)
    assert np.diff(true[30::10]) / 10.0 == pytest.approx(0.5, abs=0.06)
    assert believed[30:].max() < 0.5  # half the deadband
    assert held.sensed.tracker_age_s == pytest.approx(120.0)


def test_drift_of_a_blind_coasting_craft_is_bias_times_time(
    build: Build, blind: SpacecraftConfig, knowledge_deg: Knowledge
) -> None:
    plant = bias(build(craft=blind), BIAS_DEG_S)
    start_deg = knowledge_deg(plant.snapshot)
    for minutes in (1, 2, 3):
        drift = knowledge_deg(plant.execute(MINUTE))
        # white noise of 0.15 deg/sqrt(h) walks 0.034 deg an axis in three minutes
        assert drift == pytest.approx(30.0 * minutes, abs=start_deg + 0.15)


def test_a_seeing_craft_errs_by_what_the_gain_leaves(build: Build, knowledge_deg: Knowledge) -> None:
    plant = bias(build(), BIAS_DEG_S)
    plant.execute(MINUTE)
    snapshots = [plant.execute(MINUTE) for _ in range(4)]
    lag = 0.5 * 0.5 / kernels.TRACKER_GAIN  # a control period's drift balances the gain's share
    for s in snapshots:
        assert s.sensed.tracker_valid
        assert math.degrees(s.sensed.innovation_rad) == pytest.approx(lag, abs=0.05)
        settled = lag * (1 - kernels.TRACKER_GAIN)
        assert knowledge_deg(s) == pytest.approx(settled, abs=0.05)


def test_a_held_biased_craft_leans_on_its_target_as_the_gains_imply(
    build: Build, orbit: Orbit, knowledge_deg: Knowledge, errors_deg: Callable[..., Vec3]
) -> None:
    plant = bias(build(), BIAS_DEG_S)
    assert plant.execute(HOLD_2_MIN).detail == "innovation"  # an alarm that is told once
    held = plant.execute(HOLD_2_MIN)
    stiffness, damping = plant._pilot.deadband_gains(math.radians(1.0))
    lean = 4 * damping * 0.5 / stiffness  # K sigma = P bias, sigma a quarter of the angle
    true, believed = (errors_deg(t, Nadir(), orbit)[-1] for t in (held.truth, held.estimate))
    assert believed == pytest.approx(lean, abs=0.5)
    assert true == pytest.approx(believed + knowledge_deg(held), abs=0.3)


def test_a_healthy_craft_knows_its_attitude_to_arcminutes(build: Build, knowledge_deg: Knowledge) -> None:
    plant = build()
    for _ in range(4):
        snapshot = plant.execute(MINUTE)
        assert knowledge_deg(snapshot) < 0.03
        assert math.degrees(snapshot.sensed.innovation_rad) < 0.06


@pytest.mark.parametrize("seed", range(3))
def test_a_lost_craft_finds_itself_by_its_first_star_fixes(
    build: Build, blind: SpacecraftConfig, knowledge_deg: Knowledge, seed: int
) -> None:
    lost = build(known=False, seed=seed, craft=blind)
    off = knowledge_deg(lost.snapshot)
    assert 1.0 < off < 5.0 * math.degrees(LOST_RAD)
    assert knowledge_deg(lost.execute(MINUTE)) == pytest.approx(off, abs=0.5)
    assert knowledge_deg(build(known=False, seed=seed).execute(MINUTE)) < 0.03


def test_calibration_finds_the_bias(build: Build, knowledge_deg: Knowledge) -> None:
    plant = bias(build(), BIAS_DEG_S)
    plant.execute(MINUTE)
    after = plant.execute(CalibrateGyro(duration_s=120.0))
    assert after.reason == "duration"
    assert np.degrees(after.sensed.bias_rad_s) == pytest.approx(BIAS_DEG_S, abs=0.01)
    assert knowledge_deg(after) < 0.03
    later = plant.execute(MINUTE)
    assert np.array_equal(later.sensed.bias_rad_s, after.sensed.bias_rad_s)


def test_without_calibration_the_bias_estimate_never_moves(build: Build) -> None:
    plant = bias(build(), BIAS_DEG_S)
    plant.execute(HOLD_2_MIN)
    assert not plant.execute(MINUTE).sensed.bias_rad_s.any()


@pytest.mark.parametrize("off_deg", [6.0, 99.0, 179.0])
def test_a_large_innovation_is_reacquired_from_and_never_calibrated_with(
    build: Build, knowledge_deg: Knowledge, off_deg: float
) -> None:
    plant = bias(build(), BIAS_DEG_S)
    plant.execute(MINUTE)
    navigator = plant._vehicle.estimator.memory
    off = ep_of_rotation(np.radians([0.0, 0.0, off_deg]))
    navigator.q = ep_product(off, np.array(navigator.q))
    after = plant.execute(CalibrateGyro(duration_s=60.0))
    assert np.degrees(after.sensed.bias_rad_s) == pytest.approx(BIAS_DEG_S, abs=0.01)
    assert knowledge_deg(after) < 0.03


def test_an_innovation_above_five_degrees_leaves_the_bias_untouched(build: Build) -> None:
    vehicle = build()._vehicle
    navigator = vehicle.estimator.memory
    navigator.calibrating = 1
    navigator.q = ep_product(ep_of_rotation(np.radians([5.2, 0.0, 0.0])), np.array(navigator.q))
    vehicle.advance(0.5)
    assert not np.array(navigator.bias).any()
    assert math.degrees(float(navigator.innovation)) == pytest.approx(5.2, abs=0.1)
    navigator.q = ep_product(ep_of_rotation(np.radians([4.8, 0.0, 0.0])), np.array(navigator.q))
    vehicle.advance(1.0)
    taken = -kernels.BIAS_GAIN * float(navigator.innovation)
    assert abs(np.array(navigator.bias)[0] + taken) < 0.01 * abs(taken)


def test_a_bias_beyond_a_degree_a_second_is_clamped(build: Build) -> None:
    plant = build()
    plant.execute(MINUTE)
    bias(plant, np.array([1.5, 0.0, 0.0])).execute(CalibrateGyro(duration_s=120.0))
    assert plant.snapshot.sensed.bias_rad_s[0] == kernels.BIAS_LIMIT_RAD_S


def test_a_biased_detumble_leaves_the_bias_as_a_real_rate(build: Build, blind: SpacecraftConfig) -> None:
    plant = bias(build(craft=blind, omega_deg_s=(1.0, -1.0, 1.0)), BIAS_DEG_S)
    still = plant.execute(Detumble(rate_deg_s=0.05))
    assert still.reason == "completed"
    assert np.linalg.norm(np.degrees(still.estimate.omega_BN_B[-1])) < 0.05
    assert np.degrees(still.truth.omega_BN_B[-1]) == pytest.approx(-BIAS_DEG_S, abs=0.05)


def test_sun_sensors_hold_the_sun_line_but_not_the_angle_about_it(
    build: Build, blind: SpacecraftConfig, orbit: Orbit
) -> None:
    plant = bias(build(craft=blind), BIAS_DEG_S)
    plant.execute(SelectAttitudeSource(source="sun_sensors"))
    after = plant.execute(Coast(duration_s=120.0))
    true, believed = (dcm_from_mrp(t.sigma_BN[-1]) for t in (after.truth, after.estimate))
    line = believed @ orbit.sun_hat_N, true @ orbit.sun_hat_N
    off = math.degrees(math.acos(min(float(line[0] @ line[1]), 1.0)))
    across = np.linalg.norm(np.cross(BIAS_DEG_S, line[1]))
    left = 0.5 * across * (1 - kernels.SUN_GAIN) / kernels.SUN_GAIN
    assert off == pytest.approx(left, abs=0.3)  # 0.5 deg of noise, averaged by the gain to 0.08
    turned = math.degrees(Rotation.from_matrix(believed @ true.T).magnitude())
    about_the_line = abs(BIAS_DEG_S @ line[1]) * plant.t
    assert turned == pytest.approx(math.hypot(about_the_line, off), abs=1.0)


def test_on_gyro_alone_star_fixes_are_ignored(build: Build, knowledge_deg: Knowledge) -> None:
    plant = bias(build(), BIAS_DEG_S)
    plant.execute(SelectAttitudeSource(source="gyro"))
    drifted = plant.execute(Coast(duration_s=120.0))
    assert drifted.reason == "duration"
    assert drifted.sensed.tracker_valid
    assert knowledge_deg(drifted) == pytest.approx(0.5 * plant.t, abs=1.0)
    assert math.degrees(drifted.sensed.innovation_rad) == pytest.approx(0.5 * plant.t, abs=1.0)
    plant.execute(SelectAttitudeSource(source="star_tracker"))
    assert knowledge_deg(plant.snapshot) < 1.0


def test_the_tracker_rate_is_the_true_rate_whatever_the_gyro_says(build: Build) -> None:
    plant = bias(build(omega_deg_s=(0.0, 0.4, 0.0)), BIAS_DEG_S)
    coasted = plant.execute(MINUTE)
    true = np.linalg.norm(coasted.truth.omega_BN_B[-1])
    noise = math.sqrt(6) * plant.craft.sensors.tracker_noise_rad / 0.5
    assert coasted.sensed.tracker_rate_rad_s == pytest.approx(true, abs=4 * noise)
    assert np.linalg.norm(coasted.sensed.gyro_rad_s - coasted.truth.omega_BN_B[-1]) > 0.006
