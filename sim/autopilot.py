"""Sets the onboard attitude control up for a command: gains, and the reference to follow."""

import math

import numpy as np

from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.constants import EARTH_RADIUS_M, GEO_RADIUS_M
from orbital_ops_env.sim.frames import Mat3, dcm_from_ep, ep_from_dcm, relative, rotation_of_ep
from orbital_ops_env.sim.state import (
    Nadir,
    Orbit,
    Relay,
    Site,
    SpacecraftConfig,
    Target,
    passing_side,
    target_frame,
)
from orbital_ops_env.sim.vehicle import Vehicle

SLEW_AUTHORITY = 0.6
"""[-] share of the torque that a turn's ramps use; the rest is for control."""


class Autopilot:
    """The part of the flight software that a command configures.

    Args:
        vehicle: The craft; its guidance, feedback and valve driver are written to.
        orbit: Where the craft and its targets are.
        craft: Parameters of the craft.
    """

    def __init__(self, vehicle: Vehicle, orbit: Orbit, craft: SpacecraftConfig) -> None:
        self._vehicle = vehicle
        self._orbit = orbit
        self._craft = craft

    def set_gains(self, stiffness: float, damping: float) -> None:
        """Close the loop: attitude gain [N m], rate gain [N m s]; valves may fire."""
        self._vehicle.feedback.K = stiffness
        self._vehicle.feedback.P = damping
        self._vehicle.valves.memory.inhibit = 0

    def deadband_gains(self, deadband_rad: float) -> tuple[float, float]:
        """Gains whose Schmitt trigger leaves a dead angle of half a deadband, damping ratio 1.

        The least attitude error that fires a pulse is 4 level_on (t_min / T) F arm / K.
        """
        jets = self._craft.thrusters
        least_torque = jets.schmitt_on * jets.step_s / jets.control_s * jets.torque_n_m
        stiffness = 4 * least_torque / (deadband_rad / 2)
        return stiffness, 2 * math.sqrt(self._craft.inertia_kg_m2[1] * stiffness / 4)

    def attitude(self) -> Mat3:
        """dcm_BN as estimated on board."""
        return dcm_from_ep(np.array(self._vehicle.estimator.memory.q))

    def angle_to(self, target: Target, t: float) -> float:
        """[rad] Full turn from the estimated attitude to a target's frame at mission time t [s]."""
        frame = target_frame(target, self._orbit, t)
        turn = rotation_of_ep(ep_from_dcm(relative(self.attitude(), frame)))
        return float(np.linalg.norm(turn))

    def turn_to(self, target: Target, rate_rad_s: float, t: float) -> float:
        """Start a rate-limited eigenaxis turn onto a target's frame.

        Args:
            target: What to point at.
            rate_rad_s: [rad/s] rate limit.
            t: [s] mission time now.

        Returns:
            [s] Duration of the turn.
        """
        guidance = self._vehicle.guidance.memory
        frame = target_frame(target, self._orbit, t)
        turn = rotation_of_ep(ep_from_dcm(relative(self.attitude(), frame)))
        angle = float(np.linalg.norm(turn))
        axis = turn / angle if angle > 0 else np.array([1.0, 0.0, 0.0])
        inertia = float(np.linalg.norm(np.array(self._craft.inertia_kg_m2) * axis))
        torque = SLEW_AUTHORITY * self._craft.thrusters.torque_n_m
        acceleration = torque / inertia
        guidance.follow = kernels.FIXED
        if isinstance(target, Nadir):
            guidance.follow = kernels.NADIR
        if isinstance(target, Relay | Site):
            guidance.anchor_angle = target.longitude_rad + self._orbit.sidereal_rad
        if isinstance(target, Relay):
            guidance.follow = kernels.RELAY
            guidance.anchor_radius, guidance.anchor_latitude = GEO_RADIUS_M, 0.0
        if isinstance(target, Site):
            guidance.follow = kernels.SITE
            guidance.side = passing_side(target, self._orbit, t)
            guidance.anchor_radius, guidance.anchor_latitude = EARTH_RADIUS_M, target.latitude_rad
        guidance.frame = frame
        guidance.start = t
        guidance.axis = axis
        guidance.angle = angle
        guidance.rate = rate_rad_s
        guidance.acceleration = acceleration
        ramp = min(rate_rad_s / acceleration, math.sqrt(angle / acceleration))
        return ramp + angle / (acceleration * ramp) if angle > 0 else 0.0

    def stay(self) -> None:
        """Make the present attitude the reference, for commands that steer rates only."""
        guidance = self._vehicle.guidance.memory
        guidance.follow = kernels.FIXED
        guidance.frame = self.attitude()
        guidance.angle = 0.0
