"""What manoeuvres cost: the model behind every mission's propellant and deadlines.

Source: least-squares fits to 133 slews and 50 holds flown on the plant from random attitudes with random
noise (25 mN, 60 kg); `tests/missions/test_budget.py` repeats a sample.
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.sim.frames import (
    Mat3,
    Vec3,
    angle_between,
    angles_between,
    ep_from_dcm,
    matmul,
    rotation_of_ep,
)
from orbital_ops_env.sim.state import PAYLOAD_B, SpacecraftConfig

SLEW_GAS_G: Final = {0.2: (0.26, 0.0021), 0.5: (0.49, 0.0016), 1.0: (1.14, 0.0011), 2.0: (1.76, 0.0046)}
"""[g, g/deg] by rate [deg/s]: a slew of n degrees costs a + b n."""
SLEW_GAS_SD_G: Final = {0.2: 0.09, 0.5: 0.13, 1.0: 0.26, 2.0: 0.40}
"""[g] 1 sigma about it."""
SLEW_TIME_S: Final = {0.2: (23.0, 4.99), 0.5: (26.0, 2.01), 1.0: (35.0, 1.00), 2.0: (36.0, 0.72)}
"""[s, s/deg] by rate [deg/s]: a slew of n degrees takes a + b n until settled."""
SLEW_TIME_SD_S: Final = 12.0
"""[s] 1 sigma about it."""
HOLD_G_S: Final = 0.056 / 60
"""[g/s] a hold at a deadband of 1 deg, settling included."""
DETUMBLE_RATIO: Final = 1.1
"""[-] gas of a detumble over the ideal impulse."""
PATH_STEPS: Final = 37
"""[-] points at which a turn's path is sampled."""


def slew_gas_g(rate_deg_s: float, angle_rad: float) -> float:
    """[g] Propellant of a slew."""
    base, per_deg = SLEW_GAS_G[rate_deg_s]
    return base + per_deg * math.degrees(angle_rad)


def slew_time_s(rate_deg_s: float, angle_rad: float) -> float:
    """[s] Duration of a slew until settled."""
    base, per_deg = SLEW_TIME_S[rate_deg_s]
    return base + per_deg * math.degrees(angle_rad)


def detumble_gas_g(omega_BN_B: Vec3, craft: SpacecraftConfig) -> float:
    """[g] Propellant that nulls a body rate [rad/s]: sum of |H| by axis over arm and exhaust speed."""
    jets = craft.thrusters
    momentum = np.abs(np.array(craft.inertia_kg_m2) * omega_BN_B)
    return float(DETUMBLE_RATIO * 1e3 * momentum.sum() / jets.torque_n_m * jets.flow_kg_s)


def detumble_time_s(omega_BN_B: Vec3, craft: SpacecraftConfig) -> float:
    """[s] Duration of a detumble: the slowest axis at full torque, and the steady time after it."""
    momentum = np.abs(np.array(craft.inertia_kg_m2) * omega_BN_B)
    return float(momentum.max() / craft.thrusters.torque_n_m * DETUMBLE_RATIO) + 15.0


def turn_between(start: Mat3, end: Mat3) -> Vec3:
    """[rad] (3,) Rotation vector, in the end frame, of the turn between two attitudes dcm_RN."""
    return rotation_of_ep(ep_from_dcm(matmul(start, np.ascontiguousarray(end.T))))


def path_sun_angle(start: Mat3, end: Mat3, sun_hat_N: Vec3) -> float:
    """[rad] Least angle between payload and Sun along the eigenaxis turn between two attitudes."""
    turn = turn_between(start, end)
    angle = float(np.linalg.norm(turn))
    payload = end[int(np.argmax(PAYLOAD_B))]
    if angle == 0:
        return angle_between(payload, sun_hat_N)
    axis = end.T @ (turn / angle)
    left = np.linspace(0.0, angle, PATH_STEPS)[:, None]
    path = (
        np.cos(left) * payload
        + np.sin(left) * np.cross(axis, payload)
        + (1 - np.cos(left)) * (axis @ payload) * axis
    )
    return float(angles_between(path, np.tile(sun_hat_N, (PATH_STEPS, 1))).min())
