"""Free flight against Kepler, Euler and an integrator that shares no line with Basilisk."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from orbital_ops_env.commands import Coast
from orbital_ops_env.sim.constants import EARTH_RADIUS_M, MU_EARTH
from orbital_ops_env.sim.frames import (
    Vec3,
    dcm_from_ep,
    dcm_from_mrp,
    ep_from_mrp,
    rotation_angle,
    unit,
)
from orbital_ops_env.sim.kernels import ROW
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Orbit, SpacecraftConfig

Build = Callable[..., Plant]
TEN_MINUTES = Coast(duration_s=600.0)


@pytest.fixture(scope="module")
def one_orbit(build: Build, orbit: Orbit, quiet_craft: SpacecraftConfig) -> tuple[list[Vec3], list[float]]:
    """Position [m] and illumination every 10 s of a Kepler period, the last at its end."""
    plant = build(craft=quiet_craft)
    period = round(kepler_period(orbit), 1)
    positions, illuminations = [], []
    for t in [*range(10, round(period), 10), period]:
        row = plant._vehicle.advance(float(t))[-1]
        positions.append(np.array(plant._vehicle.hub.scStateOutMsg.read().r_BN_N))
        illuminations.append(float(row[ROW["illumination"]]))
    return positions, illuminations


def kepler_period(orbit: Orbit) -> float:
    """[s] of a circular orbit."""
    return 2 * math.pi * math.sqrt(orbit.radius_m**3 / MU_EARTH)


def eclipse_fraction(orbit: Orbit) -> float:
    """Share of a circular orbit inside the Earth's cylindrical shadow, from the beta angle."""
    sine = float(unit(np.cross(*orbit.state(0.0))) @ orbit.sun_hat_N)
    depth = math.sqrt((1.0 - (EARTH_RADIUS_M / orbit.radius_m) ** 2) / (1.0 - sine**2))
    return math.acos(min(depth, 1.0)) / math.pi


def before_midnight(orbit: Orbit, angle_rad: float) -> Orbit:
    """The orbit with a start that far ahead of the point farthest from the Sun."""
    node, quarter = (orbit_at(orbit, u).state(0.0)[0] for u in (0.0, math.pi / 2))
    noon = math.atan2(quarter @ orbit.sun_hat_N, node @ orbit.sun_hat_N)
    return orbit_at(orbit, noon + math.pi - angle_rad)


def orbit_at(orbit: Orbit, latitude_rad: float) -> Orbit:
    return replace(orbit, latitude_rad=latitude_rad)


def illumination(plant: Plant, seconds: int) -> list[float]:
    """Once a second."""
    rows = [plant._vehicle.advance(float(t))[-1] for t in range(1, seconds + 1)]
    return [float(row[ROW["illumination"]]) for row in rows]


def test_the_orbit_closes_after_its_kepler_period(
    one_orbit: tuple[list[Vec3], list[float]], orbit: Orbit
) -> None:
    period = round(kepler_period(orbit), 1)
    arrived = one_orbit[0][-1]
    assert np.linalg.norm(arrived - orbit.state(period)[0]) < 0.01
    assert np.linalg.norm(arrived - orbit.state(0.0)[0]) < 0.05 * 7620.0
    assert 94.0 * 60 < period < 95.0 * 60


def test_the_share_of_an_orbit_in_eclipse_is_that_of_the_shadow_cylinder(
    one_orbit: tuple[list[Vec3], list[float]], orbit: Orbit
) -> None:
    dark = 1.0 - np.mean(one_orbit[1])
    one_sample = 10.0 / kepler_period(orbit)
    assert abs(dark - eclipse_fraction(orbit)) < one_sample
    assert sum(0.0 < lit < 1.0 for lit in one_orbit[1]) <= 4  # a penumbra lasts 8 s


@pytest.mark.parametrize("raan_rad", [1.2, 0.6, -0.05], ids=["beta 10", "beta -22", "beta -57"])
def test_the_eclipse_begins_where_the_shadow_cylinder_does(
    build: Build, orbit: Orbit, raan_rad: float
) -> None:
    inclined = replace(orbit, raan_rad=raan_rad)
    half = eclipse_fraction(inclined) * math.pi
    ahead = before_midnight(inclined, half + 60.0 * orbit.rate_rad_s)
    lit = illumination(build(orbit=ahead), 90)
    began = next(t for t, share in enumerate(lit, start=1) if share < 0.5)
    assert abs(began - 60.0) < 2.0
    assert lit[0] == 1.0
    assert lit[-1] == 0.0


def test_an_orbit_that_faces_the_sun_has_no_eclipse(build: Build, orbit: Orbit) -> None:
    facing = replace(orbit, raan_rad=-0.6)
    assert eclipse_fraction(facing) == 0.0
    assert illumination(build(orbit=before_midnight(facing, 0.03)), 60) == [1.0] * 60


def test_a_free_tumble_keeps_energy_momentum_and_norm(
    build: Build,
    far_orbit: Orbit,
    quiet_craft: SpacecraftConfig,
    momentum: Callable[..., Vec3],
    inertia: Callable[..., Vec3],
) -> None:
    plant = build(orbit=far_orbit, craft=quiet_craft, omega_deg_s=(3.0, -4.0, 2.0))
    truth = plant.execute(TEN_MINUTES).truth
    H = momentum(quiet_craft, truth)
    energy = 0.5 * np.sum(inertia(quiet_craft, 0.008) * truth.omega_BN_B**2, axis=1)
    assert np.abs(H - H[0]).max() < 1e-10 * np.linalg.norm(H[0])
    assert np.ptp(energy) < 1e-11 * energy[0]
    assert np.linalg.norm(truth.sigma_BN, axis=1).max() <= 1.0
    assert np.ptp(truth.omega_BN_B, axis=0).min() > 0.01  # it does tumble


def gravity_gradient_tumble(orbit: Orbit, moments: Vec3) -> Callable[[float, Vec3], Vec3]:
    def derivative(t: float, state: Vec3) -> Vec3:
        q, w = state[:4], state[4:]
        q_dot = 0.5 * np.append(-q[1:] @ w, q[0] * w + np.cross(q[1:], w))
        r_B = dcm_from_ep(q) @ orbit.state(t)[0]
        torque = 3 * MU_EARTH / np.linalg.norm(r_B) ** 5 * np.cross(r_B, moments * r_B)
        return np.append(q_dot, (torque - np.cross(w, moments * w)) / moments)

    return derivative


@pytest.mark.parametrize("omega_deg_s", [(3.0, 0.1, -0.1), (-1.5, 2.0, 1.7), (0.02, 0.0, -0.01)])
def test_ten_minutes_of_tumbling_agree_with_an_independent_integrator(
    build: Build,
    orbit: Orbit,
    quiet_craft: SpacecraftConfig,
    inertia: Callable[..., Vec3],
    omega_deg_s: tuple[float, float, float],
) -> None:
    truth = build(craft=quiet_craft, omega_deg_s=omega_deg_s).execute(TEN_MINUTES).truth
    model = gravity_gradient_tumble(orbit, inertia(quiet_craft, 0.008))
    first = np.append(ep_from_mrp(truth.sigma_BN[0]), truth.omega_BN_B[0])
    exact: Any = solve_ivp(model, (0.0, 600.0), first, method="DOP853", rtol=1e-12, atol=1e-13)
    turn = dcm_from_ep(exact.y[:4, -1]) @ dcm_from_mrp(truth.sigma_BN[-1]).T
    assert math.degrees(rotation_angle(turn)) < 1e-8  # measured 3e-10
