"""Spacecraft to fly in the physics tests, and what their histories say."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.frames import (
    Mat3,
    Vec3,
    dcm_from_mrp,
    matmul,
    mrp_from_dcm,
    rotation_angle,
    unit,
)
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import (
    Environment,
    Nadir,
    Orbit,
    Relay,
    Snapshot,
    SpacecraftConfig,
    Star,
    Start,
    Sun,
    Target,
    Track,
    target_frame,
)

SUNLIT_NOON = Orbit(raan_rad=1.02, latitude_rad=0.0, sun_longitude_rad=1.0, sidereal_rad=0.2)
"""Near noon at time 0 and the Sun in the plane: light for half an hour, a tracker that sees."""
TARGETS: Mapping[str, Target] = {
    "sun": Sun(),
    "nadir": Nadir(),
    "relay": Relay(1.6),
    "star": Star(2.5, 0.3),
}


@pytest.fixture(scope="session")
def orbit() -> Orbit:
    return SUNLIT_NOON


@pytest.fixture(scope="session")
def far_orbit() -> Orbit:
    """So far out that the gravity gradient is 1e-11 of what it is at 500 km."""
    return replace(SUNLIT_NOON, altitude_m=3e10)


@pytest.fixture(scope="session")
def quiet_craft() -> SpacecraftConfig:
    """A craft that nothing disturbs but the gravity gradient."""
    nothing = Environment(dipole_a_m2=0.0, drag_area_m2=0.0, density_kg_m3=0.0, solar_area_m2=0.0)
    return SpacecraftConfig(environment=nothing)


@pytest.fixture(scope="session")
def build() -> Callable[..., Plant]:
    """Builds a plant; by default at rest, nadir-pointed, with 8 g and a tracker that sees."""

    def build(
        *,
        dcm_BN: Any = None,
        omega_deg_s: tuple[float, float, float] = (0.0, 0.0, 0.0),
        propellant_g: float = 8.0,
        seed: int = 3,
        craft: SpacecraftConfig | None = None,
        orbit: Orbit = SUNLIT_NOON,
        known: bool = True,
        faults: Sequence[Fault] = (),
    ) -> Plant:
        attitude = target_frame(Nadir(), orbit, 0.0) if dcm_BN is None else np.asarray(dcm_BN)
        sigma = tuple(float(s) for s in mrp_from_dcm(attitude))
        omega = tuple(math.radians(w) for w in omega_deg_s)
        start = Start(orbit, sigma, omega, propellant_g * 1e-3, known)  # type: ignore[arg-type]
        return Plant(start, TARGETS, seed, craft, faults)

    return build


@pytest.fixture(scope="session")
def at_rest(
    build: Callable[..., Plant], far_orbit: Orbit, quiet_craft: SpacecraftConfig
) -> Callable[..., Plant]:
    """Builds a plant at rest, with nothing that could move it but its thrusters, and some faults."""
    return lambda *faults, **options: build(orbit=far_orbit, craft=quiet_craft, faults=faults, **options)


@pytest.fixture(scope="session")
def looking() -> Callable[[Vec3, Vec3, float], Mat3]:
    """An attitude dcm_BN whose star tracker looks at an angle [deg] from one direction, towards another."""

    def looking(pole_N: Vec3, toward_N: Vec3, angle_deg: float) -> Mat3:
        axis = unit(np.cross(pole_N, toward_N))
        boresight: Vec3 = Rotation.from_rotvec(math.radians(angle_deg) * axis).apply(unit(pole_N))
        x = unit(np.cross(boresight, [0.3, 0.5, 0.8]))
        return np.array([x, boresight, np.cross(x, boresight)])

    return looking


@pytest.fixture(scope="session")
def inertia() -> Callable[[SpacecraftConfig, float], Vec3]:
    """[kg m^2] (3,) principal moments with some usable propellant [kg], a sphere in the middle."""

    def inertia(craft: SpacecraftConfig, propellant_kg: float) -> Vec3:
        radius = (0.75 * craft.tank.volume_m3 / math.pi) ** (1 / 3)
        gas = 0.4 * (propellant_kg + craft.tank.unusable_kg) * radius**2
        return np.array(craft.inertia_kg_m2) + gas

    return inertia


@pytest.fixture(scope="session")
def momentum(inertia: Callable[..., Vec3]) -> Callable[[SpacecraftConfig, Track], Vec3]:
    """[N m s] (n, 3) angular momentum in N over a true history."""

    def momentum(craft: SpacecraftConfig, truth: Track) -> Vec3:
        rows = zip(truth.sigma_BN, truth.omega_BN_B, truth.propellant_kg, strict=True)
        return np.array([dcm_from_mrp(s).T @ (inertia(craft, p) * w) for s, w, p in rows])

    return momentum


@pytest.fixture(scope="session")
def gas_g() -> Callable[[Snapshot], float]:
    """[g] propellant that truly left the tank during a command."""
    return lambda snapshot: 1e3 * float(np.ptp(snapshot.truth.propellant_kg[[0, -1]]))


@pytest.fixture(scope="session")
def errors_deg() -> Callable[[Track, Target, Orbit], Vec3]:
    """[deg] (n,) angle between a history and the attitude that points at a target."""

    def errors_deg(track: Track, target: Target, orbit: Orbit) -> Vec3:
        rows = zip(track.t, track.sigma_BN, strict=True)
        frames = ((dcm_from_mrp(s), target_frame(target, orbit, t)) for t, s in rows)
        return np.degrees([rotation_angle(matmul(b, np.ascontiguousarray(r.T))) for b, r in frames])

    return errors_deg


@pytest.fixture(scope="session")
def knowledge_deg() -> Callable[[Snapshot], float]:
    """[deg] angle between the true and the estimated attitude at the end of a command."""

    def knowledge_deg(snapshot: Snapshot) -> float:
        true, believed = snapshot.truth.sigma_BN[-1], snapshot.estimate.sigma_BN[-1]
        turn = matmul(dcm_from_mrp(believed), np.ascontiguousarray(dcm_from_mrp(true).T))
        return math.degrees(rotation_angle(turn))

    return knowledge_deg
