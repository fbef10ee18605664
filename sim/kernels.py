"""Sensors and onboard software as compiled Basilisk modules.

Each class is a `NumbaModel`: its static `UpdateStateImpl` becomes machine code that the simulation calls
without Python or the GIL; its `memory` is what Python reads and writes between steps. A sensor has a
generator of its own, so that a new draw in one never shifts another. Every kernel counts its calls:
an exception inside one does not stop the clock, a count that lags behind it does.
"""

import hashlib
import math
from pathlib import Path

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.architecture.numbaModel import NumbaModel
from numba.extending import register_jitable

from orbital_ops_env.sim import frames
from orbital_ops_env.sim.constants import EARTH_RATE_RAD_S, GEO_RADIUS_M, MU_EARTH
from orbital_ops_env.sim.frames import (
    angle_between,
    cross,
    dcm_from_ep,
    dcm_from_mrp,
    ep_from_mrp,
    ep_of_rotation,
    ep_product,
    matmul,
    mrp_from_dcm,
    mrp_from_ep,
    nadir_frame,
    pointing_frame,
    rotate,
    rotation_of_ep,
    unit,
)
from orbital_ops_env.sim.state import Tank, Thrusters

FIXED, NADIR, RELAY = 0, 1, 2
"""What a `Guidance` frame follows."""
STAR_TRACKER, SUN_SENSORS, GYRO = 0, 1, 2
"""What corrects the `Estimator`."""
STEP_S = Thrusters().step_s
"""[s] integration step."""
TICKS_PER_CONTROL = round(Thrusters().control_s / STEP_S)
"""[-] integration steps in a control period."""
TRACKER_GAIN = 0.3
"""[-] share of a star tracker innovation taken at each solution; tuned against a Kalman gain."""
SUN_GAIN = 0.05
"""[-] the same for a coarse Sun vector."""
BIAS_GAIN = 0.06
"""[1/s] share of an innovation that goes into the bias at each solution while calibrating."""
REACQUIRE_RAD = math.radians(5.0)
"""[rad] an innovation above it replaces the attitude and never touches the bias."""
BIAS_LIMIT_RAD_S = math.radians(1.0)
"""[rad/s] clamp of the bias estimate."""
RATE_FILTER = 0.35
"""[-] share of a new gyro sample in the rate estimate, at 10 Hz."""
TEST_PERIODS = 24
"""[-] control periods of a thruster check: one step on each channel, 2 s apart."""
PULSE_TRIM = 4e-10
"""[-] share of a step taken off an on-time, so that integration stages see whole steps."""

ROW = {
    "t": 0,
    "true_sigma": slice(1, 4),
    "true_omega": slice(4, 7),
    "true_propellant": 7,
    "sigma": slice(8, 11),
    "omega": slice(11, 14),
    "error": 14,
    "error_rate": 15,
    "on_time": 16,
    "battery": 17,
    "panel": 18,
    "illumination": 19,
    "temperature": 20,
    "sun": slice(21, 24),
}
"""Where the `Recorder` puts what, SI; `error` and `error_rate` are estimated against the reference."""
ROW_SIZE = 24


def _source_stamp() -> str:
    """A name that changes with the compiled code, so that no cache on disk can serve an old kernel."""
    digest = hashlib.sha256()
    for module in (__file__, frames.__file__):
        digest.update(Path(str(module)).read_bytes())
    return f"source_{digest.hexdigest()[:12]}"


_STAMP = _source_stamp()


class _Kernel(NumbaModel):
    def __init__(self, tag: str) -> None:
        super().__init__()
        self.ModelTag = tag
        self.memory.count = 0
        setattr(self.memory, _STAMP, 0)


class Gyro(_Kernel):
    """Body rate with white noise and a constant bias, at 10 Hz."""

    def __init__(self, seed: int, noise_rad_s: float, bias_rad_s: np.ndarray) -> None:
        super().__init__("gyro")
        self.RNGSeed = seed
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.imuOutMsg = messaging.IMUSensorMsg()
        self.memory.noise = noise_rad_s
        self.memory.bias = bias_rad_s

    @staticmethod
    def UpdateStateImpl(stateInMsgPayload, imuOutMsgPayload, memory, rng):
        memory.count += 1
        noise = rng.standard_normal(3)
        for i in range(3):
            imuOutMsgPayload.AngVelPlatform[i] = (
                stateInMsgPayload.omega_BN_B[i] + memory.bias[i] + memory.noise * noise[i]
            )


class StarTracker(_Kernel):
    """Attitude at 2 Hz, or zeros while too fast, too near the Sun or too near the Earth."""

    def __init__(self, seed, noise_rad, rate_rad_s, sun_rad, nadir_rad, sun_hat_N) -> None:
        super().__init__("star_tracker")
        self.RNGSeed = seed
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.eclipseInMsg = messaging.EclipseMsgReader()
        self.stOutMsg = messaging.STSensorMsg()
        self.memory.noise = noise_rad
        self.memory.rate_limit = rate_rad_s
        self.memory.sun_limit = sun_rad
        self.memory.nadir_limit = nadir_rad
        self.memory.sun = sun_hat_N

    @staticmethod
    def UpdateStateImpl(stateInMsgPayload, eclipseInMsgPayload, stOutMsgPayload, memory, rng):
        memory.count += 1
        noise = rng.standard_normal(3)
        q = ep_from_mrp(stateInMsgPayload.sigma_BN.copy())
        boresight = dcm_from_ep(q)[1]
        w = stateInMsgPayload.omega_BN_B
        rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        blinded = angle_between(boresight, memory.sun.copy()) < memory.sun_limit
        if eclipseInMsgPayload.shadowFactor <= 0.0:
            blinded = False
        nadir = -stateInMsgPayload.r_BN_N.copy()
        valid = rate < memory.rate_limit and not blinded
        valid = valid and angle_between(boresight, nadir) >= memory.nadir_limit
        measured = ep_product(ep_of_rotation(memory.noise * noise), q)
        for i in range(4):
            stOutMsgPayload.qInrtl2Case[i] = measured[i] if valid else 0.0


class SunSensors(_Kernel):
    """Coarse Sun vector in B at 2 Hz, zeros in the dark."""

    def __init__(self, seed: int, noise_rad: float, sun_hat_N: np.ndarray) -> None:
        super().__init__("sun_sensors")
        self.RNGSeed = seed
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.eclipseInMsg = messaging.EclipseMsgReader()
        self.sunOutMsg = messaging.NavAttMsg()
        self.memory.noise = noise_rad
        self.memory.sun = sun_hat_N

    @staticmethod
    def UpdateStateImpl(stateInMsgPayload, eclipseInMsgPayload, sunOutMsgPayload, memory, rng):
        memory.count += 1
        noise = rng.standard_normal(3)
        sun_B = rotate(dcm_from_mrp(stateInMsgPayload.sigma_BN.copy()), memory.sun.copy())
        measured = unit(sun_B + memory.noise * noise)
        lit = eclipseInMsgPayload.shadowFactor > 0.0
        for i in range(3):
            sunOutMsgPayload.vehSunPntBdy[i] = measured[i] if lit else 0.0


class Estimator(_Kernel):
    """Attitude from the gyro, corrected by the selected source; knows only what instruments say.

    Quaternion propagation with (gyro - bias), trapezoid at 10 Hz; a star tracker solution every 0.5 s is
    taken with a fixed gain, or re-acquired from when it disagrees by more than `REACQUIRE_RAD`.
    """

    def __init__(self, attitude: np.ndarray, sun_hat_N: np.ndarray, dt: float) -> None:
        super().__init__("estimator")
        self.imuInMsg = messaging.IMUSensorMsgReader()
        self.stInMsg = messaging.STSensorMsgReader()
        self.sunInMsg = messaging.NavAttMsgReader()
        self.navOutMsg = messaging.NavAttMsg()
        self.memory.q = attitude
        self.memory.rate = np.zeros(3)
        self.memory.previous = np.zeros(3)
        self.memory.bias = np.zeros(3)
        self.memory.sun = sun_hat_N
        self.memory.dt = dt
        self.memory.source = STAR_TRACKER
        self.memory.calibrating = 0
        self.memory.innovation = 0.0
        self.memory.valid = 0
        self.memory.valid_at = 0.0
        self.memory.last_fix = np.zeros(4)
        self.memory.fix_rate = 0.0

    @staticmethod
    def UpdateStateImpl(
        imuInMsgPayload,
        stInMsgPayload,
        sunInMsgPayload,
        navOutMsgPayload,
        CurrentSimNanos,
        memory,
    ):
        first = memory.count == 0
        memory.count += 1
        raw = imuInMsgPayload.AngVelPlatform.copy()
        rate = raw - memory.bias
        if first:
            memory.rate[:] = rate
        else:
            mean = 0.5 * (rate + memory.previous)
            memory.q[:] = ep_product(ep_of_rotation(mean * memory.dt), memory.q.copy())
            memory.rate[:] = (1 - RATE_FILTER) * memory.rate + RATE_FILTER * rate
        memory.previous[:] = rate
        if (memory.count - 1) % TICKS_PER_CONTROL == 0:
            fix = stInMsgPayload.qInrtl2Case.copy()
            memory.valid = 1 if np.any(fix != 0.0) else 0
            period = TICKS_PER_CONTROL * memory.dt
            if memory.valid == 1:
                inverse = memory.q.copy()
                inverse[1:] = -inverse[1:]
                error = rotation_of_ep(ep_product(fix, inverse))
                size = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
                memory.innovation = size
                before = memory.last_fix.copy()
                memory.fix_rate = 0.0
                if np.any(before != 0.0):
                    before[1:] = -before[1:]
                    turn = rotation_of_ep(ep_product(fix, before))
                    turned = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
                    memory.fix_rate = turned / period
                if memory.source == STAR_TRACKER:
                    if size > REACQUIRE_RAD:
                        memory.q[:] = fix
                    else:
                        step = ep_of_rotation(TRACKER_GAIN * error)
                        memory.q[:] = ep_product(step, memory.q.copy())
                        if memory.calibrating == 1:
                            for i in range(3):
                                b = memory.bias[i] - BIAS_GAIN * error[i]
                                memory.bias[i] = min(max(b, -BIAS_LIMIT_RAD_S), BIAS_LIMIT_RAD_S)
                memory.valid_at = CurrentSimNanos / 1e9
            memory.last_fix[:] = fix
            sun = sunInMsgPayload.vehSunPntBdy.copy()
            if memory.source == SUN_SENSORS and np.any(sun != 0.0):
                expected = rotate(dcm_from_ep(memory.q.copy()), memory.sun.copy())
                correction = ep_of_rotation(SUN_GAIN * cross(sun, expected))
                memory.q[:] = ep_product(correction, memory.q.copy())
        memory.q[:] = memory.q / math.sqrt(
            memory.q[0] ** 2 + memory.q[1] ** 2 + memory.q[2] ** 2 + memory.q[3] ** 2
        )
        sigma = mrp_from_ep(memory.q.copy())
        for i in range(3):
            navOutMsgPayload.sigma_BN[i] = sigma[i]
            navOutMsgPayload.omega_BN_B[i] = memory.rate[i]
            navOutMsgPayload.vehSunPntBdy[i] = sunInMsgPayload.vehSunPntBdy[i]


class Guidance(_Kernel):
    """Reference attitude at 2 Hz: a frame to follow, reached along a rate-limited eigenaxis turn.

    The turn is a trapezoid in the angle still to go about a fixed axis of the followed frame.
    """

    def __init__(self, sun_hat_N: np.ndarray) -> None:
        super().__init__("guidance")
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.refOutMsg = messaging.AttRefMsg()
        self.memory.follow = FIXED
        self.memory.frame = np.eye(3)
        self.memory.sun = sun_hat_N
        self.memory.relay_angle = 0.0
        self.memory.start = 0.0
        self.memory.axis = np.array([1.0, 0.0, 0.0])
        self.memory.angle = 0.0
        self.memory.rate = 1.0
        self.memory.acceleration = 1.0

    @staticmethod
    def UpdateStateImpl(stateInMsgPayload, refOutMsgPayload, CurrentSimNanos, memory):
        memory.count += 1
        t = CurrentSimNanos / 1e9
        r = stateInMsgPayload.r_BN_N.copy()
        v = stateInMsgPayload.v_BN_N.copy()
        frame = np.zeros((3, 3))
        later = np.zeros((3, 3))
        frame[:] = memory.frame
        later[:] = memory.frame
        if memory.follow != FIXED:
            r3 = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) ** 1.5
            v1 = v - MU_EARTH / r3 * r
            r1 = r + 0.5 * (v + v1)
            if memory.follow == NADIR:
                frame[:] = nadir_frame(r, v)
                later[:] = nadir_frame(r1, v1)
            else:
                a = memory.relay_angle + EARTH_RATE_RAD_S * t
                b = a + EARTH_RATE_RAD_S
                now = GEO_RADIUS_M * np.array([math.cos(a), math.sin(a), 0.0])
                then = GEO_RADIUS_M * np.array([math.cos(b), math.sin(b), 0.0])
                frame[:] = pointing_frame(unit(now - r), memory.sun.copy())
                later[:] = pointing_frame(unit(then - r1), memory.sun.copy())
        drift = matmul(later, np.ascontiguousarray(frame.T))
        omega_F = 0.5 * np.array(
            [drift[1, 2] - drift[2, 1], drift[2, 0] - drift[0, 2], drift[0, 1] - drift[1, 0]]
        )
        since = t - memory.start
        ramp = min(memory.rate / memory.acceleration, math.sqrt(memory.angle / memory.acceleration))
        peak = memory.acceleration * ramp
        cruise = memory.angle / peak - ramp if peak > 0 else 0.0
        turned, speed, push = memory.angle, 0.0, 0.0
        if since < ramp:
            turned = 0.5 * memory.acceleration * since * since
            speed, push = memory.acceleration * since, memory.acceleration
        elif since < ramp + cruise:
            turned = 0.5 * peak * ramp + peak * (since - ramp)
            speed = peak
        elif since < 2 * ramp + cruise:
            left = 2 * ramp + cruise - since
            turned = memory.angle - 0.5 * memory.acceleration * left * left
            speed, push = memory.acceleration * left, -memory.acceleration
        axis = memory.axis.copy()
        remaining = dcm_from_ep(ep_of_rotation((memory.angle - turned) * axis))
        sigma = mrp_from_dcm(matmul(remaining, frame))
        back = np.ascontiguousarray(frame.T)
        omega_N = rotate(back, omega_F - speed * axis)
        domega_N = rotate(back, -push * axis)
        for i in range(3):
            refOutMsgPayload.sigma_RN[i] = sigma[i]
            refOutMsgPayload.omega_RN_N[i] = omega_N[i]
            refOutMsgPayload.domega_RN_N[i] = domega_N[i]


@register_jitable
def _finite(on_time: float) -> float:
    """[s] An on-time within a control period; 0 for what is no number."""
    limit = TICKS_PER_CONTROL * STEP_S
    return min(max(on_time, 0.0), limit) if math.isfinite(on_time) else 0.0


class ValveDriver(_Kernel):
    """Six torque channels to twelve valves at 2 Hz: latches, isolation, inhibit, tank gate, pulse grid.

    What opposing channels have in common is dropped: the force mapping lifts both sides of an idle axis.

    Also keeps the books: steps commanded of each valve, and the rate change the gyro saw beyond what
    those explain.
    """

    def __init__(self, dt: float, unusable_kg: float, torque: float, inertia: np.ndarray) -> None:
        super().__init__("valve_driver")
        self.requestInMsg = messaging.THRArrayOnTimeCmdMsgReader()
        self.tankInMsg = messaging.FuelTankMsgReader()
        self.imuInMsg = messaging.IMUSensorMsgReader()
        self.valveOutMsg = messaging.THRArrayOnTimeCmdMsg()
        self.memory.dt = dt
        self.memory.unusable = unusable_kg
        self.memory.torque = torque
        self.memory.inertia = inertia
        self.memory.branch = 0
        self.memory.isolated = np.zeros(12, dtype=np.int64)
        self.memory.inhibit = 1
        self.memory.channel = -1
        self.memory.pulse = 0
        self.memory.test = 0
        self.memory.ticks = np.zeros(12, dtype=np.int64)
        self.memory.last = np.zeros(6, dtype=np.int64)
        self.memory.rate = np.zeros(3)
        self.memory.bias = np.zeros(3)
        self.memory.surplus = np.zeros(3)

    @staticmethod
    def UpdateStateImpl(
        requestInMsgPayload, tankInMsgPayload, imuInMsgPayload, valveOutMsgPayload, memory
    ):
        rate = imuInMsgPayload.AngVelPlatform - memory.bias
        if memory.count > 0:
            mid = 0.5 * (rate + memory.rate)
            stored = memory.inertia * mid
            gyroscopic = cross(mid, stored)
            for i in range(3):
                impulse = memory.torque * memory.dt * (memory.last[2 * i] - memory.last[2 * i + 1])
                drift = gyroscopic[i] * TICKS_PER_CONTROL * memory.dt
                expected = (impulse - drift) / memory.inertia[i]
                memory.surplus[i] += rate[i] - memory.rate[i] - expected
        memory.rate[:] = rate
        memory.count += 1
        fed = tankInMsgPayload.fuelMass > memory.unusable
        for unit_number in range(12):
            valveOutMsgPayload.OnTimeRequest[unit_number] = 0.0
        for channel in range(6):
            steps = 0
            if memory.channel == channel:
                steps = min(memory.pulse, TICKS_PER_CONTROL)
            elif memory.test > 0:
                spacing = TEST_PERIODS // 6
                steps = 1 if memory.test == TEST_PERIODS - spacing * channel else 0
            elif memory.inhibit == 0 and memory.channel < 0:
                request = _finite(requestInMsgPayload.OnTimeRequest[channel])
                opposite = _finite(requestInMsgPayload.OnTimeRequest[channel ^ 1])
                steps = int((request - min(request, opposite)) / memory.dt + 0.5)
            valve = channel + 6 * memory.branch
            if not fed or memory.isolated[valve] == 1:
                steps = 0
            if steps > 0:
                valveOutMsgPayload.OnTimeRequest[valve] = memory.dt * (steps - PULSE_TRIM)
            memory.ticks[valve] += steps
            memory.last[channel] = steps
        memory.test = max(memory.test - 1, 0)
        if memory.channel >= 0:
            memory.pulse = max(memory.pulse - TICKS_PER_CONTROL, 0)


class Recorder(_Kernel):
    """Copies one row of truth and estimate a second, where Python can read it cheaply."""

    def __init__(self, tank: Tank, temperature_k: float) -> None:
        super().__init__("recorder")
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.navInMsg = messaging.NavAttMsgReader()
        self.guidInMsg = messaging.AttGuidMsgReader()
        self.tankInMsg = messaging.FuelTankMsgReader()
        self.batteryInMsg = messaging.PowerStorageStatusMsgReader()
        self.panelInMsg = messaging.PowerNodeUsageMsgReader()
        self.eclipseInMsg = messaging.EclipseMsgReader()
        self.memory.row = np.zeros(ROW_SIZE)
        self.memory.unusable = tank.unusable_kg
        self.memory.temperature = temperature_k
        self.memory.time_constant = tank.time_constant_s
        self.memory.sunlit = tank.sunlit_k
        self.memory.eclipse = tank.eclipse_k

    @staticmethod
    def UpdateStateImpl(
        stateInMsgPayload,
        navInMsgPayload,
        guidInMsgPayload,
        tankInMsgPayload,
        batteryInMsgPayload,
        panelInMsgPayload,
        eclipseInMsgPayload,
        CurrentSimNanos,
        memory,
    ):
        memory.count += 1
        lit = eclipseInMsgPayload.shadowFactor
        around = memory.eclipse + lit * (memory.sunlit - memory.eclipse)
        memory.temperature += (around - memory.temperature) / memory.time_constant
        row = memory.row
        row[0] = CurrentSimNanos / 1e9
        error = rotation_of_ep(ep_from_mrp(guidInMsgPayload.sigma_BR.copy()))
        spin = guidInMsgPayload.omega_BR_B
        for i in range(3):
            row[1 + i] = stateInMsgPayload.sigma_BN[i]
            row[4 + i] = stateInMsgPayload.omega_BN_B[i]
            row[8 + i] = navInMsgPayload.sigma_BN[i]
            row[11 + i] = navInMsgPayload.omega_BN_B[i]
            row[21 + i] = navInMsgPayload.vehSunPntBdy[i]
        row[7] = max(tankInMsgPayload.fuelMass - memory.unusable, 0.0)
        row[14] = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
        row[15] = math.sqrt(spin[0] ** 2 + spin[1] ** 2 + spin[2] ** 2)
        row[17] = batteryInMsgPayload.storageLevel / batteryInMsgPayload.storageCapacity
        row[18] = panelInMsgPayload.netPower
        row[19] = lit
        row[20] = memory.temperature
