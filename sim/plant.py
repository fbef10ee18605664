"""The spacecraft as a flight controller meets it: one telecommand in, one snapshot out.

`execute` sets the onboard software up for a command, flies in steps of a second until the command, a
window edge, a limit or an alarm ends it, and reads the instruments. Commands that cannot be done are
refused and cost time. There is no checkpoint: a state is restored by flying the same commands again.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Final

import numpy as np

from orbital_ops_env import commands
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.autopilot import Autopilot
from orbital_ops_env.sim.constants import NITROGEN_GAS_CONSTANT
from orbital_ops_env.sim.faults import BRANCH_UNITS, Fault, StuckOpen
from orbital_ops_env.sim.state import (
    EndReason,
    LimitName,
    Limits,
    Sensed,
    Site,
    Snapshot,
    SpacecraftConfig,
    Start,
    Target,
    Thrusters,
    Track,
)
from orbital_ops_env.sim.variation import draw_variation
from orbital_ops_env.sim.vehicle import Vehicle

SETTLED_RAD = math.radians(1.0)
"""[rad] a slew is over when the estimated error stays under it,"""
SETTLED_RAD_S = math.radians(0.05)
"""[rad/s] and the estimated rate error under it,"""
STEADY_S = 10
"""[s] for this long."""
SLEW_DEADBAND_RAD = math.radians(3.0)
"""[rad] loose gains on the way: tight ones limit-cycle along the whole turn."""
DETUMBLE_GAIN = 3.0
"""[N m s] rate gain that leaves 0.02 deg/s: level_on x 0.1/0.5 x 7.5 mN m / gain."""
NO_STIFFNESS = 1e-9
"""[N m] attitude gain while only rates matter; Basilisk has no rate damper."""
EASE_RAD_S = math.radians(0.2)
"""[rad/s] rate at which a hold closes an error above `EASE_RAD`."""
EASE_RAD = math.radians(2.0)
"""[rad] smaller errors are left to the feedback: a turn's ramps would cost more gas."""
HOLD_REACH_RAD = math.radians(10.0)
"""[rad] a hold farther from its target than this is refused."""
CALIBRATION_RATE_RAD_S = math.radians(0.5)
"""[rad/s] fastest star tracker rate that a calibration accepts."""
IMAGE_DEADBAND_RAD = math.radians(0.5)
"""[rad] of the hold while the imager waits and exposes."""
IMAGE_LIMIT_S = 120.0
"""[s] in which an image is taken or never."""
DOWNLINK_DEADBAND_RAD = math.radians(1.0)
"""[rad] of the hold while the radio sends."""
DOWNLINK_LIMIT_S = 600.0
"""[s] longest downlink; no pass at 500 km lasts so long."""
SHORTEST_TURN_S = 30.0
"""[s] least time a slew is given before it is cut off."""
ENDINGS: Final[tuple[tuple[EndReason, LimitName], ...]] = (
    ("limit", "valve_current"),
    ("limit", "propellant"),
    ("limit", "sun_angle"),
    ("alarm", "body_rate"),
    ("alarm", "unexplained_rate"),
    ("alarm", "innovation"),
    ("alarm", "attitude_source"),
    ("alarm", "battery"),
)
"""Limits and alarms that end a command, the most important first."""
UNEXPLAINED_RAD_S = math.radians(1.0)
"""[rad/s] alarm on a rate change above it that the valves do not explain; 0.06 deg/s at most in health."""
STANDING_SOLUTIONS = 20
"""[-] star tracker solutions, two a second, after which a standing innovation is an alarm; one that a blind
spell left is gone after 10."""
SILENT_S = 60.0
"""[s] a star tracker that is the attitude source and is silent for longer, with nothing in its way, ends
slews and holds, and none begins."""
OPEN_S = kernels.OPEN_PERIODS * Thrusters().control_s
"""[s] for which a valve is open without a command before that is a limit."""
OPEN_VALVES = 3
"""[-] most that are open at once: one an axis."""
TIME, ON_TIME, BATTERY, RATE, SUN_ANGLE, ERROR, ERROR_RATE, SILENT, IMAGING, SENDING = (
    kernels.SCALARS[name]
    for name in (
        "t",
        "on_time",
        "battery",
        "rate",
        "sun_angle",
        "error",
        "error_rate",
        "silent",
        "imaging",
        "sending",
    )
)


@dataclass(frozen=True)
class _Flight:
    """How a command flies: until it is done, or its time is up."""

    duration_s: float
    runs_out: EndReason = "completed"
    """The reason given when its time is up."""
    done: Callable[[list[float]], bool] | None = None
    """Whether a row counts towards `steady_s`; None for a command that just lasts."""
    steady_s: int = STEADY_S
    """[s] for which rows must count."""
    silent_s: float = math.inf
    """[s] silence of the attitude source that is an alarm."""


class Refusal(Exception):
    """A readable command that cannot be done now; its text is the telemetry."""


class Plant:
    """One spacecraft in one episode. Not thread-safe; one session owns it.

    Args:
        start: The craft at mission time 0.
        targets: What the mission names.
        episode_seed: Sensor noise, tip-off details and disturbances.
        craft: Parameters of the craft.
        faults: What breaks, and when.
        others: What the craft can turn to besides. It goes where it is told, asked for or not: a name that is
            guessed wrong costs a turn, not ten seconds.
    """

    def __init__(
        self,
        start: Start,
        targets: Mapping[str, Target],
        episode_seed: int,
        craft: SpacecraftConfig | None = None,
        faults: Sequence[Fault] = (),
        others: Mapping[str, Target] | None = None,
    ) -> None:
        self.craft = craft or SpacecraftConfig()
        self._targets = dict(targets)
        self._known = {**(others or {}), **targets}
        payload = self.craft.payload
        self._most_w = self.craft.power.bus_w + max(payload.imager_w, payload.radio_w)
        self._loaded_kg, self._flow_kg_s = start.propellant_kg, self.craft.thrusters.flow_kg_s
        self._gauge = np.random.default_rng(np.random.SeedSequence([episode_seed, 5]))
        start, variation = draw_variation(start, episode_seed, self.craft)
        stations = {name: target for name, target in targets.items() if isinstance(target, Site)}
        self._vehicle = Vehicle(start, variation, self.craft, faults, stations)
        self._faults = tuple(faults)
        self._pilot = Autopilot(self._vehicle, start.orbit, self.craft)
        self._row = self._vehicle.advance(0.0)[-1]
        self.snapshot = self._observe(self._row[None], "start", "")

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What breaks: as it began, or as it would begin if it did now."""
        return tuple(map(self._vehicle.as_struck, self._faults))

    @property
    def t(self) -> float:
        """[s] mission time."""
        return float(self._row[TIME])

    def execute(self, command: AnyCommand, limits: Limits | None = None) -> Snapshot:
        """Fly one telecommand to its end.

        Args:
            command: What to do.
            limits: What ends it early.

        Returns:
            The snapshot at the end, with the history since the command began.

        Raises:
            RuntimeError: The simulation failed; the plant must be discarded.
        """
        limits = limits or Limits()
        self._vehicle.valves.memory.surplus = np.zeros(3)
        refused = ""
        try:
            flight = self._begin(command)
        except Refusal as refusal:
            flight, refused = _Flight(commands.REFUSED_S), str(refusal)
        rows, reason, name = self._fly(flight, limits)
        self._row = rows[-1]
        self._finish()
        told = ": ".join(filter(None, (name, refused)))
        self.snapshot = self._observe(rows, "refused" if refused else reason, told)
        return self.snapshot

    # -- flying --------------------------------------------------------------------------------

    def _fly(self, flight: _Flight, limits: Limits) -> tuple[np.ndarray, EndReason, LimitName]:
        """The rows of a flight, why it ended, and the limit or alarm that ended it."""
        stretches, row, t = [self._row[None]], self._row.tolist(), self.t
        end, edge = t + flight.duration_s, min((e for e in limits.edges_s if e > t), default=math.inf)
        last = math.ceil(min(end, edge))
        beyond, steady = self._beyond(row, flight, limits.at(t)), 0
        while True:
            quiet_s = min(self._quiet_s(row, limits.at(t)), limits.change_s(t) - t)
            ahead = min(int(quiet_s), flight.steady_s - steady)
            t = min(t + max(ahead, 1), last)
            stretches.append(self._vehicle.advance(t))
            row = stretches[-1][-1].tolist()
            before, beyond = beyond, self._beyond(row, flight, limits.at(t))
            if flight.done:
                for each in stretches[-1].tolist():
                    steady = steady + 1 if flight.done(each) else 0
            if begun := _begun(before, beyond):
                return np.concatenate(stretches), *begun
            if steady >= flight.steady_s:
                return np.concatenate(stretches), "completed", ""
            if t >= end:
                return np.concatenate(stretches), flight.runs_out, ""
            if t >= edge:
                return np.concatenate(stretches), "window_edge", ""

    def _quiet_s(self, row: list[float], limits: Limits) -> int:
        """[s] for which no limit or alarm can come about, whatever valves and panel do.

        A star tracker or Sun sensor that moves the estimate at once can still do it, and so can the alarms on
        unexplained rates and a silent source; such a limit ends the command late, by `STEADY_S` at most.
        """
        moments, power = self.craft.inertia_kg_m2, self.craft.power
        torque = math.sqrt(3) * self.craft.thrusters.torque_n_m
        tumbling = row[RATE] ** 2 * (max(moments) - min(moments))
        acceleration = (torque + tumbling) / min(moments)
        spans = (
            (self._counted_kg(row[ON_TIME]) - limits.propellant_kg) / (OPEN_VALVES * self._flow_kg_s),
            _soonest_s(row[SUN_ANGLE] - limits.sun_angle_rad, row[RATE], acceleration),
            (self.craft.body_rate_rad_s - row[RATE]) / acceleration,
            (row[BATTERY] - self._battery_floor(limits)) * power.battery_j / self._most_w,
            *self._until_told(row[TIME]),
        )
        return int(min(spans))

    def _until_told(self, t: float) -> list[float]:
        """[s] Until the sensor of each stuck valve of the selected branch can tell, if it has not yet."""
        valves = self._vehicle.valves.memory
        return [
            max(fault.onset_s + OPEN_S - t, 0.0)
            for fault in self.faults
            if isinstance(fault, StuckOpen)
            and (fault.unit - 1) // BRANCH_UNITS == valves.branch
            and valves.periods[fault.unit - 1] < kernels.OPEN_PERIODS
        ]

    def _beyond(self, row: list[float], flight: _Flight, limits: Limits) -> tuple[int, ...]:
        """How far each of `ENDINGS` stands, by the estimate; only one that rises ends a command."""
        return (
            int(self._vehicle.valves.memory.uncommanded),
            self._counted_kg(row[ON_TIME]) <= limits.propellant_kg,
            row[SUN_ANGLE] < limits.sun_angle_rad,
            row[RATE] > self.craft.body_rate_rad_s,
            float(np.linalg.norm(self._vehicle.valves.memory.surplus)) > UNEXPLAINED_RAD_S,
            self._vehicle.estimator.memory.standing > STANDING_SOLUTIONS,
            self._silent_s(row) > flight.silent_s,
            row[BATTERY] < self._battery_floor(limits),
        )

    def _battery_floor(self, limits: Limits) -> float:
        """[-] Charge under which a command ends."""
        return max(self.craft.power.low_fraction, limits.battery)

    def _silent_s(self, row: list[float]) -> float:
        """[s] for which the attitude source has been silent with nothing in its way."""
        return row[SILENT] if self._vehicle.estimator.memory.source == kernels.STAR_TRACKER else 0.0

    def _counted_kg(self, on_time_s: float) -> float:
        """[kg] usable propellant by the books of the valves."""
        return max(self._loaded_kg - on_time_s * self._flow_kg_s, 0.0)

    # -- commands ------------------------------------------------------------------------------

    @singledispatchmethod
    def _begin(self, command: object) -> _Flight:
        raise TypeError(f"{command!r} is not a telecommand")

    @_begin.register
    def _(self, command: commands.Detumble) -> _Flight:
        self._pilot.stay()
        self._pilot.set_gains(NO_STIFFNESS, DETUMBLE_GAIN)
        threshold = math.radians(command.rate_deg_s)
        return _Flight(commands.DETUMBLE_LIMIT_S, "duration", lambda row: row[RATE] < threshold)

    @_begin.register
    def _(self, command: commands.Slew) -> _Flight:
        target = self._target(command.target)
        self._need_a_fix()
        nominal = self._pilot.turn_to(target, math.radians(command.rate_deg_s), self.t)
        self._pilot.set_gains(*self._pilot.deadband_gains(SLEW_DEADBAND_RAD))
        arrival = self.t + nominal
        patience = max(2 * nominal, nominal + SHORTEST_TURN_S)
        return _Flight(patience, "duration", lambda row: _settled(row, arrival), silent_s=SILENT_S)

    @_begin.register
    def _(self, command: commands.Hold) -> _Flight:
        self._hold(command.target, math.radians(command.deadband_deg))
        return _Flight(command.duration_s, "duration", silent_s=SILENT_S)

    @_begin.register
    def _(self, command: commands.Coast) -> _Flight:
        self._vehicle.valves.memory.inhibit = 1
        return _Flight(command.duration_s, "duration")

    @_begin.register
    def _(self, command: commands.Fire) -> _Flight:
        axis, sign = commands.spin_axis(command.axis)
        valves = self._vehicle.valves.memory
        valves.channel = 2 * axis + (0 if sign > 0 else 1)
        valves.pulse = round(command.on_time_s / self.craft.thrusters.step_s)
        return _Flight(math.ceil(command.on_time_s) + 1.0)

    @_begin.register
    def _(self, command: commands.SelectBranch) -> _Flight:
        self._vehicle.valves.memory.branch = "AB".index(command.branch)
        return _Flight(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.IsolateThruster) -> _Flight:
        isolated = np.array(self._vehicle.valves.memory.isolated)
        if isolated[command.unit - 1]:
            raise Refusal(f"thruster {command.unit} is isolated already")
        isolated[command.unit - 1] = 1
        self._vehicle.valves.memory.isolated = isolated
        return _Flight(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.CalibrateGyro) -> _Flight:
        navigator = self._vehicle.estimator.memory
        if not navigator.valid:
            raise Refusal("star tracker not valid")
        if math.isnan(navigator.fix_rate):
            raise Refusal("star tracker rate not known yet")
        if navigator.fix_rate > CALIBRATION_RATE_RAD_S:
            raise Refusal("star tracker rate above 0.5 deg/s")
        if navigator.innovation > kernels.REACQUIRE_RAD:
            raise Refusal("innovation above 5 deg")
        if navigator.source != kernels.STAR_TRACKER:
            raise Refusal("attitude source is not the star tracker")
        navigator.calibrating = 1
        return _Flight(command.duration_s, "duration")

    @_begin.register
    def _(self, command: commands.SelectAttitudeSource) -> _Flight:
        sources = ("star_tracker", "sun_sensors", "gyro")
        self._vehicle.estimator.memory.source = sources.index(command.source)
        return _Flight(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.SafeMode) -> _Flight:
        self._vehicle.guide_by(sun_safe=True)
        self._pilot.set_gains(*self._pilot.deadband_gains(SLEW_DEADBAND_RAD))
        return _Flight(command.duration_s, "duration")

    @_begin.register
    def _(self, command: commands.Check) -> _Flight:
        if command.subsystem == "thrusters":
            return self._test_pulses()
        return _Flight(commands.CHECK_S)

    @_begin.register
    def _(self, command: commands.ReportFault) -> _Flight:
        needs_unit = command.kind in commands.THRUSTER_FAULTS
        if needs_unit and command.unit is None:
            raise Refusal(f"{command.kind} needs a unit")
        if not needs_unit and command.unit is not None:
            raise Refusal(f"{command.kind} takes no unit")
        return _Flight(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.Image) -> _Flight:
        payload, driver = self.craft.payload, self._vehicle.payload.memory
        if self._stored_bit() + payload.image_bit > payload.storage_bit:
            raise Refusal("storage full, downlink first")
        driver.arrival = self._hold(command.target, IMAGE_DEADBAND_RAD)
        driver.mode, driver.exposed = kernels.IMAGE, 0.0

        def taken(row: list[float]) -> bool:
            return driver.exposed >= payload.exposure_s and not row[IMAGING]

        return _Flight(IMAGE_LIMIT_S, "duration", taken, steady_s=1, silent_s=SILENT_S)

    @_begin.register
    def _(self, command: commands.Downlink) -> _Flight:
        self._target(command.station)
        if command.station not in self._vehicle.stations:
            stations = ", ".join(self._vehicle.stations) or "none"
            raise Refusal(f"not a station, expected one of {stations}")
        if self._stored_bit() <= 0:
            raise Refusal("nothing stored, image first")
        if not self._in_view(command.station):
            raise Refusal(f"{command.station} is not in view")
        driver = self._vehicle.payload.memory
        arrival = driver.arrival = self._hold(command.station, DOWNLINK_DEADBAND_RAD)
        driver.mode = kernels.SEND
        return _Flight(DOWNLINK_LIMIT_S, "duration", lambda row: _silent(row, arrival), silent_s=SILENT_S)

    @_begin.register
    def _(self, command: commands.EndMission) -> _Flight:
        return _Flight(1.0)

    @_begin.register
    def _(self, command: commands.Unreadable) -> _Flight:
        raise Refusal(commands.complaint(command.text))

    def _finish(self) -> None:
        """Back to idle: valves inhibited, nothing calibrating, no pulse, reference attitude in charge."""
        valves = self._vehicle.valves.memory
        valves.inhibit, valves.channel, valves.pulse, valves.test = 1, -1, 0, 0
        self._vehicle.estimator.memory.calibrating = 0
        self._vehicle.payload.memory.mode = kernels.OFF
        valves.bias = np.array(self._vehicle.estimator.memory.bias)
        self._vehicle.guide_by(sun_safe=False)

    def _test_pulses(self) -> _Flight:
        valves = self._vehicle.valves.memory
        valves.test = kernels.TEST_PERIODS
        return _Flight(commands.CHECK_S)

    def _hold(self, name: str, deadband_rad: float) -> float:
        """Hold a target that is near within a deadband.

        Returns:
            [s] Mission time from which the reference is on the target.
        """
        target = self._target(name)
        self._need_a_fix()
        away = self._pilot.angle_to(target, self.t)
        if away > HOLD_REACH_RAD:
            raise Refusal(f"{name} is {math.degrees(away):.0f} deg away, slew first")
        arrival = self.t + self._pilot.turn_to(target, EASE_RAD_S, self.t)
        if away < EASE_RAD:
            self._vehicle.guidance.memory.angle, arrival = 0.0, self.t
        self._pilot.set_gains(*self._pilot.deadband_gains(deadband_rad))
        return arrival

    def _stored_bit(self) -> float:
        """[bit] in the storage."""
        return float(self._vehicle.storage.storageUnitDataOutMsg.read().storageLevel)

    def _in_view(self, station: str) -> bool:
        """Whether a station sees the craft."""
        return bool(self._vehicle.stations[station].accessOutMsgs[0].read().hasAccess)

    def _target(self, name: str) -> Target:
        if name not in self._known:
            raise Refusal(f"no such target, expected one of {', '.join(self._targets)}")
        return self._known[name]

    def _need_a_fix(self) -> None:
        if (silent_s := self._silent_s(self._row.tolist())) > SILENT_S:
            raise Refusal(f"no attitude fix for {silent_s:.0f} s")

    # -- telemetry -----------------------------------------------------------------------------

    def _observe(self, table: np.ndarray, reason: EndReason, detail: str) -> Snapshot:
        truth = _track(table, "true_sigma", "true_omega", table[:, kernels.ROW["true_propellant"]])
        counted = np.array([self._counted_kg(on_time_s) for on_time_s in table[:, ON_TIME]])
        return Snapshot(
            t=self.t,
            began=float(truth.t[0]),
            reason=reason,
            detail=detail,
            sensed=self._sense(),
            truth=truth,
            estimate=_track(table, "sigma", "omega", counted),
        )

    def _sense(self) -> Sensed:
        row = self._row
        navigator, valves = self._vehicle.estimator.memory, self._vehicle.valves.memory
        tank, gauge = self.craft.tank, self._gauge
        temperature = row[kernels.ROW["temperature"]]
        gas_kg = row[kernels.ROW["true_propellant"]] + tank.unusable_kg
        pressure = gas_kg * NITROGEN_GAS_CONSTANT * temperature / tank.volume_m3
        sources = ("star_tracker", "sun_sensors", "gyro")
        return Sensed(
            gyro_rad_s=row[kernels.ROW["omega"]].copy(),
            bias_rad_s=np.array(navigator.bias),
            sigma_BN=row[kernels.ROW["sigma"]].copy(),
            tracker_valid=bool(navigator.valid),
            tracker_age_s=self.t - float(navigator.valid_at),
            innovation_rad=float(navigator.innovation),
            tracker_rate_rad_s=None if math.isnan(navigator.fix_rate) else float(navigator.fix_rate),
            sun_B=row[kernels.ROW["sun"]].copy(),
            pressure_pa=float(pressure + gauge.normal(scale=tank.pressure_noise_pa)),
            temperature_k=float(temperature + gauge.normal(scale=tank.temperature_noise_k)),
            propellant_kg=self._counted_kg(float(row[ON_TIME])),
            valve_on_s=np.array(valves.ticks) * self.craft.thrusters.step_s,
            surplus_rate_rad_s=np.array(valves.surplus),
            battery_fraction=float(row[BATTERY]),
            panel_w=float(row[kernels.ROW["panel"]]),
            stored=self._stored_bit() / self.craft.payload.storage_bit,
            branch="AB"[int(valves.branch)],  # type: ignore[arg-type]
            isolated=tuple(int(n) + 1 for n in np.flatnonzero(valves.isolated)),
            source=sources[int(navigator.source)],  # type: ignore[arg-type]
        )


def _track(table: np.ndarray, sigma: str, omega: str, propellant: np.ndarray) -> Track:
    return Track(
        t=table[:, TIME],
        sigma_BN=table[:, kernels.ROW[sigma]],
        omega_BN_B=table[:, kernels.ROW[omega]],
        propellant_kg=propellant,
        on_time_s=table[:, ON_TIME],
        battery=table[:, BATTERY],
        imaging=table[:, IMAGING] > 0,
        sending=table[:, SENDING] > 0,
    )


def _begun(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[EndReason, LimitName] | None:
    """The first of `ENDINGS` that has risen."""
    if before == after:
        return None
    endings = zip(before, after, ENDINGS, strict=True)
    return next((ending for was, now, ending in endings if now > was), None)


def _soonest_s(angle: float, rate: float, acceleration: float) -> float:
    """[s] time in which an angle can be covered from a rate; 0 for an angle that is not positive."""
    return 2 * angle / (rate + math.sqrt(rate**2 + 2 * acceleration * angle)) if angle > 0 else 0.0


def _silent(row: list[float], arrival: float) -> bool:
    """Whether the radio has nothing more to send, or nobody to send it to."""
    return row[TIME] > arrival and not row[SENDING]


def _settled(row: list[float], arrival: float) -> bool:
    return row[TIME] >= arrival and row[ERROR] < SETTLED_RAD and row[ERROR_RATE] < SETTLED_RAD_S
