"""Turns, holds and safe mode: where they end, what they cost, how close they stay."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbital_ops_env.commands import DEADBANDS_DEG, CalibrateGyro, Coast, Detumble, Fire, Hold, SafeMode, Slew
from orbital_ops_env.sim.constants import STANDARD_GRAVITY_M_S2
from orbital_ops_env.sim.frames import Vec3, angle_between, dcm_from_mrp
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import (
    PANEL_B,
    Nadir,
    Orbit,
    Relay,
    Snapshot,
    Star,
    Sun,
    Target,
    target_frame,
)

Build = Callable[..., Plant]
Errors = Callable[..., Vec3]
Gas = Callable[[Snapshot], float]

QUARTER_TURN = {0.2: (456.0, 0.54), 0.5: (189.0, 0.83), 1.0: (119.0, 1.46), 2.0: (89.0, 2.65)}
"""Time [s] and gas [g] of a 90 deg turn about (1, 1, 1) by rate [deg/s], as budgeted."""
DIAGONAL = np.ones(3) / math.sqrt(3)


def turned_away(orbit: Orbit, target: Target, degrees: float, axis: Vec3 = DIAGONAL) -> Any:
    """An attitude dcm_BN that a turn about a body axis takes onto a target."""
    turn = Rotation.from_rotvec(math.radians(degrees) * axis).as_matrix().T
    return turn @ target_frame(target, orbit, 0.0)


@pytest.mark.parametrize("rate_deg_s", list(QUARTER_TURN))
def test_a_quarter_turn_takes_the_time_and_the_gas_it_should(
    build: Build, orbit: Orbit, gas_g: Gas, errors_deg: Errors, rate_deg_s: float
) -> None:
    plant = build(dcm_BN=turned_away(orbit, Sun(), 90.0))
    slew = plant.execute(Slew(target="sun", rate_deg_s=rate_deg_s))
    time_s, most_g = QUARTER_TURN[rate_deg_s]
    H = np.array(plant.craft.inertia_kg_m2) * math.radians(rate_deg_s) * DIAGONAL
    ideal_g = 2e3 * H.sum() / 0.3 / (65.0 * STANDARD_GRAVITY_M_S2)
    rates = np.degrees(np.linalg.norm(slew.truth.omega_BN_B, axis=1))
    assert slew.reason == "completed"
    assert slew.t == pytest.approx(time_s, rel=0.25)
    assert 0.95 * ideal_g < gas_g(slew) < 1.25 * most_g
    assert rates.max() < 1.15 * rate_deg_s + 0.05
    assert errors_deg(slew.truth, Sun(), orbit)[-10:].max() < 1.1


@pytest.mark.parametrize(
    ("name", "target"),
    [("nadir", Nadir()), ("relay", Relay(1.6)), ("star", Star(2.5, 0.3)), ("sun", Sun())],
    ids=lambda v: v if isinstance(v, str) else "",
)
@pytest.mark.parametrize("degrees", [0.0, 30.0, 150.0, 179.9])
def test_a_slew_ends_on_its_target_and_at_rest_relative_to_it(
    build: Build, orbit: Orbit, errors_deg: Errors, name: str, target: Target, degrees: float
) -> None:
    plant = build(dcm_BN=turned_away(orbit, target, degrees, np.array([0.48, -0.6, 0.64])))
    slew = plant.execute(Slew(target=name, rate_deg_s=2.0))
    errors = errors_deg(slew.truth, target, orbit)
    assert slew.reason == "completed"
    assert errors[0] == pytest.approx(degrees, abs=0.3)
    assert errors[-10:].max() < 1.5  # the tracker is blind on the way, gyro bias adds up
    assert np.abs(np.diff(errors[-10:])).max() < 0.06


@pytest.fixture(scope="module")
def holds(build: Build) -> dict[float, Snapshot]:
    """Ten minutes on nadir for each deadband [deg]."""
    return {
        deadband_deg: build().execute(Hold(target="nadir", deadband_deg=deadband_deg, duration_s=600.0))
        for deadband_deg in DEADBANDS_DEG
    }


@pytest.mark.parametrize("deadband_deg", DEADBANDS_DEG)
def test_a_hold_stays_within_its_deadband(
    holds: dict[float, Snapshot], orbit: Orbit, errors_deg: Errors, deadband_deg: float
) -> None:
    held = holds[deadband_deg]
    errors = errors_deg(held.truth, Nadir(), orbit)
    assert held.reason == "duration"
    assert held.t == 600.0
    assert errors.max() < deadband_deg
    assert np.sqrt(np.mean(errors**2)) < 0.4 * deadband_deg


def test_a_wide_deadband_costs_less_gas_than_a_narrow_one(holds: dict[float, Snapshot], gas_g: Gas) -> None:
    costs = [gas_g(holds[deadband_deg]) for deadband_deg in DEADBANDS_DEG]
    assert costs == sorted(costs, reverse=True)
    for cost, budget in zip(costs, (0.52, 0.35, 0.33, 0.21), strict=True):  # [g] as budgeted
        assert cost < 1.25 * budget


@pytest.mark.parametrize(("name", "target"), [("relay", Relay(1.6)), ("sun", Sun())])
def test_a_hold_follows_other_targets_too(
    build: Build, orbit: Orbit, errors_deg: Errors, name: str, target: Target
) -> None:
    plant = build(dcm_BN=turned_away(orbit, target, 0.0))
    held = plant.execute(Hold(target=name, deadband_deg=0.5, duration_s=120.0))
    assert errors_deg(held.truth, target, orbit).max() < 0.5


def test_a_hold_closes_what_is_left_of_a_turn(build: Build, orbit: Orbit, errors_deg: Errors) -> None:
    plant = build(dcm_BN=turned_away(orbit, Sun(), 8.0))
    held = plant.execute(Hold(target="sun", deadband_deg=0.5, duration_s=120.0))
    errors = errors_deg(held.truth, Sun(), orbit)
    assert errors[0] == pytest.approx(8.0, abs=0.2)
    assert errors[-60:].max() < 0.5


@pytest.mark.parametrize("rate_deg_s", [0.05, 0.1, 0.2, 0.5])
def test_a_detumble_ends_under_its_rate(build: Build, rate_deg_s: float) -> None:
    still = build(omega_deg_s=(2.0, -1.0, 1.5)).execute(Detumble(rate_deg_s=rate_deg_s))
    assert still.reason == "completed"
    rates = np.degrees(np.linalg.norm(still.truth.omega_BN_B, axis=1))
    assert rates[-10:].max() < rate_deg_s + 0.02  # gyro noise and bias
    assert rates[-1] < 0.05


def test_safe_mode_ends_in_a_slow_spin_about_the_sun_line(build: Build, orbit: Orbit) -> None:
    plant = build(omega_deg_s=(1.0, -2.0, 0.5))
    safe = plant.execute(SafeMode(duration_s=300.0))
    panel_N = dcm_from_mrp(safe.truth.sigma_BN[-1]).T @ PANEL_B
    assert safe.reason == "duration"
    assert math.degrees(angle_between(panel_N, orbit.sun_hat_N)) < 2.0
    assert np.degrees(safe.truth.omega_BN_B[-1]) == pytest.approx([0.5, 0.0, 0.0], abs=0.06)
    panel = plant.craft.power.panel_area_m2 * plant.craft.power.panel_efficiency * 1361.0
    assert safe.sensed.panel_w == pytest.approx(panel, rel=0.01)


def test_the_gyro_sees_no_rate_change_beyond_what_the_valves_explain(build: Build) -> None:
    plant = build()
    plant.execute(Slew(target="sun", rate_deg_s=1.0))
    surplus = np.degrees(plant.snapshot.sensed.surplus_rate_rad_s)
    assert np.abs(surplus).max() < 0.1


def test_a_new_bias_estimate_is_no_rate_change(build: Build) -> None:
    plant = build()
    plant._vehicle.gyro.memory.bias = np.radians([0.15, 0.0, 0.0])
    plant.execute(Coast(duration_s=30.0))
    calibrated = plant.execute(CalibrateGyro(duration_s=120.0))
    assert math.degrees(calibrated.sensed.bias_rad_s[0]) == pytest.approx(0.15, abs=0.03)
    after = plant.execute(Coast(duration_s=30.0))
    assert np.degrees(after.sensed.surplus_rate_rad_s) == pytest.approx([0.0, 0.0, 0.0], abs=0.05)


def test_a_dead_valve_shows_as_a_rate_change_that_did_not_come(build: Build) -> None:
    plant = build()
    plant._vehicle.thrusters.thrusterData[0].MaxThrust = 0.0
    fired = plant.execute(Fire(axis="+x", on_time_s=5.0))
    missing = math.degrees(-0.0075 * 5.0 / 4.0)
    assert np.degrees(fired.sensed.surplus_rate_rad_s) == pytest.approx([missing, 0, 0], abs=0.05)
