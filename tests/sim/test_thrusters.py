"""Impulse and propellant of pulses, the tank's end, and what the valve driver lets through."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from Basilisk.architecture import messaging
from Basilisk.utilities import SimulationBaseClass

from orbital_ops_env.commands import (
    ON_TIMES_S,
    Check,
    Coast,
    Detumble,
    Fire,
    IsolateThruster,
    SafeMode,
    SelectBranch,
    Slew,
)
from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.constants import STANDARD_GRAVITY_M_S2
from orbital_ops_env.sim.frames import Vec3
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Limits, Orbit, Snapshot, SpacecraftConfig

Build = Callable[..., Plant]
AXES = ("+x", "-x", "+y", "-y", "+z", "-z")
FLOW_KG_S = 0.025 / (65.0 * STANDARD_GRAVITY_M_S2)
TORQUE_N_M = 0.025 * 0.3
BACKWARDS = {"+": "-", "-": "+"}


def fire(axis: str, on_time_s: float) -> Fire:
    return Fire.model_validate({"axis": axis, "on_time_s": on_time_s})


@pytest.fixture
def still(at_rest: Build) -> Plant:
    """At rest, with nothing that could move it but its thrusters."""
    return at_rest()


@pytest.mark.parametrize("branch", ["A", "B"])
@pytest.mark.parametrize("wait_s", [(), (30.0,), (1200.0, 300.0)], ids=["at 5 s", "35 s", "1505 s"])
def test_a_pulse_of_n_steps_delivers_n_steps_of_impulse_and_of_propellant(
    still: Plant, inertia: Callable[..., Vec3], branch: str, wait_s: tuple[float, ...]
) -> None:
    still.execute(SelectBranch.model_validate({"branch": branch}))
    for duration_s in wait_s:
        still.execute(Coast(duration_s=duration_s))
    for axis, on_time_s in product(AXES, ON_TIMES_S):
        for sign in (axis[0], BACKWARDS[axis[0]]):  # and back, so that every pulse starts at rest
            truth = still.execute(fire(sign + axis[1], on_time_s)).truth
            before, after = (inertia(still.craft, p) for p in truth.propellant_kg[[0, -1]])
            gained = after * truth.omega_BN_B[-1] - before * truth.omega_BN_B[0]
            ordered = float(sign + "1") * TORQUE_N_M * on_time_s * np.eye(3)["xyz".index(axis[1])]
            lost = truth.propellant_kg[0] - truth.propellant_kg[-1]
            assert np.abs(gained - ordered).max() < TORQUE_N_M * 1e-6  # [s]
            assert abs(lost - FLOW_KG_S * on_time_s) < FLOW_KG_S * 1e-11  # [s]


def test_the_valve_books_agree_with_the_mass_that_left_the_tank(
    still: Plant, gas_g: Callable[[Snapshot], float]
) -> None:
    lost = 0.0
    for branch, axis, on_time_s in zip("ABABAB", AXES, ON_TIMES_S, strict=True):
        still.execute(SelectBranch.model_validate({"branch": branch}))
        lost += gas_g(still.execute(fire(axis, on_time_s)))
    sensed = still.snapshot.sensed
    expected = np.zeros(12)
    expected[[0, 7, 2, 9, 4, 11]] = ON_TIMES_S
    assert sensed.valve_on_s == pytest.approx(expected, abs=1e-12)
    assert 1e3 * FLOW_KG_S * sensed.valve_on_s.sum() == pytest.approx(lost, abs=1e-12)
    assert 1e3 * sensed.propellant_kg == pytest.approx(8.0 - lost, abs=1e-12)
    assert sensed.propellant_kg == pytest.approx(still.snapshot.truth.propellant_kg[-1], abs=1e-15)


def test_an_isolated_thruster_stays_shut(still: Plant) -> None:
    still.execute(IsolateThruster(unit=1))
    shut = still.execute(fire("+x", 5.0))
    assert not shut.sensed.valve_on_s.any()
    assert np.ptp(shut.truth.propellant_kg) == 0.0
    assert np.abs(shut.truth.omega_BN_B).max() < 1e-15
    assert still.execute(fire("-x", 5.0)).sensed.valve_on_s[1] == pytest.approx(5.0)


def test_a_pulse_that_is_cut_short_is_not_finished_later(still: Plant) -> None:
    edge = still.t + 2.0
    cut = still.execute(fire("+z", 5.0), Limits(edges_s=(edge,)))
    assert cut.reason == "window_edge"
    on_time_s = cut.sensed.valve_on_s[4]
    assert 2.0 <= on_time_s <= 2.5
    assert still.execute(Coast(duration_s=30.0)).sensed.valve_on_s[4] == on_time_s


def test_a_thruster_check_that_is_cut_short_fires_nothing_later(still: Plant) -> None:
    still.execute(Check(subsystem="thrusters"), Limits(edges_s=(still.t + 3.0,)))
    on_time_s = still.snapshot.sensed.valve_on_s.sum()
    assert still.execute(Coast(duration_s=30.0)).sensed.valve_on_s.sum() == on_time_s


def test_a_thruster_check_fires_each_channel_once_and_leaves_the_craft_at_rest(
    still: Plant,
) -> None:
    checked = still.execute(Check(subsystem="thrusters"))
    assert checked.sensed.valve_on_s == pytest.approx([0.5] * 6 + [0.0] * 6)
    assert np.abs(checked.truth.omega_BN_B).max() > math.radians(0.05)
    assert np.abs(checked.truth.omega_BN_B[-1]).max() < math.radians(1e-4)


def test_the_tank_is_never_overdrawn_and_an_empty_one_gives_no_torque(
    build: Build,
    far_orbit: Orbit,
    quiet_craft: SpacecraftConfig,
    momentum: Callable[..., Vec3],
) -> None:
    plant = build(orbit=far_orbit, craft=quiet_craft, omega_deg_s=(3.0, -2.0, 4.0), propellant_g=0.3)
    plant.execute(Detumble(rate_deg_s=0.05))
    assert plant.snapshot.detail == "propellant"
    plant.execute(Coast(duration_s=30.0))
    gas = plant._vehicle.tank.fuelTankOutMsg.read().fuelMass
    assert 0.0 < gas <= quiet_craft.tank.unusable_kg
    for command in (
        Slew(target="sun", rate_deg_s=2.0),
        fire("+y", 5.0),
        Detumble(rate_deg_s=0.05),
        SafeMode(duration_s=300.0),
    ):
        truth = plant.execute(command, Limits(edges_s=(plant.t + 60.0,))).truth
        H = momentum(quiet_craft, truth)
        assert np.abs(H - H[0]).max() < 1e-8 * np.linalg.norm(H[0])
    assert plant._vehicle.tank.fuelTankOutMsg.read().fuelMass == gas


def test_commands_go_on_arriving_at_the_valves_of_an_empty_tank(
    build: Build, far_orbit: Orbit, quiet_craft: SpacecraftConfig
) -> None:
    plant = build(orbit=far_orbit, craft=quiet_craft, omega_deg_s=(3.0, 3.0, 3.0), propellant_g=0.0)
    before = plant.execute(Detumble(rate_deg_s=0.05), Limits(edges_s=(60.0,)))
    requests = plant._vehicle.firing.onTimeOutMsg.read().OnTimeRequest[:6]
    assert max(requests) > 0.4
    assert not before.sensed.valve_on_s.any()
    assert np.ptp(before.truth.propellant_kg) == 0.0


class Bench:
    """The valve driver alone, between messages of its own."""

    def __init__(self, requests: list[float], gas_kg: float = 0.008) -> None:
        simulation: Any = SimulationBaseClass.SimBaseClass()
        process = simulation.CreateNewProcess("bench")
        process.addTask(simulation.CreateNewTask("control", 500_000_000))
        request = messaging.THRArrayOnTimeCmdMsgPayload()
        request.OnTimeRequest = requests
        tank = messaging.FuelTankMsgPayload()
        tank.fuelMass = gas_kg
        self.inputs = (
            messaging.THRArrayOnTimeCmdMsg().write(request),
            messaging.FuelTankMsg().write(tank),
            messaging.IMUSensorMsg().write(messaging.IMUSensorMsgPayload()),
        )
        self.driver = kernels.ValveDriver(0.1, 1.2e-4, TORQUE_N_M, np.array([4.0, 3.5, 2.5]))
        readers = (self.driver.requestInMsg, self.driver.tankInMsg, self.driver.imuInMsg)
        for reader, message in zip(readers, self.inputs, strict=True):
            reader.subscribeTo(message)
        self.driver.memory.inhibit = 0
        simulation.AddModelToTask("control", self.driver)
        simulation.InitializeSimulation()
        simulation.TotalSim.StepUntilStop(0, -1)
        self.simulation = simulation

    @property
    def steps(self) -> list[int]:
        """Whole steps that the first six valves are told to fire."""
        return [round(on / 0.1) for on in self.driver.valveOutMsg.read().OnTimeRequest[:6]]


@pytest.mark.parametrize("bad", [math.nan, -math.inf, -0.3, -1e300, 0.0, 0.049])
def test_a_senseless_or_too_small_request_fires_nothing(bad: float) -> None:
    bench = Bench([bad] * 6)
    assert bench.steps == [0] * 6
    assert not np.array(bench.driver.memory.ticks).any()


def test_an_infinite_request_fires_nothing() -> None:
    bench = Bench([math.inf, 0.0, math.inf, 0.0, 0.0, math.inf])
    assert bench.steps == [0] * 6


@pytest.mark.parametrize("long", [0.5, 0.55, 3.0, 1e9, 1e30, 1e300])
def test_a_long_request_fires_for_the_control_period(long: float) -> None:
    bench = Bench([long, 0.0, 0.0, long, 0.0, 0.0])
    assert bench.steps == [5, 0, 0, 5, 0, 0]
    assert list(bench.driver.memory.ticks[:6]) == [5, 0, 0, 5, 0, 0]


def test_requests_are_rounded_to_whole_steps_just_short_of_the_grid() -> None:
    bench = Bench([0.051, 0.0, 0.149, 0.0, 0.0, 0.44])
    assert bench.steps == [1, 0, 1, 0, 0, 4]
    on_time_s = bench.driver.valveOutMsg.read().OnTimeRequest[5]
    assert 0.4 - 1e-9 < on_time_s < 0.4


def test_opposed_valves_never_fire_together() -> None:
    bench = Bench([0.3, 0.1, 0.2, 0.2, 0.0, 0.5])
    assert bench.steps == [2, 0, 0, 0, 0, 5]


@pytest.mark.parametrize(("gas_kg", "steps"), [(1.19e-4, 0), (1.2e-4, 0), (1.21e-4, 5)])
def test_the_last_gas_that_the_regulator_cannot_deliver_is_kept(gas_kg: float, steps: int) -> None:
    assert Bench([0.5, 0.0, 0.0, 0.0, 0.0, 0.0], gas_kg).steps[0] == steps


@pytest.mark.parametrize(
    "axis",
    [(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1, 1), (-1, 1, 1), (-1, 2, -0.5), (0.3, -1, 1)],
    ids=str,
)
def test_a_detumble_from_3_deg_s_costs_hardly_more_than_the_ideal_impulse(
    build: Build,
    inertia: Callable[..., Vec3],
    gas_g: Callable[[Snapshot], float],
    axis: tuple[float, float, float],
) -> None:
    direction = np.array(axis) / np.linalg.norm(axis)
    plant = build(omega_deg_s=tuple(3.0 * direction))
    still = plant.execute(Detumble(rate_deg_s=0.1))
    H = inertia(plant.craft, 0.008) * still.truth.omega_BN_B[0]
    ideal_g = 1e3 * np.abs(H).sum() / 0.3 / (65.0 * STANDARD_GRAVITY_M_S2)
    assert still.reason == "completed"
    assert np.linalg.norm(still.truth.omega_BN_B[-1]) < math.radians(0.1)
    assert 0.95 * ideal_g < gas_g(still) < 1.15 * ideal_g
