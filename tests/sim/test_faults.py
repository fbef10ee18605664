"""What each fault does to physics and sensors, and what removes it or works round it."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from orbital_ops_env.commands import (
    SWITCH_S,
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    Fire,
    Hold,
    IsolateThruster,
    SelectAttitudeSource,
    SelectBranch,
    Slew,
)
from orbital_ops_env.sim.faults import (
    Fault,
    GyroBias,
    GyroDrift,
    Leak,
    PanelLoss,
    StuckClosed,
    StuckOpen,
    ThrusterFault,
    TrackerOutage,
    WeakThruster,
    unit_of,
)
from orbital_ops_env.sim.frames import Vec3
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Snapshot

Build = Callable[..., Plant]
BIAS_DEG_S = 0.5
FLOW_G_S = 1e3 * 0.025 / (65.0 * 9.80665)
TORQUE_N_M = 0.025 * 0.3
DRIFT_DEG_S2 = 2e-3
LEAK_KG_S, LEAK_N_M = 2e-6, 2e-4
OWED_S = 0.1 / 6
"""[s] of flow that an open valve takes from the tank only as it closes: a sixth of a step."""
OPEN_S = 2.0
"""[s] for which a valve is open without a command before its current is a limit."""
RATE_NOISE_DEG_S = math.sqrt(2) * 0.15 / 60 * math.sqrt(10)
"""[deg/s] 1 sigma of the difference of two gyro readings."""
UNITS = range(1, 13)
SCRIPT = (Slew(target="star", rate_deg_s=1.0), Hold(target="star", deadband_deg=1.0, duration_s=60.0))


def gyro_bias(onset_s: float = 0.0) -> GyroBias:
    return GyroBias(onset_s, (math.radians(BIAS_DEG_S), 0.0, 0.0))


def stuck_closed(onset_s: float) -> StuckClosed:
    return StuckClosed(onset_s, 1)


def stuck_open(onset_s: float) -> StuckOpen:
    return StuckOpen(onset_s, 1)


def weak_thruster(onset_s: float) -> WeakThruster:
    return WeakThruster(onset_s, 1, 0.5)


def gyro_drift(onset_s: float) -> GyroDrift:
    return GyroDrift(onset_s, (math.radians(DRIFT_DEG_S2), 0.0, 0.0))


def leak(onset_s: float) -> Leak:
    return Leak(onset_s, LEAK_KG_S, (0.0, 0.0, LEAK_N_M))


def panel(onset_s: float) -> PanelLoss:
    return PanelLoss(onset_s, 0.5)


ALL = [gyro_bias, TrackerOutage, stuck_closed, stuck_open, weak_thruster, gyro_drift, leak, panel]
SEEN_BY_POWER_OR_STARS = (TrackerOutage, panel)
"""Faults that do not move the craft: the gyro alone does well for a minute, and so does half of the panel."""


def branch(unit: int) -> str:
    return "A" if unit <= 6 else "B"


def other(unit: int) -> SelectBranch:
    return SelectBranch(branch="B" if unit <= 6 else "A")


def axis(unit: int) -> tuple[int, float]:
    """Torque axis and sign of a thruster."""
    channel = (unit - 1) % 6
    return channel // 2, 1.0 if channel % 2 == 0 else -1.0


def fire(unit: int, on_time_s: float) -> Fire:
    number, sign = axis(unit)
    return Fire.model_validate({"axis": f"{'+' if sign > 0 else '-'}{'xyz'[number]}", "on_time_s": on_time_s})


def fly(plant: Plant, commands: Sequence[AnyCommand]) -> list[Snapshot]:
    return [plant.execute(command) for command in commands]


def table(snapshots: Sequence[Snapshot]) -> np.ndarray:
    """Everything that was true and all that was believed, row after row."""
    tracks = [track for s in snapshots for track in (s.truth, s.estimate)]
    return np.concatenate(
        [np.column_stack([k.t, k.sigma_BN, k.omega_BN_B, k.propellant_kg, k.on_time_s]) for k in tracks]
    )


@pytest.mark.parametrize("fault", ALL)
def test_a_fault_that_has_not_begun_leaves_no_trace(build: Build, fault: Callable[[float], Fault]) -> None:
    healthy, later = fly(build(), SCRIPT), fly(build(faults=[fault(1000.0)]), SCRIPT)
    assert np.array_equal(table(healthy), table(later))
    assert [s.detail for s in healthy] == [s.detail for s in later]


@pytest.mark.parametrize("fault", ALL)
def test_a_fault_acts_from_its_onset_on(build: Build, fault: Callable[[float], Fault]) -> None:
    healthy = np.concatenate([k.truth.omega_BN_B for k in fly(build(), SCRIPT)])
    faulty = np.concatenate([k.truth.omega_BN_B for k in fly(build(faults=[fault(20.0)]), SCRIPT)])
    assert np.array_equal(healthy[:21], faulty[:21])
    rows = min(len(healthy), len(faulty))
    if fault not in SEEN_BY_POWER_OR_STARS:
        assert np.abs(healthy[:rows] - faulty[:rows]).max() > math.radians(0.02)


def test_a_gyro_bias_shows_as_a_standing_innovation_and_against_the_star_image(
    at_rest: Callable[..., Plant],
) -> None:
    sensed = at_rest(gyro_bias()).execute(Coast(duration_s=60.0)).sensed
    assert math.degrees(sensed.innovation_rad) == pytest.approx(BIAS_DEG_S * 0.5 / 0.3, rel=0.05)
    gyro = np.linalg.norm(sensed.gyro_rad_s)
    assert sensed.tracker_rate_rad_s is not None
    assert math.degrees(gyro - sensed.tracker_rate_rad_s) == pytest.approx(
        BIAS_DEG_S, abs=0.08
    )  # the star image jitters


def test_a_gyro_bias_without_a_star_tracker_carries_the_estimate_away(
    at_rest: Callable[..., Plant], knowledge_deg: Callable[[Snapshot], float]
) -> None:
    """Hitomi's: 60 degrees in two minutes."""
    lost = at_rest(TrackerOutage(0.0), gyro_bias()).execute(Coast(duration_s=120.0))
    assert knowledge_deg(lost) == pytest.approx(60.0, abs=0.5)


def test_a_calibration_takes_a_gyro_bias_out(
    at_rest: Callable[..., Plant], knowledge_deg: Callable[[Snapshot], float]
) -> None:
    plant = at_rest(gyro_bias(10.0))
    plant.execute(Coast(duration_s=60.0))
    calibrated = plant.execute(CalibrateGyro(duration_s=120.0))
    assert np.degrees(calibrated.sensed.bias_rad_s) == pytest.approx([BIAS_DEG_S, 0, 0], abs=0.02)
    assert knowledge_deg(calibrated) < 0.1
    assert knowledge_deg(plant.execute(Coast(duration_s=120.0))) < 0.1


def test_a_gyro_bias_leaves_a_real_rate_after_a_detumble_without_a_star_tracker(
    at_rest: Callable[..., Plant],
) -> None:
    ended = at_rest(TrackerOutage(0.0), gyro_bias()).execute(Detumble(rate_deg_s=0.1))
    assert ended.reason == "completed"
    true = math.degrees(np.linalg.norm(ended.truth.omega_BN_B[-1]))
    assert true == pytest.approx(BIAS_DEG_S, abs=0.1)
    assert math.degrees(np.linalg.norm(ended.estimate.omega_BN_B[-1])) < 0.1


def test_a_star_tracker_outage_is_a_silence_that_lasts(at_rest: Callable[..., Plant]) -> None:
    plant = at_rest(TrackerOutage(40.0))
    assert plant.execute(Coast(duration_s=30.0)).sensed.tracker_valid
    for after_s in (60.0, 300.0):
        sensed = plant.execute(Coast(duration_s=after_s)).sensed
        assert not sensed.tracker_valid
        assert sensed.tracker_age_s == pytest.approx(plant.t - 39.5, abs=0.6)
    assert plant.execute(CalibrateGyro(duration_s=60.0)).detail == "star tracker not valid"
    assert plant.execute(SelectAttitudeSource(source="sun_sensors")).sensed.source == "sun_sensors"


@pytest.mark.parametrize("unit", UNITS)
def test_a_stuck_closed_thruster_gives_neither_thrust_nor_gas_and_its_branch_alone_is_hurt(
    at_rest: Callable[..., Plant], gas_g: Callable[[Snapshot], float], unit: int
) -> None:
    plant = at_rest(StuckClosed(SWITCH_S, unit))
    plant.execute(SelectBranch.model_validate({"branch": branch(unit)}))
    dead = plant.execute(fire(unit, 5.0))
    number, sign = axis(unit)
    expected = math.degrees(sign * TORQUE_N_M * 5.0 / plant.craft.inertia_kg_m2[number])
    assert gas_g(dead) == 0.0
    assert np.ptp(dead.truth.omega_BN_B, axis=0) == pytest.approx([0, 0, 0], abs=1e-9)
    assert dead.sensed.valve_on_s[unit - 1] == pytest.approx(5.0)
    assert np.degrees(dead.sensed.surplus_rate_rad_s)[number] == pytest.approx(-expected, abs=0.03)
    plant.execute(other(unit))
    alive = plant.execute(fire(unit, 5.0))
    assert gas_g(alive) == pytest.approx(5.0 * FLOW_G_S, rel=1e-6)
    assert np.degrees(alive.truth.omega_BN_B[-1])[number] == pytest.approx(expected, rel=0.01)


def answer(plant: Plant, checks: int) -> Vec3:
    """[deg/s] (3,) Mean over some checks of the rate change that the valves do not explain."""
    found = [plant.execute(Check(subsystem="thrusters")) for _ in range(checks)]
    return np.mean([np.degrees(s.sensed.surplus_rate_rad_s) for s in found], axis=0)


@pytest.mark.parametrize(
    "fault",
    [
        each
        for unit in (1, 6, 7, 12)
        for each in (StuckClosed(30, unit), StuckOpen(30, unit), WeakThruster(30, unit, 0.5))
    ],
)
@pytest.mark.parametrize("chosen", ["A", "B"])
def test_a_thruster_breaks_on_the_branch_that_is_selected_at_the_onset_and_stays_broken_there(
    at_rest: Callable[..., Plant], fault: ThrusterFault, chosen: str
) -> None:
    """Whoever changes the branch beforehand has not dodged the fault; whoever does so later has."""
    plant = at_rest(fault)
    plant.execute(SelectBranch.model_validate({"branch": chosen}))
    broken = (fault.unit - 1) % 6 + 1 + 6 * (chosen == "B")
    assert [unit_of(each) for each in plant.faults] == [broken]
    plant.execute(Coast(duration_s=30.0))
    assert [unit_of(each) for each in plant.faults] == [broken]
    plant.execute(other(broken))
    assert [unit_of(each) for each in plant.faults] == [broken]
    healthy = plant.execute(fire(broken, 5.0))
    number, sign = axis(broken)
    gained = healthy.truth.omega_BN_B[-1][number] - healthy.truth.omega_BN_B[0][number]
    assert sign * gained == pytest.approx(TORQUE_N_M * 5.0 / plant.craft.inertia_kg_m2[number], rel=0.02)


@pytest.mark.parametrize("unit", UNITS)
def test_a_check_of_the_thrusters_misses_the_pulse_of_a_stuck_closed_one(
    at_rest: Callable[..., Plant], unit: int
) -> None:
    """On its axis and against its torque, half a second long; nothing on another axis or branch."""
    plant = at_rest(StuckClosed(SWITCH_S, unit))
    plant.execute(SelectBranch.model_validate({"branch": branch(unit)}))
    number, sign = axis(unit)
    missing = math.degrees(sign * TORQUE_N_M * 0.5 / plant.craft.inertia_kg_m2[number])
    four = 4 * RATE_NOISE_DEG_S / math.sqrt(4)
    assert answer(plant, 4) == pytest.approx(-missing * np.eye(3)[number], abs=four)
    assert abs(missing) > 2 * four
    plant.execute(other(unit))
    assert answer(plant, 4) == pytest.approx(np.zeros(3), abs=four)


def test_a_check_of_healthy_thrusters_finds_noise_and_leaves_no_rate(at_rest: Callable[..., Plant]) -> None:
    plant = at_rest()
    for name in ("A", "B"):
        plant.execute(SelectBranch.model_validate({"branch": name}))
        for _ in range(5):
            check = plant.execute(Check(subsystem="thrusters"))
            assert np.abs(np.degrees(check.sensed.surplus_rate_rad_s)).max() < 4 * RATE_NOISE_DEG_S
            fired_s = np.diff(check.truth.on_time_s)
            assert fired_s.sum() == pytest.approx(6 * 0.5)
            assert fired_s.max() == pytest.approx(0.5)
            assert np.abs(np.degrees(check.truth.omega_BN_B[-1])).max() < 0.01


@pytest.mark.parametrize("unit", UNITS)
def test_a_stuck_open_thruster_ends_the_command_and_fires_until_its_branch_is_closed(
    at_rest: Callable[..., Plant],
    gas_g: Callable[[Snapshot], float],
    inertia: Callable[..., Vec3],
    unit: int,
) -> None:
    plant = at_rest(StuckOpen(25.0, unit))
    plant.execute(SelectBranch.model_validate({"branch": branch(unit)}))
    caught = plant.execute(Coast(duration_s=600.0))
    assert (caught.reason, caught.detail, caught.t) == ("limit", "valve_current", 25.0 + OPEN_S)
    assert gas_g(caught) == pytest.approx((OPEN_S - OWED_S) * FLOW_G_S, rel=1e-6)
    number, sign = axis(unit)
    moment = inertia(plant.craft, float(caught.truth.propellant_kg[-1]))[number]
    gained = sign * TORQUE_N_M * OPEN_S / moment
    assert caught.truth.omega_BN_B[-1][number] == pytest.approx(gained, rel=1e-5)
    isolated = plant.execute(IsolateThruster(unit=unit))
    assert isolated.reason == "completed"
    assert gas_g(isolated) == pytest.approx(5.0 * FLOW_G_S, rel=1e-6)
    assert np.degrees(isolated.sensed.surplus_rate_rad_s)[number] * sign > 0.3
    assert gas_g(plant.execute(other(unit))) == pytest.approx(OWED_S * FLOW_G_S, rel=1e-5)
    assert gas_g(plant.execute(Coast(duration_s=60.0))) == pytest.approx(0.0, abs=1e-6)


def test_a_second_stuck_open_thruster_ends_a_command_too_and_so_does_the_rate_of_both(
    at_rest: Callable[..., Plant],
) -> None:
    plant = at_rest(StuckOpen(10.0, 1), StuckOpen(20.0, 3))
    ended = [plant.execute(Coast(duration_s=60.0)) for _ in range(3)]
    assert [(s.reason, s.detail, s.t) for s in ended] == [
        ("limit", "valve_current", 12.0),
        ("limit", "valve_current", 22.0),
        ("alarm", "unexplained_rate", 32.0),
    ]


def test_a_valve_that_sticks_open_while_it_is_commanded_shows_once_the_command_is_over(
    at_rest: Callable[..., Plant],
) -> None:
    plant = at_rest(StuckOpen(2.0, 1))
    ended = fly(plant, [fire(1, 5.0), Coast(duration_s=30.0)])
    assert [(s.reason, s.detail, s.t) for s in ended] == [
        ("completed", "", 6.0),
        ("limit", "valve_current", 5.0 + OPEN_S),
    ]


def test_the_counted_propellant_knows_nothing_of_a_stuck_open_valve(at_rest: Callable[..., Plant]) -> None:
    plant = at_rest(StuckOpen(10.0, 3))
    first = plant.execute(Coast(duration_s=30.0))
    drained = plant.execute(Coast(duration_s=30.0))
    assert drained.t > first.t + 5.0
    assert drained.sensed.propellant_kg == first.sensed.propellant_kg
    missing_g = 1e3 * (drained.sensed.propellant_kg - drained.truth.propellant_kg[-1])
    assert missing_g == pytest.approx((drained.t - 10.0 - OWED_S) * FLOW_G_S, rel=1e-6)


def test_an_empty_tank_ends_a_stuck_open_valve(build: Build, gas_g: Callable[[Snapshot], float]) -> None:
    plant = build(propellant_g=1.0, faults=[StuckOpen(0.0, 1)])
    snapshots: list[Any] = [plant.execute(Coast(duration_s=30.0)) for _ in range(5)]
    assert snapshots[-1].truth.propellant_kg[-1] == pytest.approx(0.0, abs=1e-9)
    assert gas_g(plant.execute(Coast(duration_s=60.0))) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_a_weak_thruster_gives_its_share_of_thrust_for_its_share_of_gas(
    at_rest: Callable[..., Plant], gas_g: Callable[[Snapshot], float], unit: int
) -> None:
    plant = at_rest(WeakThruster(SWITCH_S, unit, 0.5))
    plant.execute(SelectBranch.model_validate({"branch": branch(unit)}))
    weak = plant.execute(fire(unit, 5.0))
    number, sign = axis(unit)
    whole = math.degrees(sign * TORQUE_N_M * 5.0 / plant.craft.inertia_kg_m2[number])
    assert gas_g(weak) == pytest.approx(0.5 * 5.0 * FLOW_G_S, rel=1e-6)
    assert np.degrees(weak.truth.omega_BN_B[-1])[number] == pytest.approx(0.5 * whole, rel=0.01)
    assert np.degrees(weak.sensed.surplus_rate_rad_s)[number] == pytest.approx(-0.5 * whole, abs=0.03)
    assert weak.sensed.valve_on_s[unit - 1] == pytest.approx(5.0)


def test_a_gyro_drift_grows_and_comes_back_after_a_calibration(at_rest: Callable[..., Plant]) -> None:
    plant = at_rest(gyro_drift(10.0))
    before = plant.execute(Coast(duration_s=60.0))
    drifted = DRIFT_DEG_S2 * (plant.t - 10.0)
    gyro = math.degrees(np.linalg.norm(before.sensed.gyro_rad_s))
    assert gyro == pytest.approx(drifted, abs=0.02)
    calibrated = plant.execute(CalibrateGyro(duration_s=60.0))
    bias = math.degrees(calibrated.sensed.bias_rad_s[0])
    lag = DRIFT_DEG_S2 / 0.12  # an integrator of 0.06 a solution, two a second, behind a ramp
    assert bias == pytest.approx(DRIFT_DEG_S2 * (plant.t - 10.0) - lag, abs=0.02)
    again = plant.execute(Coast(duration_s=120.0))
    assert math.degrees(np.linalg.norm(again.sensed.gyro_rad_s)) > 0.2


def test_a_leak_takes_gas_in_proportion_to_the_pressure(at_rest: Callable[..., Plant]) -> None:
    """Choked flow of an ideal gas at constant temperature: what is left falls exponentially."""
    plant = at_rest(Leak(30.0, LEAK_KG_S, (0.0, 0.0, 0.0)))
    coasted = plant.execute(Coast(duration_s=1200.0)).truth
    gas = coasted.propellant_kg + plant.craft.tank.unusable_kg
    by_hand = gas[0] * np.exp(-np.maximum(coasted.t - 30.0, 0.0) * LEAK_KG_S / gas[0])
    assert gas == pytest.approx(by_hand, abs=0.2 * LEAK_KG_S)  # two steps of it
    assert gas[0] - gas[-1] > 1.5e-3


def test_a_leak_is_not_counted_and_its_jet_turns_the_craft(
    at_rest: Callable[..., Plant], inertia: Callable[..., Vec3]
) -> None:
    plant = at_rest(leak(0.0))
    loaded = plant.snapshot.sensed.propellant_kg
    leaked = plant.execute(Coast(duration_s=60.0))
    assert leaked.sensed.propellant_kg == loaded
    gained = leaked.truth.omega_BN_B[-1][2] * inertia(plant.craft, float(leaked.truth.propellant_kg[-1]))[2]
    assert gained == pytest.approx(LEAK_N_M * 60.0, rel=0.03)
    assert leaked.sensed.surplus_rate_rad_s[2] == pytest.approx(leaked.truth.omega_BN_B[-1][2], abs=2e-3)


def test_an_empty_tank_leaks_no_more(build: Build) -> None:
    plant = build(propellant_g=0.1, faults=[Leak(0.0, 5e-6, (1e-3, 0.0, 0.0))])
    for _ in range(4):
        plant.execute(Coast(duration_s=1200.0))
    assert plant._vehicle.tank.fuelTankOutMsg.read().fuelMass < 1e-12
    before = plant.snapshot.truth.omega_BN_B[-1]
    after = plant.execute(Coast(duration_s=60.0)).truth.omega_BN_B[-1]
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), rel=0.1)


def test_a_lost_part_of_the_panel_gives_no_power(build: Build) -> None:
    healthy, broken = build(), build(faults=[panel(30.0)])
    for plant in (healthy, broken):
        plant.execute(Coast(duration_s=60.0))
        plant.execute(Coast(duration_s=60.0))
    whole, half = (plant.snapshot.sensed.panel_w for plant in (healthy, broken))
    assert whole > 1.0
    assert half == pytest.approx(0.5 * whole, rel=1e-3)


def test_faults_begin_each_at_its_own_time_whatever_their_order(build: Build) -> None:
    both = [weak_thruster(40.0), panel(20.0)]
    one, other_way = (fly(build(faults=order), SCRIPT) for order in (both, both[::-1]))
    assert np.array_equal(table(one), table(other_way))
