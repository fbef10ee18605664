"""What differs between two episodes of one mission: tip-off details, sensor noise, disturbances."""

import math
from dataclasses import dataclass, replace

import numpy as np

from orbital_ops_env.sim.frames import Vec3, ep_from_mrp, ep_of_rotation, ep_product, mrp_from_ep, triple
from orbital_ops_env.sim.state import SpacecraftConfig, Start

TIP_OFF_RATIO = 0.02
"""[-] 1 sigma of tip-off rate about the mission's."""
TIP_OFF_RAD = math.radians(4.0)
"""[rad] 1 sigma an axis of the first attitude about the mission's after separation."""
LOST_RAD = math.radians(3.0)
"""[rad] 1 sigma an axis of the first attitude estimate after separation."""
BATTERY_SD = 0.005
"""[-] 1 sigma of the charge about the mission's."""
KNOWN_RAD = math.radians(0.05)
"""[rad] the same when the craft is already in operation."""


@dataclass(frozen=True)
class Variation:
    """What differs between two episodes of one mission, beside sensor noise."""

    sensor_seeds: tuple[int, int, int]
    """Seeds of gyro, star tracker and Sun sensors."""
    gyro_bias_rad_s: Vec3
    attitude_error_rad: Vec3
    """[rad] (3,) rotation of the first attitude estimate away from the truth."""
    dipole_a_m2: Vec3
    density_ratio: float
    drag_direction: Vec3
    battery_fraction: float
    temperature_k: float


def draw_variation(start: Start, episode_seed: int, craft: SpacecraftConfig) -> tuple[Start, Variation]:
    """The start and the disturbances of one episode.

    Each purpose has a generator of its own, keyed by number, so that a new one shifts no other.
    """
    tip_off, sensors, biases, forces, resources = (
        np.random.default_rng(np.random.SeedSequence([episode_seed, purpose])) for purpose in range(5)
    )
    spread, lost = (KNOWN_RAD, KNOWN_RAD) if start.attitude_known else (TIP_OFF_RAD, LOST_RAD)
    turned = ep_product(
        ep_of_rotation(spread * tip_off.normal(size=3)), ep_from_mrp(np.array(start.sigma_BN))
    )
    omega = np.array(start.omega_BN_B) * (1 + TIP_OFF_RATIO * tip_off.normal(size=3))
    gyro_seed, tracker_seed, sun_seed = (int(n) for n in sensors.integers(2, 2**31, size=3))
    dipole = forces.normal(size=3)
    offset = forces.normal(size=3)
    variation = Variation(
        sensor_seeds=(gyro_seed, tracker_seed, sun_seed),
        gyro_bias_rad_s=craft.sensors.gyro_bias_rad_s * biases.normal(size=3),
        attitude_error_rad=lost * biases.normal(size=3),
        dipole_a_m2=craft.environment.dipole_a_m2 * dipole / np.linalg.norm(dipole),
        density_ratio=float(np.exp(forces.normal(scale=0.4))),
        drag_direction=offset / np.linalg.norm(offset),
        battery_fraction=_battery(start, resources),
        temperature_k=float(resources.uniform(284.0, 300.0)),
    )
    moved = replace(
        start,
        sigma_BN=triple(mrp_from_ep(turned)),
        omega_BN_B=triple(omega),
    )
    return moved, variation


def _battery(start: Start, rng: np.random.Generator) -> float:
    """[-] Charge at mission time 0."""
    drawn = float(rng.uniform(0.6, 0.95))
    return drawn if start.battery is None else min(start.battery + BATTERY_SD * float(rng.normal()), 1.0)
