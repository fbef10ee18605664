"""What manoeuvres cost: the model behind every mission's propellant and deadlines.

Source: least-squares fits to 168 slews and 180 holds, and means of 30 long holds a deadband, flown on the
plant from random attitudes with random noise (25 mN, 60 kg); `tests/missions/test_budget.py` repeats a
sample.
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
    relative,
    rotation_of_ep,
)
from orbital_ops_env.sim.state import PAYLOAD_B, SpacecraftConfig
from orbital_ops_env.sim.tumble import stop

SLEW_GAS_G: Final = {
    0.2: (0.23, 0.0022),
    0.5: (0.52, 0.0013),
    1.0: (1.11, 0.0),
    2.0: (1.82, 0.0018),
}
"""[g, g/deg] by rate [deg/s]: a slew of n degrees costs a + b n."""
SLEW_GAS_SD_G: Final = {0.2: 0.10, 0.5: 0.11, 1.0: 0.12, 2.0: 0.21}
"""[g] 1 sigma about it."""
SLEW_TIME_S: Final = {0.2: (26.0, 4.95), 0.5: (25.0, 2.00), 1.0: (37.0, 0.98), 2.0: (42.0, 0.68)}
"""[s, s/deg] by rate [deg/s]: a slew of n degrees takes a + b n until settled."""
SLEW_TIME_SD_S: Final = 12.0
"""[s] 1 sigma about it."""
HOLD_G_S: Final = 0.054 / 60
"""[g/s] a hold of a minute at a deadband of 1 deg, settling included."""
HOLD_GAS_G_S: Final = {0.2: 1.4e-3, 0.5: 0.72e-3, 1.0: 0.54e-3, 3.0: 0.42e-3}
"""[g/s] a long hold by deadband [deg], once settled."""
DETUMBLE_RATIO: Final = 1.02
"""[-] gas of a detumble over the ideal impulse."""
DETUMBLE_SD: Final = 0.03
"""[-] 1 sigma about it, tip-off spread of the episodes included."""
SETTLING_S: Final = 14.0
"""[s] from the last braking to the end of the command: rates must stay low for 10 s."""
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


def detumble(omega_BN_B: Vec3, craft: SpacecraftConfig) -> tuple[float, float]:
    """Propellant [g] and time [s] that null a body rate [rad/s].

    The tumble moves momentum between the axes, so the first rates alone do not tell what it costs.
    """
    jets, inertia = craft.thrusters, craft.inertia_kg_m2
    fired_s, elapsed_s = stop(np.array(omega_BN_B, dtype=float), np.array(inertia), jets.torque_n_m)
    return DETUMBLE_RATIO * 1e3 * fired_s * jets.flow_kg_s, elapsed_s + SETTLING_S


def turn_between(start: Mat3, end: Mat3) -> Vec3:
    """[rad] (3,) Rotation vector, in the end frame, of the turn between two attitudes dcm_RN."""
    return rotation_of_ep(ep_from_dcm(relative(start, end)))


def path_angle(start: Mat3, end: Mat3, hat_N: Vec3) -> float:
    """[rad] Least angle between payload and a direction along the eigenaxis turn between two attitudes."""
    turn = turn_between(start, end)
    angle = float(np.linalg.norm(turn))
    payload = end[int(np.argmax(PAYLOAD_B))]
    if angle == 0:
        return angle_between(payload, hat_N)
    axis = end.T @ (turn / angle)
    left = np.linspace(0.0, angle, PATH_STEPS)[:, None]
    path = (
        np.cos(left) * payload
        + np.sin(left) * np.cross(axis, payload)
        + (1 - np.cos(left)) * (axis @ payload) * axis
    )
    return float(angles_between(path, hat_N[None]).min())
