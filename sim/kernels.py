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
from orbital_ops_env.sim.constants import EARTH_RATE_RAD_S, MU_EARTH
from orbital_ops_env.sim.frames import (
    angle_between,
    cross,
    dcm_from_ep,
    dcm_from_mrp,
    ep_from_dcm,
    ep_from_mrp,
    ep_of_rotation,
    ep_product,
    inverse,
    matmul,
    mrp_from_dcm,
    mrp_from_ep,
    nadir_frame,
    norm,
    pointing_frame,
    relative,
    rotate,
    rotate_back,
    rotation_of_ep,
    scaled,
    site_frame,
    unit,
)
from orbital_ops_env.sim.state import Payload, Sensors, Tank, Thrusters

FIXED, NADIR, RELAY, SITE = 0, 1, 2, 3
"""What a `Guidance` frame follows."""
OFF, IMAGE, SEND = 0, 1, 2
"""What the `PayloadDriver` does."""
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
SLOW = 0.9
"""[-] share of the star tracker's rate limit,"""
CLEAR_RAD = math.radians(3.0)
"""[rad] and angle beyond its exclusion zones, at which it should see by the estimate."""
STANDING_RAD = math.radians(0.3)
"""[rad] an innovation above it at one solution after another says that gyro and star tracker disagree."""
BIAS_LIMIT_RAD_S = math.radians(1.0)
"""[rad/s] clamp of the bias estimate."""
RATE_FILTER = 0.35
"""[-] share of a new gyro sample in the rate estimate, at 10 Hz."""
TEST_PERIODS = 24
"""[-] control periods of a thruster check: one of them on each channel, 2 s apart."""
OPEN_PERIODS = 4
"""[-] control periods in which a valve is open without a command before its sensor says so."""
PULSE_TRIM = 4e-10
"""[-] share of a step taken off an on-time, so that integration stages see whole steps."""

SCALARS = {
    "t": 0,
    "true_propellant": 7,
    "error": 14,
    "error_rate": 15,
    "on_time": 16,
    "battery": 17,
    "panel": 18,
    "illumination": 19,
    "temperature": 20,
    "rate": 24,
    "sun_angle": 25,
    "silent": 26,
    "imaging": 27,
    "sending": 28,
}
VECTORS = {
    "true_sigma": slice(1, 4),
    "true_omega": slice(4, 7),
    "sigma": slice(8, 11),
    "omega": slice(11, 14),
    "sun": slice(21, 24),
}
ROW = SCALARS | VECTORS
"""Where the `Recorder` puts what, SI.

`error`, `error_rate` (against the last reference), `rate` and `sun_angle` (payload) are as estimated on
board; `silent` counts the seconds since the last star tracker solution in which, by the estimate, nothing is
in its way, and is 0 before the first.
"""
ROW_SIZE = 29
RING_SIZE = 16
"""[-] rows that the `Recorder` keeps, one a second."""


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
    """Body rate with white noise and a constant bias, at 10 Hz; faults add another, and one that grows."""

    def __init__(self, seed: int, noise_rad_s: float, bias_rad_s: np.ndarray) -> None:
        super().__init__("gyro")
        self.RNGSeed = seed
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.imuOutMsg = messaging.IMUSensorMsg()
        self.memory.noise = noise_rad_s
        self.memory.bias = bias_rad_s
        self.memory.fault_s = np.inf
        self.memory.fault_bias = np.zeros(3)
        self.memory.drift_s = np.inf
        self.memory.drift = np.zeros(3)

    @staticmethod
    def UpdateStateImpl(stateInMsgPayload, imuOutMsgPayload, CurrentSimNanos, memory, rng):
        memory.count += 1
        noise = rng.standard_normal(3)
        t = CurrentSimNanos / 1e9
        faulty = 1.0 if t >= memory.fault_s else 0.0
        drifted = t - memory.drift_s if t >= memory.drift_s else 0.0
        for i in range(3):
            bias = memory.bias[i] + faulty * memory.fault_bias[i] + drifted * memory.drift[i]
            imuOutMsgPayload.AngVelPlatform[i] = (
                stateInMsgPayload.omega_BN_B[i] + bias + memory.noise * noise[i]
            )


class StarTracker(_Kernel):
    """Attitude at 2 Hz, or zeros while broken, too fast, too near the Sun or too near the Earth."""

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
        self.memory.fault_s = np.inf

    @staticmethod
    def UpdateStateImpl(
        stateInMsgPayload, eclipseInMsgPayload, stOutMsgPayload, CurrentSimNanos, memory, rng
    ):
        memory.count += 1
        noise = rng.standard_normal(3)
        q = ep_from_mrp(stateInMsgPayload.sigma_BN.copy())
        boresight = dcm_from_ep(q)[1]
        rate = norm(stateInMsgPayload.omega_BN_B)
        blinded = angle_between(boresight, memory.sun.copy()) < memory.sun_limit
        if eclipseInMsgPayload.shadowFactor <= 0.0:
            blinded = False
        nadir = scaled(-1.0, stateInMsgPayload.r_BN_N)
        valid = rate < memory.rate_limit and not blinded
        valid = valid and angle_between(boresight, nadir) >= memory.nadir_limit
        valid = valid and CurrentSimNanos / 1e9 < memory.fault_s
        measured = ep_product(ep_of_rotation(scaled(memory.noise, noise)), q)
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
        for i in range(3):
            sun_B[i] += memory.noise * noise[i]
        measured = unit(sun_B)
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
        self.memory.standing = 0
        self.memory.valid = 0
        self.memory.valid_at = 0.0
        self.memory.last_fix = np.zeros(4)
        self.memory.fix_rate = math.nan

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
        q = memory.q.copy()
        mean = np.empty(3)
        for i in range(3):
            rate = imuInMsgPayload.AngVelPlatform[i] - memory.bias[i]
            before = rate if first else memory.previous[i]
            mean[i] = 0.0 if first else 0.5 * (rate + before) * memory.dt
            memory.rate[i] += (1.0 if first else RATE_FILTER) * (rate - memory.rate[i])
            memory.previous[i] = rate
        q = ep_product(ep_of_rotation(mean), q)
        if (memory.count - 1) % TICKS_PER_CONTROL == 0:
            fix = stInMsgPayload.qInrtl2Case.copy()
            memory.valid = 1 if _given(fix) else 0
            memory.fix_rate = math.nan
            if memory.valid == 1:
                memory.valid_at = CurrentSimNanos / 1e9
                moved = rotation_of_ep(ep_product(fix, inverse(memory.last_fix)))
                if _given(memory.last_fix):
                    memory.fix_rate = norm(moved) / (TICKS_PER_CONTROL * memory.dt)
                error = rotation_of_ep(ep_product(fix, inverse(q)))
                memory.innovation = norm(error)
                apart = memory.source == STAR_TRACKER and memory.innovation > STANDING_RAD
                memory.standing = memory.standing + 1 if apart else 0
                if memory.source == STAR_TRACKER and memory.innovation > REACQUIRE_RAD:
                    q = fix
                elif memory.source == STAR_TRACKER:
                    q = ep_product(ep_of_rotation(scaled(TRACKER_GAIN, error)), q)
                    for i in range(3):
                        bias = memory.bias[i] - BIAS_GAIN * memory.calibrating * error[i]
                        memory.bias[i] = min(max(bias, -BIAS_LIMIT_RAD_S), BIAS_LIMIT_RAD_S)
            for i in range(4):
                memory.last_fix[i] = fix[i]
            if memory.source == SUN_SENSORS:
                expected = rotate(dcm_from_ep(q), memory.sun)
                away = cross(sunInMsgPayload.vehSunPntBdy, expected)
                q = ep_product(ep_of_rotation(scaled(SUN_GAIN, away)), q)
        length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for i in range(4):
            memory.q[i] = q[i] / length
        sigma = mrp_from_ep(memory.q)
        for i in range(3):
            navOutMsgPayload.sigma_BN[i] = sigma[i]
            navOutMsgPayload.omega_BN_B[i] = memory.rate[i]
            navOutMsgPayload.vehSunPntBdy[i] = sunInMsgPayload.vehSunPntBdy[i]


@register_jitable
def _given(q):
    """Whether Euler parameters are a solution; a blind star tracker sends zeros."""
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > 0.0


@register_jitable
def _anchor_direction(radius, latitude, angle, r):
    """Unit vector from the craft to what turns with the Earth, at a latitude and a right ascension [rad]."""
    level = radius * math.cos(latitude)
    to_anchor = np.empty(3)
    to_anchor[0] = level * math.cos(angle) - r[0]
    to_anchor[1] = level * math.sin(angle) - r[1]
    to_anchor[2] = radius * math.sin(latitude) - r[2]
    return unit(to_anchor)


@register_jitable
def _anchor_frame(follow, direction, r, v, sun, side):
    """dcm_RN of a relay or of a place on the ground."""
    if follow == SITE:
        return site_frame(direction, scaled(side, unit(cross(r, v))))
    return pointing_frame(direction, sun)


@register_jitable
def _turn_profile(since, angle, rate, acceleration):
    """Angle turned [rad], speed [rad/s] and acceleration [rad/s^2] of a trapezoid at a time [s]."""
    ramp = min(rate / acceleration, math.sqrt(angle / acceleration))
    peak = acceleration * ramp
    cruise = angle / peak - ramp if peak > 0 else 0.0
    if since < ramp:
        return 0.5 * acceleration * since * since, acceleration * since, acceleration
    if since < ramp + cruise:
        return 0.5 * peak * ramp + peak * (since - ramp), peak, 0.0
    left = 2 * ramp + cruise - since
    if left > 0:
        return angle - 0.5 * acceleration * left * left, acceleration * left, -acceleration
    return angle, 0.0, 0.0


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
        self.memory.anchor_angle = 0.0
        self.memory.anchor_latitude = 0.0
        self.memory.anchor_radius = 1.0
        self.memory.side = 1.0
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
        frame = memory.frame.copy()
        later = memory.frame.copy()
        if memory.follow != FIXED:
            pull = MU_EARTH / norm(r) ** 3
            r1, v1 = np.empty(3), np.empty(3)
            for i in range(3):
                v1[i] = v[i] - pull * r[i]
                r1[i] = r[i] + 0.5 * (v[i] + v1[i])
            if memory.follow == NADIR:
                frame = nadir_frame(r, v)
                later = nadir_frame(r1, v1)
            else:
                angle = memory.anchor_angle + EARTH_RATE_RAD_S * t
                radius, latitude = memory.anchor_radius, memory.anchor_latitude
                here = _anchor_direction(radius, latitude, angle, r)
                ahead = _anchor_direction(radius, latitude, angle + EARTH_RATE_RAD_S, r1)
                frame = _anchor_frame(memory.follow, here, r, v, memory.sun, memory.side)
                later = _anchor_frame(memory.follow, ahead, r1, v1, memory.sun, memory.side)
        drift = rotation_of_ep(ep_from_dcm(relative(later, frame)))
        turned, speed, push = _turn_profile(t - memory.start, memory.angle, memory.rate, memory.acceleration)
        remaining = dcm_from_ep(ep_of_rotation(scaled(memory.angle - turned, memory.axis)))
        sigma = mrp_from_dcm(matmul(remaining, frame))
        omega_N = rotate_back(frame, drift)
        axis_N = rotate_back(frame, memory.axis)
        for i in range(3):
            refOutMsgPayload.sigma_RN[i] = sigma[i]
            refOutMsgPayload.omega_RN_N[i] = omega_N[i] - speed * axis_N[i]
            refOutMsgPayload.domega_RN_N[i] = -push * axis_N[i]


@register_jitable
def _finite(on_time: float) -> float:
    """[s] An on-time within a control period; 0 for what is no number."""
    limit = TICKS_PER_CONTROL * STEP_S
    return min(max(on_time, 0.0), limit) if math.isfinite(on_time) else 0.0


class ValveDriver(_Kernel):
    """Six torque channels to twelve valves at 2 Hz: latches, isolation, inhibit, tank gate, pulse grid.

    What opposing channels have in common is dropped: the force mapping lifts both sides of an idle axis.

    Also keeps the books: steps commanded of each valve, the rate change the gyro saw beyond what those
    explain, and the valves whose sensor says open without a command. A stuck valve is deaf to its command.
    """

    def __init__(self, dt: float, unusable_kg: float, torque: float, inertia: np.ndarray) -> None:
        super().__init__("valve_driver")
        self.requestInMsg = messaging.THRArrayOnTimeCmdMsgReader()
        self.tankInMsg = messaging.FuelTankMsgReader()
        self.imuInMsg = messaging.IMUSensorMsgReader()
        self.valveOutMsg = messaging.THRArrayOnTimeCmdMsg()
        self.bookOutMsg = messaging.THRArrayOnTimeCmdMsg()
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
        self.memory.closed_s = np.full(12, np.inf)
        self.memory.open_s = np.full(12, np.inf)
        self.memory.periods = np.zeros(12, dtype=np.int64)
        self.memory.uncommanded = 0

    @staticmethod
    def UpdateStateImpl(
        requestInMsgPayload,
        tankInMsgPayload,
        imuInMsgPayload,
        valveOutMsgPayload,
        bookOutMsgPayload,
        CurrentSimNanos,
        memory,
    ):
        t = CurrentSimNanos / 1e9
        mid, stored = np.empty(3), np.empty(3)
        for i in range(3):
            mid[i] = 0.5 * (imuInMsgPayload.AngVelPlatform[i] + memory.rate[i]) - memory.bias[i]
            stored[i] = memory.inertia[i] * mid[i]
        if memory.count > 0:
            gyroscopic = cross(mid, stored)
            for i in range(3):
                impulse = memory.torque * memory.dt * (memory.last[2 * i] - memory.last[2 * i + 1])
                drift = gyroscopic[i] * TICKS_PER_CONTROL * memory.dt
                expected = (impulse - drift) / memory.inertia[i]
                memory.surplus[i] += imuInMsgPayload.AngVelPlatform[i] - memory.rate[i] - expected
        for i in range(3):
            memory.rate[i] = imuInMsgPayload.AngVelPlatform[i]
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
                steps = TICKS_PER_CONTROL if memory.test == TEST_PERIODS - spacing * channel else 0
            elif memory.inhibit == 0 and memory.channel < 0:
                request = _finite(requestInMsgPayload.OnTimeRequest[channel])
                opposite = _finite(requestInMsgPayload.OnTimeRequest[channel ^ 1])
                steps = int((request - min(request, opposite)) / memory.dt + 0.5)
            valve = channel + 6 * memory.branch
            if not fed or memory.isolated[valve] == 1:
                steps = 0
            if steps > 0 and t < memory.closed_s[valve]:
                valveOutMsgPayload.OnTimeRequest[valve] = memory.dt * (steps - PULSE_TRIM)
            memory.ticks[valve] += steps
            memory.last[channel] = steps
        memory.uncommanded = 0
        for channel in range(6):
            valve = channel + 6 * memory.branch
            if fed and t >= memory.open_s[valve]:
                valveOutMsgPayload.OnTimeRequest[valve] = memory.dt * (TICKS_PER_CONTROL - PULSE_TRIM)
                memory.periods[valve] += 1 if memory.last[channel] < TICKS_PER_CONTROL else 0
                memory.uncommanded += 1 if memory.periods[valve] >= OPEN_PERIODS else 0
        for valve in range(12):
            bookOutMsgPayload.OnTimeRequest[valve] = memory.ticks[valve] * memory.dt
        memory.test = max(memory.test - 1, 0)
        if memory.channel >= 0:
            memory.pulse = max(memory.pulse - TICKS_PER_CONTROL, 0)


class Hole(_Kernel):
    """A leak of the tank at 10 Hz: gas lost and torque of its jet, in proportion to the gas left.

    Source: choked flow at constant temperature, Sutton, Rocket Propulsion Elements, chapter 3.
    """

    def __init__(self, onset_s: float, flow_kg_s: float, torque_n_m: np.ndarray) -> None:
        super().__init__("hole")
        self.tankInMsg = messaging.FuelTankMsgReader()
        self.flowOutMsg = messaging.MassFlowRateMsg()
        self.torqueOutMsg = messaging.CmdTorqueBodyMsg()
        self.memory.onset = onset_s
        self.memory.flow = flow_kg_s
        self.memory.torque = torque_n_m
        self.memory.full = 0.0

    @staticmethod
    def UpdateStateImpl(tankInMsgPayload, flowOutMsgPayload, torqueOutMsgPayload, CurrentSimNanos, memory):
        memory.count += 1
        if CurrentSimNanos / 1e9 < memory.onset:
            return
        if memory.full == 0.0:
            memory.full = tankInMsgPayload.fuelMass
        left = max(tankInMsgPayload.fuelMass, 0.0) / memory.full if memory.full > 0.0 else 0.0
        flowOutMsgPayload.massFlowRate = memory.flow * left
        for i in range(3):
            torqueOutMsgPayload.torqueRequestBody[i] = memory.torque[i] * left


class PayloadDriver(_Kernel):
    """Switches imager and radio at 1 Hz, as a command asks and pointing allows.

    Neither works before the reference has arrived at the target. An exposure must not be broken; the radio
    sends while its beam is on the target. Whether a station receives is Basilisk's to say.
    """

    def __init__(self, payload: Payload) -> None:
        super().__init__("payload_driver")
        self.guidInMsg = messaging.AttGuidMsgReader()
        self.imagerOutMsg = messaging.DeviceCmdMsg()
        self.radioOutMsg = messaging.DeviceCmdMsg()
        self.imagerPowerOutMsg = messaging.DeviceStatusMsg()
        self.radioPowerOutMsg = messaging.DeviceStatusMsg()
        self.memory.mode = OFF
        self.memory.arrival = 0.0
        self.memory.error_limit = payload.steady_rad
        self.memory.rate_limit = payload.steady_rad_s
        self.memory.beam = payload.beam_rad
        self.memory.exposure = payload.exposure_s
        self.memory.settle = payload.settle_s
        self.memory.settled = 0.0
        self.memory.exposed = 0.0

    @staticmethod
    def UpdateStateImpl(
        guidInMsgPayload,
        imagerOutMsgPayload,
        radioOutMsgPayload,
        imagerPowerOutMsgPayload,
        radioPowerOutMsgPayload,
        CurrentSimNanos,
        memory,
    ):
        memory.count += 1
        there = CurrentSimNanos / 1e9 >= memory.arrival
        error = norm(rotation_of_ep(ep_from_mrp(guidInMsgPayload.sigma_BR.copy())))
        steady = error < memory.error_limit and norm(guidInMsgPayload.omega_BR_B) < memory.rate_limit
        memory.settled = memory.settled + 1.0 if there and steady and memory.mode == IMAGE else 0.0
        imaging = memory.settled > memory.settle and memory.exposed < memory.exposure
        if imaging:
            memory.exposed += 1.0
        elif memory.exposed < memory.exposure:
            memory.exposed = 0.0
        sending = there and memory.mode == SEND and error < memory.beam
        imagerOutMsgPayload.deviceCmd = 1 if imaging else 0
        imagerPowerOutMsgPayload.deviceStatus = 1 if imaging else 0
        radioOutMsgPayload.deviceCmd = 1 if sending else 0
        radioPowerOutMsgPayload.deviceStatus = 1 if sending else 0


class Recorder(_Kernel):
    """Copies one row of truth and estimate a second into a ring, where Python can read it cheaply."""

    def __init__(self, tank: Tank, sensors: Sensors, temperature_k: float, sun_hat_N: np.ndarray) -> None:
        super().__init__("recorder")
        self.stateInMsg = messaging.SCStatesMsgReader()
        self.navInMsg = messaging.NavAttMsgReader()
        self.guidInMsg = messaging.AttGuidMsgReader()
        self.tankInMsg = messaging.FuelTankMsgReader()
        self.bookInMsg = messaging.THRArrayOnTimeCmdMsgReader()
        self.batteryInMsg = messaging.PowerStorageStatusMsgReader()
        self.panelInMsg = messaging.PowerNodeUsageMsgReader()
        self.eclipseInMsg = messaging.EclipseMsgReader()
        self.stInMsg = messaging.STSensorMsgReader()
        self.imagerInMsg = messaging.DataNodeUsageMsgReader()
        self.radioInMsg = messaging.DataNodeUsageMsgReader()
        self.memory.rate_limit = SLOW * sensors.tracker_rate_rad_s
        self.memory.sun_limit = sensors.tracker_sun_rad + CLEAR_RAD
        self.memory.nadir_limit = sensors.tracker_nadir_rad + CLEAR_RAD
        self.memory.acquired = 0
        self.memory.silent = 0.0
        self.memory.rows = np.zeros((RING_SIZE, ROW_SIZE))
        self.memory.sun = sun_hat_N
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
        bookInMsgPayload,
        batteryInMsgPayload,
        panelInMsgPayload,
        eclipseInMsgPayload,
        stInMsgPayload,
        imagerInMsgPayload,
        radioInMsgPayload,
        CurrentSimNanos,
        memory,
    ):
        row = memory.rows[memory.count % RING_SIZE]
        memory.count += 1
        lit = eclipseInMsgPayload.shadowFactor
        around = memory.eclipse + lit * (memory.sunlit - memory.eclipse)
        memory.temperature += (around - memory.temperature) / memory.time_constant
        row[0] = CurrentSimNanos / 1e9
        error = rotation_of_ep(ep_from_mrp(guidInMsgPayload.sigma_BR.copy()))
        for i in range(3):
            row[1 + i] = stateInMsgPayload.sigma_BN[i]
            row[4 + i] = stateInMsgPayload.omega_BN_B[i]
            row[8 + i] = navInMsgPayload.sigma_BN[i]
            row[11 + i] = navInMsgPayload.omega_BN_B[i]
            row[21 + i] = navInMsgPayload.vehSunPntBdy[i]
        row[7] = max(tankInMsgPayload.fuelMass - memory.unusable, 0.0)
        row[14] = norm(error)
        row[15] = norm(guidInMsgPayload.omega_BR_B)
        row[16] = 0.0
        for valve in range(12):
            row[16] += bookInMsgPayload.OnTimeRequest[valve]
        row[17] = batteryInMsgPayload.storageLevel / batteryInMsgPayload.storageCapacity
        row[18] = panelInMsgPayload.netPower
        row[19] = lit
        row[20] = memory.temperature
        row[24] = norm(navInMsgPayload.omega_BN_B)
        attitude = dcm_from_mrp(navInMsgPayload.sigma_BN.copy())
        row[25] = angle_between(attitude[2], memory.sun)
        nadir = scaled(-1.0, stateInMsgPayload.r_BN_N)
        clear = row[24] < memory.rate_limit and angle_between(attitude[1], nadir) > memory.nadir_limit
        clear = clear and (lit <= 0.0 or angle_between(attitude[1], memory.sun.copy()) > memory.sun_limit)
        if _given(stInMsgPayload.qInrtl2Case.copy()):
            memory.acquired = 1
            memory.silent = 0.0
        elif clear and memory.acquired == 1:
            memory.silent += 1.0
        row[26] = memory.silent
        row[27] = 1.0 if imagerInMsgPayload.baudRate > 0.0 else 0.0
        row[28] = 1.0 if radioInMsgPayload.baudRate < 0.0 else 0.0
