"""When the star tracker sees: slow enough, away from the Sun and from the Earth."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbital_ops_env.commands import CalibrateGyro, Coast
from orbital_ops_env.sim.frames import Mat3, Vec3, unit
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Limits, Orbit, Sensed

Build = Callable[..., Plant]
Looking = Callable[[Vec3, Vec3, float], Mat3]


@pytest.mark.parametrize(("rate_deg_s", "sees"), [(0.0, True), (0.9, True), (1.1, False)])
@pytest.mark.parametrize("axis", range(3))
def test_a_tracker_faster_than_a_degree_a_second_is_blind(
    build: Build, axis: int, rate_deg_s: float, sees: bool
) -> None:
    omega = tuple(rate_deg_s * np.eye(3)[axis])
    assert build(omega_deg_s=omega).snapshot.sensed.tracker_valid is sees


@pytest.mark.parametrize(("angle_deg", "sees"), [(10.0, False), (34.0, False), (36.0, True)])
def test_a_tracker_near_the_sun_is_blind(
    build: Build, looking: Looking, orbit: Orbit, angle_deg: float, sees: bool
) -> None:
    zenith = unit(orbit.state(0.0)[0])
    plant = build(dcm_BN=looking(orbit.sun_hat_N, zenith, angle_deg))
    assert plant.snapshot.sensed.tracker_valid is sees


def test_a_tracker_in_eclipse_does_not_mind_the_sun(build: Build, looking: Looking, orbit: Orbit) -> None:
    dark = replace(orbit, latitude_rad=math.radians(140.0))
    attitude = looking(unit(dark.state(0.0)[0]), orbit.sun_hat_N, 90.0)
    assert math.degrees(math.acos(attitude[1] @ orbit.sun_hat_N)) < 32.0
    sensed = build(orbit=dark, dcm_BN=attitude).snapshot.sensed
    assert not sensed.sun_B.any()
    assert sensed.tracker_valid


@pytest.mark.parametrize(("angle_deg", "sees"), [(60.0, False), (84.0, False), (86.0, True)])
def test_a_tracker_near_the_earth_is_blind(
    build: Build, looking: Looking, orbit: Orbit, angle_deg: float, sees: bool
) -> None:
    r, v = orbit.state(0.0)
    plant = build(dcm_BN=looking(-r, -np.cross(r, v), angle_deg))
    assert plant.snapshot.sensed.tracker_valid is sees


def test_a_tracker_that_goes_blind_tells_its_age_and_no_rate(build: Build) -> None:
    plant = build(omega_deg_s=(0.0, 0.3, 0.0))
    seeing = plant.execute(Coast(duration_s=30.0)).sensed
    assert seeing.tracker_age_s == 0.0
    assert seeing.tracker_rate_rad_s == pytest.approx(math.radians(0.3), rel=0.1)
    plant._vehicle.tracker.memory.rate_limit = 0.0
    blind = plant.execute(Coast(duration_s=60.0)).sensed
    assert not blind.tracker_valid
    assert blind.tracker_age_s == pytest.approx(60.0)
    assert blind.tracker_rate_rad_s is None
    assert blind.innovation_rad == seeing.innovation_rad


def test_the_first_solution_after_a_blind_spell_tells_no_rate_yet(build: Build) -> None:
    """It takes two; a rate of 0 would contradict a healthy gyro, and let a fast craft calibrate it."""
    first: list[Sensed] = []
    for axis in range(3):
        plant = build(omega_deg_s=tuple(0.7 * np.eye(3)[axis]))
        saw = plant.snapshot.sensed.tracker_valid
        for t in range(1, 600):
            sensed = plant.execute(Coast(duration_s=30.0), Limits(edges_s=(float(t),))).sensed
            if sensed.tracker_valid and not saw:
                first.append(sensed)
            saw = sensed.tracker_valid
    untold = [sensed.tracker_rate_rad_s is None for sensed in first]
    assert any(untold)
    assert not all(untold)  # every other blind spell ends half a second before a look
    for sensed in first:
        assert sensed.tracker_rate_rad_s is None or math.degrees(sensed.tracker_rate_rad_s) > 0.6


def test_a_calibration_at_the_first_solution_is_refused(build: Build) -> None:
    plant = build(omega_deg_s=(0.0, 0.7, 0.0))
    assert plant.snapshot.sensed.tracker_valid
    refused = plant.execute(CalibrateGyro(duration_s=60.0))
    assert (refused.reason, refused.detail) == ("refused", "star tracker rate not known yet")


@pytest.mark.parametrize("seed", range(4))
def test_a_star_fix_is_off_by_the_noise_of_its_data_sheet(build: Build, seed: int) -> None:
    vehicle = build(seed=seed)._vehicle
    off = []
    for tick in range(1, 201):
        vehicle.advance(0.5 * tick)
        fix = vehicle.tracker.stOutMsg.read().qInrtl2Case
        true = vehicle.hub.scStateOutMsg.read().sigma_BN
        measured = Rotation.from_quat(fix, scalar_first=True)
        off.append((measured.inv() * Rotation.from_mrp(true)).as_rotvec())
    sigma = vehicle.craft.sensors.tracker_noise_rad
    assert np.std(off, axis=0) == pytest.approx(sigma, rel=0.2)  # 4 sigma of 200 draws
    assert np.mean(off, axis=0) == pytest.approx(0.0, abs=4 * sigma / math.sqrt(200))
