"""A tumble that thrusters brake, reckoned without the plant.

Euler's equations under a torque against the rate, full on the fastest axis, as the control chain scales it.
"""

import math

import numpy as np
from numba import njit

from orbital_ops_env.sim.frames import Vec3

STEP_S = 0.25
"""[s] of the integration."""
STOPPED_RAD_S = math.radians(0.05)
"""[rad/s] about each axis, what counts as stopped."""


@njit(cache=True)
def stop(w: Vec3, inertia_kg_m2: Vec3, torque_n_m: float) -> tuple[float, float]:
    """Firing [s] and time [s] that stop a rate.

    Args:
        w: [rad/s] (3,) body rate in B; overwritten.
        inertia_kg_m2: [kg m^2] (3,) principal moments.
        torque_n_m: [N m] of a thruster about its axis.
    """
    fired_s = elapsed_s = 0.0
    drift = np.empty(3)
    while np.abs(w).max() > STOPPED_RAD_S:
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            drift[i] = (inertia_kg_m2[j] - inertia_kg_m2[k]) * w[j] * w[k]
        fastest = np.abs(w).max()
        for i in range(3):
            most = torque_n_m / inertia_kg_m2[i] * STEP_S
            braked = min(abs(w[i]), abs(w[i]) / fastest * most)
            fired_s += braked / most * STEP_S
            w[i] += drift[i] / inertia_kg_m2[i] * STEP_S - math.copysign(braked, w[i])
        elapsed_s += STEP_S
    return fired_s, elapsed_s
