"""The least gas that any controller needs for a mission, however good: a bound from angular momentum.

Every thruster turns the craft about one body axis, so a kilogram of gas changes the angular momentum H by at
most arm x exhaust speed, `leverage`, whatever fires when; a leak's jet may be added to it. The disturbances
change H by at most `DISTURBANCE_N_M` a second, in whichever direction helps. So after t seconds and m
kilograms

    | |H(t)| - |H(0)| |  <=  leverage m + disturbance t

A **rate** directive must once see the body rate under its limit w, with |H| <= I_max w: gas must take out
what disturbances leave of |H(0)| - I_max w.

A **pointing** directive must once, at a time t from its opening to its dwell before its closing, have its
axis within the tolerance of the target. The axis is a principal one, so it moves no faster than |H| / I, with
I the smaller moment across it. It covers no more than

    ( (|H(0)| + leverage m) t + disturbance t^2 / 2 ) / I

and has to cover the angle from where it starts, less the tolerance. Of all times t the cheapest counts. The
braking at the end does not: a craft may drift through a wide tolerance in the time of a short dwell.

The bound of a mission is that of its dearest directive: each is reached from the same start, so no order, no
path and no fault matters. Episodes differ; the start is taken `SIGMAS` towards the easier side.
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.missions.directives import Charge, Directive, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.sim.faults import Leak
from orbital_ops_env.sim.frames import angles_between, body_axis
from orbital_ops_env.sim.state import SpacecraftConfig, pointing_axis, target_directions
from orbital_ops_env.sim.variation import KNOWN_RAD, TIP_OFF_RAD, TIP_OFF_RATIO

DISTURBANCE_N_M: Final = 1.2e-5
"""[N m] most of all disturbances together: gravity gradient 2.8e-6 (1.5 n^2 times the spread of the moments),
residual dipole 4.8e-6 (0.1 A m^2 in the field over a pole), drag 4.2e-6 (5 sigma of the density)."""
SIGMAS: Final = 6.0
"""[sigma] of an episode's start about the mission's that the bound allows for."""


def least_gas_kg(spec: MissionSpec) -> float:
    """[kg] Gas without which a mission cannot be done; 0 if momentum alone forbids nothing."""
    dearest = max(_impulse(spec, directive) for directive in spec.directives)
    return max(dearest, 0.0) / _leverage(spec)


def drift_rad(seconds: float) -> float:
    """[rad] Most that a craft at rest drifts in a time [s] without a thruster."""
    return DISTURBANCE_N_M * seconds**2 / (2 * min(SpacecraftConfig().inertia_kg_m2))


def astray_rad(spec: MissionSpec) -> float:
    """[rad] Most by which an episode's first attitude differs from the mission's."""
    return SIGMAS * (KNOWN_RAD if spec.start.attitude_known else TIP_OFF_RAD)


def _leverage(spec: MissionSpec) -> float:
    """[N m s/kg] Most angular momentum that a kilogram of gas gives."""
    jets = SpacecraftConfig().thrusters
    leaks = (fault for fault in spec.faults if isinstance(fault, Leak))
    jet = max((math.hypot(*leak.torque_n_m) / leak.flow_kg_s for leak in leaks), default=0.0)
    return max(jets.torque_n_m / jets.flow_kg_s, jet)


def _impulse(spec: MissionSpec, directive: Directive) -> float:
    """[N m s] That thrusters must give for a directive, at least; negative if drifting may do."""
    inertia = np.array(SpacecraftConfig().inertia_kg_m2)
    momentum = float(np.linalg.norm(inertia * spec.start.omega_BN_B))
    latest = directive.closes_s - directive.dwell_s
    match directive:
        case Charge():
            return 0.0
        case ReduceRate():
            left = float(inertia.max()) * directive.rate_rad_s + DISTURBANCE_N_M * latest
            return (1 - SIGMAS * TIP_OFF_RATIO) * momentum - left
        case _:
            target, orbit = spec.target(directive.target), spec.start.orbit
            axis = int(np.argmax(pointing_axis(target)))
            times = np.arange(max(directive.opens_s, 1.0), latest + 1.0)
            aim = body_axis(np.array([spec.start.sigma_BN]), axis)
            away = angles_between(target_directions(target, orbit, times), aim)
            away = away - directive.tolerance_rad - astray_rad(spec)
            moment = float(np.delete(inertia, axis).min())
            needed = moment * away / times - DISTURBANCE_N_M * times / 2
            return float(needed.min()) - (1 + SIGMAS * TIP_OFF_RATIO) * momentum
