"""The spacecraft as a flight controller meets it: one telecommand in, one snapshot out.

`execute` sets the onboard software up for a command, flies in steps of a second until the command, a
window edge, a limit or an alarm ends it, and reads the instruments. Commands that cannot be done are
refused and cost time. There is no checkpoint: a state is restored by flying the same commands again.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any

import numpy as np

from orbital_ops_env import commands
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.autopilot import Autopilot
from orbital_ops_env.sim.constants import NITROGEN_GAS_CONSTANT
from orbital_ops_env.sim.frames import (
    angle_between,
    dcm_from_mrp,
)
from orbital_ops_env.sim.state import (
    PAYLOAD_B,
    EndReason,
    LimitName,
    Limits,
    Sensed,
    Snapshot,
    SpacecraftConfig,
    Start,
    Target,
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
SHORTEST_TURN_S = 30.0
"""[s] least time a slew is given before it is cut off."""


@dataclass(frozen=True)
class _Flight:
    """How a command flies: until it is done, or its time is up."""

    duration_s: float
    done: Callable[[np.ndarray], bool] | None = None
    """Whether a row counts towards `STEADY_S`; None for a command that just lasts."""
    lasting: bool = False
    """Whether running out of time is the command's own end by duration."""


class Refusal(Exception):
    """A readable command that cannot be done now; its text is the telemetry."""


class Plant:
    """One spacecraft in one episode. Not thread-safe; one session owns it.

    Args:
        start: The craft at mission time 0.
        targets: What `slew` and `hold` may name.
        episode_seed: Sensor noise, tip-off details and disturbances.
        craft: Parameters of the craft.
    """

    def __init__(
        self,
        start: Start,
        targets: Mapping[str, Target],
        episode_seed: int,
        craft: SpacecraftConfig | None = None,
    ) -> None:
        self.craft = craft or SpacecraftConfig()
        self._sun_hat_N = start.orbit.sun_hat_N
        self._targets = dict(targets)
        self._loaded_kg = start.propellant_kg
        self._gauge = np.random.default_rng(np.random.SeedSequence([episode_seed, 5]))
        start, variation = draw_variation(start, episode_seed, self.craft)
        self._vehicle = Vehicle(start, variation, self.craft)
        self._pilot = Autopilot(self._vehicle, start.orbit, self.craft)
        self._row = self._vehicle.row()
        self.snapshot = self._observe([self._row], "completed", "")

    @property
    def t(self) -> float:
        """[s] mission time."""
        return float(self._row[kernels.ROW["t"]])

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
        try:
            flight = self._begin(command)
        except Refusal as refusal:
            rows, _, name = self._fly(_Flight(commands.REFUSED_S), limits)
            self.snapshot = self._observe(rows, "refused", str(refusal) or name)
            return self.snapshot
        rows, reason, name = self._fly(flight, limits)
        self._finish()
        self.snapshot = self._observe(rows, reason, name)
        return self.snapshot

    # -- flying --------------------------------------------------------------------------------

    def _fly(self, flight: _Flight, limits: Limits) -> tuple[list[np.ndarray], EndReason, LimitName]:
        rows = [self._row]
        end = self.t + flight.duration_s
        edge = min((e for e in limits.edges_s if e > self.t), default=math.inf)
        steady = 0
        while True:
            self._vehicle.advance(self.t + 1.0)
            before, self._row = self._row, self._vehicle.row()
            rows.append(self._row)
            steady = steady + 1 if flight.done and flight.done(self._row) else 0
            if steady >= STEADY_S:
                return rows, "completed", ""
            tripped = self._tripped(before, self._row, limits)
            if tripped:
                return rows, *tripped
            if self.t >= end:
                lasted = flight.done is not None or flight.lasting
                return rows, "duration" if lasted else "completed", ""
            if self.t >= edge:
                return rows, "window_edge", ""

    def _tripped(
        self, before: np.ndarray, after: np.ndarray, limits: Limits
    ) -> tuple[EndReason, LimitName] | None:
        """The limit that was crossed between two rows; one that already stood ends nothing."""
        crossings: tuple[tuple[EndReason, LimitName, Callable[[np.ndarray], Any]], ...] = (
            ("limit", "propellant", lambda row: self._counted_kg(row) <= limits.propellant_kg),
            ("limit", "sun_angle", lambda row: self._looks_near_sun(row, limits.sun_angle_rad)),
            ("alarm", "body_rate", lambda row: _norm(row, "omega") > self.craft.body_rate_rad_s),
            (
                "alarm",
                "battery",
                lambda row: row[kernels.ROW["battery"]] < self.craft.power.low_fraction,
            ),
        )
        for reason, name, crossed in crossings:
            if crossed(after) and not crossed(before):
                return reason, name
        return None

    def _looks_near_sun(self, row: np.ndarray, limit_rad: float) -> bool:
        """Whether payload and Sun are too near by the estimate, which sensor noise does not shake."""
        if limit_rad <= 0:
            return False
        payload = dcm_from_mrp(row[kernels.ROW["sigma"]])[int(np.argmax(PAYLOAD_B))]
        return angle_between(payload, self._sun_hat_N) < limit_rad

    def _counted_kg(self, row: np.ndarray) -> float:
        used = row[kernels.ROW["on_time"]] * self.craft.thrusters.flow_kg_s
        return max(self._loaded_kg - float(used), 0.0)

    # -- commands ------------------------------------------------------------------------------

    @singledispatchmethod
    def _begin(self, command: object) -> _Flight:
        raise TypeError(f"{command!r} is not a telecommand")

    @_begin.register
    def _(self, command: commands.Detumble) -> _Flight:
        self._pilot.stay()
        self._pilot.set_gains(NO_STIFFNESS, DETUMBLE_GAIN)
        threshold = math.radians(command.rate_deg_s)
        return _Flight(commands.DETUMBLE_LIMIT_S, lambda row: _norm(row, "omega") < threshold)

    @_begin.register
    def _(self, command: commands.Slew) -> _Flight:
        target = self._target(command.target)
        nominal = self._pilot.turn_to(target, math.radians(command.rate_deg_s), self.t)
        self._pilot.set_gains(*self._pilot.deadband_gains(SLEW_DEADBAND_RAD))
        arrival = self.t + nominal
        return _Flight(max(2 * nominal, nominal + SHORTEST_TURN_S), lambda row: _settled(row, arrival))

    @_begin.register
    def _(self, command: commands.Hold) -> _Flight:
        target = self._target(command.target)
        away = self._pilot.angle_to(target, self.t)
        if away > HOLD_REACH_RAD:
            raise Refusal(f"{command.target} is {math.degrees(away):.0f} deg away, slew first")
        self._pilot.turn_to(target, EASE_RAD_S, self.t)
        if away < EASE_RAD:
            self._vehicle.guidance.memory.angle = 0.0
        self._pilot.set_gains(*self._pilot.deadband_gains(math.radians(command.deadband_deg)))
        return _Flight(command.duration_s, lasting=True)

    @_begin.register
    def _(self, command: commands.Coast) -> _Flight:
        self._vehicle.valves.memory.inhibit = 1
        return _Flight(command.duration_s, lasting=True)

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
        return self._inhibited(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.IsolateThruster) -> _Flight:
        isolated = np.array(self._vehicle.valves.memory.isolated)
        if isolated[command.unit - 1]:
            raise Refusal(f"thruster {command.unit} is isolated already")
        isolated[command.unit - 1] = 1
        self._vehicle.valves.memory.isolated = isolated
        return self._inhibited(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.CalibrateGyro) -> _Flight:
        navigator = self._vehicle.estimator.memory
        if not navigator.valid:
            raise Refusal("star tracker not valid")
        if navigator.fix_rate > CALIBRATION_RATE_RAD_S:
            raise Refusal("star tracker rate above 0.5 deg/s")
        if navigator.innovation > kernels.REACQUIRE_RAD:
            raise Refusal("innovation above 5 deg")
        if navigator.source != kernels.STAR_TRACKER:
            raise Refusal("attitude source is not the star tracker")
        navigator.calibrating = 1
        return self._inhibited(command.duration_s, lasting=True)

    @_begin.register
    def _(self, command: commands.SelectAttitudeSource) -> _Flight:
        sources = ("star_tracker", "sun_sensors", "gyro")
        self._vehicle.estimator.memory.source = sources.index(command.source)
        return self._inhibited(commands.SWITCH_S)

    @_begin.register
    def _(self, command: commands.SafeMode) -> _Flight:
        self._vehicle.guide_by(sun_safe=True)
        self._pilot.set_gains(*self._pilot.deadband_gains(SLEW_DEADBAND_RAD))
        return _Flight(command.duration_s, lasting=True)

    @_begin.register
    def _(self, command: commands.Check) -> _Flight:
        if command.subsystem == "thrusters":
            return self._test_pulses()
        return self._inhibited(commands.CHECK_S)

    @_begin.register
    def _(self, command: commands.ReportFault) -> _Flight:
        needs_unit = command.kind in commands.THRUSTER_FAULTS
        if needs_unit and command.unit is None:
            raise Refusal(f"{command.kind} needs a unit")
        if not needs_unit and command.unit is not None:
            raise Refusal(f"{command.kind} takes no unit")
        return self._inhibited(commands.SWITCH_S)

    @_begin.register(commands.Image)
    @_begin.register(commands.Downlink)
    def _(self, command: commands.Image | commands.Downlink) -> _Flight:
        raise Refusal(f"{command.command}: subsystem not installed")

    @_begin.register
    def _(self, command: commands.EndMission) -> _Flight:
        return self._inhibited(1.0)

    @_begin.register
    def _(self, command: commands.Unreadable) -> _Flight:
        raise Refusal(commands.parse_error(command.text) or "not sent as a telecommand")

    def _finish(self) -> None:
        """Back to idle: valves inhibited, nothing calibrating, no pulse, reference attitude in charge."""
        valves = self._vehicle.valves.memory
        valves.inhibit, valves.channel, valves.pulse, valves.test = 1, -1, 0, 0
        self._vehicle.estimator.memory.calibrating = 0
        valves.bias = np.array(self._vehicle.estimator.memory.bias)
        self._vehicle.guide_by(sun_safe=False)

    def _inhibited(self, duration_s: float, *, lasting: bool = False) -> _Flight:
        return _Flight(duration_s, lasting=lasting)

    def _test_pulses(self) -> _Flight:
        valves = self._vehicle.valves.memory
        valves.test = kernels.TEST_PERIODS
        return _Flight(commands.CHECK_S)

    def _target(self, name: str) -> Target:
        if name not in self._targets:
            raise Refusal(f"no target {name} in this mission")
        return self._targets[name]

    # -- telemetry -----------------------------------------------------------------------------

    def _observe(self, rows: list[np.ndarray], reason: EndReason, detail: str) -> Snapshot:
        table = np.array(rows)
        truth = _track(table, "true_sigma", "true_omega", table[:, kernels.ROW["true_propellant"]])
        counted = np.array([self._counted_kg(row) for row in rows])
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
            tracker_rate_rad_s=float(navigator.fix_rate) if navigator.valid else 0.0,
            sun_B=row[kernels.ROW["sun"]].copy(),
            pressure_pa=float(pressure + gauge.normal(scale=tank.pressure_noise_pa)),
            temperature_k=float(temperature + gauge.normal(scale=tank.temperature_noise_k)),
            propellant_kg=self._counted_kg(row),
            valve_on_s=np.array(valves.ticks) * self.craft.thrusters.step_s,
            surplus_rate_rad_s=np.array(valves.surplus),
            battery_fraction=float(row[kernels.ROW["battery"]]),
            panel_w=float(row[kernels.ROW["panel"]]),
            branch="AB"[int(valves.branch)],  # type: ignore[arg-type]
            isolated=tuple(int(n) + 1 for n in np.flatnonzero(valves.isolated)),
            source=sources[int(navigator.source)],  # type: ignore[arg-type]
        )


def _track(table: np.ndarray, sigma: str, omega: str, propellant: np.ndarray) -> Track:
    return Track(
        t=table[:, kernels.ROW["t"]],
        sigma_BN=table[:, kernels.ROW[sigma]],
        omega_BN_B=table[:, kernels.ROW[omega]],
        propellant_kg=propellant,
        on_time_s=table[:, kernels.ROW["on_time"]],
    )


def _norm(row: np.ndarray, name: str) -> float:
    return math.hypot(*row[kernels.ROW[name]])


def _settled(row: np.ndarray, arrival: float) -> bool:
    return bool(
        row[kernels.ROW["t"]] >= arrival
        and row[kernels.ROW["error"]] < SETTLED_RAD
        and row[kernels.ROW["error_rate"]] < SETTLED_RAD_S
    )
