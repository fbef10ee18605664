"""Alarms that a fault raises: each at its threshold, not below it, and on none of what is healthy."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from orbital_ops_env.commands import (
    AnyCommand,
    AttitudeSource,
    Coast,
    Detumble,
    Fire,
    Hold,
    SafeMode,
    SelectAttitudeSource,
    SelectBranch,
    Slew,
)
from orbital_ops_env.sim.faults import GyroBias, StuckClosed, StuckOpen, TrackerOutage
from orbital_ops_env.sim.frames import (
    Mat3,
    Vec3,
    angles_between,
    ep_from_dcm,
    ep_of_rotation,
    ep_product,
    unit,
)
from orbital_ops_env.sim.kernels import STANDING_RAD, TRACKER_GAIN
from orbital_ops_env.sim.plant import SILENT_S, Plant
from orbital_ops_env.sim.state import Limits, Orbit
from orbital_ops_env.sim.vehicle import Vehicle

AtRest = Callable[..., Plant]
Looking = Callable[[Vec3, Vec3, float], Mat3]
COAST = Coast(duration_s=300.0)
HOLD = Hold(target="nadir", deadband_deg=1.0, duration_s=600.0)
SLEW = Slew(target="star", rate_deg_s=1.0)
ONSET_S = 20.0


def bias(deg_s: float, onset_s: float = ONSET_S) -> GyroBias:
    return GyroBias(onset_s, (math.radians(deg_s), 0.0, 0.0))


def look_every_second(plant: Plant, command: AnyCommand, until_s: float) -> list[tuple[float, str]]:
    """Time and name of each alarm, with a command sent again every second: none is overlooked or late."""
    alarms: list[tuple[float, str]] = []
    while plant.t < until_s:
        ended = plant.execute(command, Limits(edges_s=(plant.t + 1.0,)))
        if ended.reason == "alarm":
            alarms.append((ended.t, ended.detail))
    return alarms


def refuses_to_turn(plant: Plant) -> bool:
    begun = plant.execute(SLEW, Limits(edges_s=(plant.t + 1.0,)))
    assert begun.reason in ("refused", "window_edge")
    return begun.reason == "refused"


# -- telling -----------------------------------------------------------------------------------


def test_what_ends_a_refusal_early_is_told_beside_it(at_rest: AtRest) -> None:
    plant = at_rest(StuckOpen(ONSET_S, 3))
    plant.execute(COAST, Limits(edges_s=(ONSET_S,)))
    ended = plant.execute(Slew(target="nowhere", rate_deg_s=1.0))
    assert (ended.reason, ended.t) == ("refused", ONSET_S + 2.0)
    assert ended.detail.startswith("valve_current: no such target")


def test_a_stuck_open_thruster_that_is_shut_off_costs_no_more_looks(
    at_rest: AtRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coast is looked at every ten seconds, as in health."""
    looks = 0
    advance = Vehicle.advance

    def counted(vehicle: Vehicle, t: float) -> np.ndarray:
        nonlocal looks
        looks += 1
        return advance(vehicle, t)

    plant = at_rest(StuckOpen(5.0, 3))
    assert plant.execute(COAST).detail == "valve_current"
    plant.execute(SelectBranch(branch="B"))
    monkeypatch.setattr(Vehicle, "advance", counted)
    plant.execute(Coast(duration_s=120.0))
    assert looks == 12


# -- a rate that the valves do not explain -----------------------------------------------------


@pytest.mark.parametrize(("rate_deg_s", "alarms"), [(0.95, False), (1.05, True)])
def test_a_rate_change_of_a_degree_a_second_that_no_valve_explains_is_an_alarm(
    at_rest: AtRest, rate_deg_s: float, alarms: bool
) -> None:
    """A gyro that reports it, with no star tracker to contradict."""
    plant = at_rest(TrackerOutage(0.0), bias(rate_deg_s))
    expected = [(ONSET_S + 1.0, "unexplained_rate")] if alarms else []
    assert look_every_second(plant, COAST, 120.0) == expected


def test_what_no_valve_explains_is_counted_from_the_start_of_a_command(at_rest: AtRest) -> None:
    plant = at_rest(StuckClosed(0.0, 5))
    for _ in range(2):
        fired = plant.execute(Fire(axis="+z", on_time_s=5.0))
        assert fired.reason == "completed"
        assert np.degrees(fired.sensed.surplus_rate_rad_s)[2] == pytest.approx(-0.86, abs=0.03)


def test_a_thruster_that_does_not_brake_raises_it_and_a_healthy_detumble_does_not(at_rest: AtRest) -> None:
    tumble = (-3.0, 1.0, 1.0)
    stuck = at_rest(StuckClosed(0.0, 1), omega_deg_s=tumble).execute(Detumble(rate_deg_s=0.1))
    assert (stuck.reason, stuck.detail) == ("alarm", "unexplained_rate")
    surplus = np.degrees(stuck.sensed.surplus_rate_rad_s)
    assert surplus[0] < -1.0
    assert np.abs(surplus[1:]).max() < 0.06
    healthy = at_rest(omega_deg_s=tumble).execute(Detumble(rate_deg_s=0.1))
    assert healthy.reason == "completed"
    assert np.abs(np.degrees(healthy.sensed.surplus_rate_rad_s)).max() < 0.06


# -- a star tracker that contradicts the gyro --------------------------------------------------


@pytest.mark.parametrize("source", ["sun_sensors", "gyro"])
def test_an_innovation_is_no_matter_with_another_attitude_source(
    at_rest: AtRest, source: AttitudeSource
) -> None:
    """The estimate then drifts off the stars by itself, in health too."""
    plant = at_rest(bias(0.4))
    plant.execute(SelectAttitudeSource(source=source))
    assert look_every_second(plant, COAST, 60.0) == []
    assert math.degrees(plant.snapshot.sensed.innovation_rad) > 0.3


@pytest.mark.parametrize(("share", "alarms"), [(0.9, False), (1.1, True)])
def test_an_innovation_that_stands_above_its_limit_is_an_alarm(
    at_rest: AtRest, share: float, alarms: bool
) -> None:
    """A biased gyro drifts off in half a second by what the gain then takes back."""
    rate_deg_s = share * math.degrees(STANDING_RAD) * TRACKER_GAIN / 0.5
    plant = at_rest(bias(rate_deg_s))
    raised = look_every_second(plant, COAST, 120.0)
    assert [name for _, name in raised] == (["innovation"] if alarms else [])
    assert math.degrees(plant.snapshot.sensed.innovation_rad) == pytest.approx(0.3 * share, abs=0.03)


def test_an_innovation_must_stand_for_ten_seconds_and_is_told_once(at_rest: AtRest) -> None:
    """Half a degree a second brings it above the limit at the second solution."""
    assert look_every_second(at_rest(bias(0.5)), COAST, 90.0) == [(ONSET_S + 11.0, "innovation")]


@pytest.mark.parametrize("off_deg", [0.5, 2.0, 4.99, 5.1, 179.0])
def test_what_a_blind_spell_leaves_is_taken_back_without_an_alarm(at_rest: AtRest, off_deg: float) -> None:
    """However often: each solution within the limit counts anew."""
    plant, off = at_rest(), ep_of_rotation(np.radians([0.0, 0.0, off_deg]))
    navigator = plant._vehicle.estimator.memory
    for spell in range(1, 5):
        navigator.q = ep_product(off, np.array(navigator.q))
        assert look_every_second(plant, COAST, 20.0 * spell) == []
        assert math.degrees(plant.snapshot.sensed.innovation_rad) < 0.06


def test_a_turn_too_fast_for_the_star_tracker_ends_without_an_alarm(
    at_rest: AtRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small bias carries the estimate off by degrees meanwhile; a look a second overlooks nothing."""

    def every_second(plant: Plant, row: list[float], limits: Limits) -> int:
        return 1

    monkeypatch.setattr(Plant, "_quiet_s", every_second)
    turned = at_rest(bias(0.08, 0.0)).execute(Slew(target="star", rate_deg_s=2.0))
    off = angles_between(turned.truth.payload_N, turned.estimate.payload_N)
    assert math.degrees(off.max()) > 2.0
    assert math.degrees(off[-1]) < 0.2
    assert turned.reason in ("completed", "duration")


# -- a star tracker that is silent with nothing in its way -------------------------------------


def silent(plant: Plant, until_s: float) -> Plant:
    """A plant after a coast in silence."""
    assert plant.execute(Coast(duration_s=1200.0), Limits(edges_s=(until_s,))).reason == "window_edge"
    return plant


LAST_HEARD_S = 9.0


@pytest.fixture
def outage(at_rest: AtRest) -> AtRest:
    """Builds a plant whose star tracker has told its first attitudes and then tells no more."""
    return lambda *faults, **options: at_rest(TrackerOutage(LAST_HEARD_S + 1.0), *faults, **options)


@pytest.mark.parametrize("command", [HOLD, SLEW, Hold(target="nadir", deadband_deg=0.2, duration_s=120.0)])
def test_a_minute_of_silence_ends_a_turn_or_a_hold_once(outage: AtRest, command: AnyCommand) -> None:
    plant = silent(outage(), LAST_HEARD_S + 30.0)
    alarms = look_every_second(plant, command, LAST_HEARD_S + SILENT_S + 1.0)
    assert alarms == [(LAST_HEARD_S + SILENT_S + 1.0, "attitude_source")]


@pytest.mark.parametrize("command", [HOLD, SLEW])
def test_after_a_minute_of_silence_no_turn_or_hold_begins(outage: AtRest, command: AnyCommand) -> None:
    begins = silent(outage(), LAST_HEARD_S + SILENT_S).execute(command)
    assert begins.reason != "refused"
    plant = silent(outage(), LAST_HEARD_S + SILENT_S + 1.0)
    refused = plant.execute(command)
    assert (refused.reason, refused.detail) == ("refused", "no attitude fix for 61 s")
    assert plant.execute(command).detail == "no attitude fix for 71 s"


@pytest.mark.parametrize("command", [HOLD, SLEW])
def test_a_refusal_for_want_of_a_fix_leaves_the_craft_to_coast(outage: AtRest, command: AnyCommand) -> None:
    refused, coasted = (silent(outage(omega_deg_s=(0.0, 0.2, 0.0)), 100.0) for _ in range(2))
    for _ in range(3):
        ended = refused.execute(command).truth
        assert refused.snapshot.detail.startswith("no attitude fix")
        coast = coasted.execute(COAST, Limits(edges_s=(refused.t,))).truth
        assert np.array_equal(ended.sigma_BN, coast.sigma_BN)
        assert np.array_equal(ended.omega_BN_B, coast.omega_BN_B)
        assert np.array_equal(ended.propellant_kg, coast.propellant_kg)


@pytest.mark.parametrize("command", [COAST, Detumble(rate_deg_s=0.1), SafeMode(duration_s=300.0)])
def test_what_needs_no_attitude_goes_on_in_silence(outage: AtRest, command: AnyCommand) -> None:
    plant = silent(outage(), LAST_HEARD_S + SILENT_S - 3.0)
    assert look_every_second(plant, command, LAST_HEARD_S + SILENT_S + 10.0) == []
    assert plant.execute(command).reason in ("completed", "duration")


@pytest.mark.parametrize("source", ["sun_sensors", "gyro"])
def test_silence_is_no_matter_with_another_attitude_source(outage: AtRest, source: AttitudeSource) -> None:
    plant = outage()
    plant.execute(SelectAttitudeSource(source=source))
    assert plant.execute(HOLD).reason == "duration"
    assert not refuses_to_turn(plant)
    plant.execute(SelectAttitudeSource(source="star_tracker"))
    assert refuses_to_turn(plant)


def test_a_star_tracker_that_never_saw_is_not_missed(at_rest: AtRest) -> None:
    plant = at_rest(TrackerOutage(0.0))
    assert plant.execute(HOLD).reason == "duration"
    assert not refuses_to_turn(plant)


def test_one_solution_ends_the_silence(at_rest: AtRest) -> None:
    plant = at_rest()
    sight = plant._vehicle.tracker.memory
    for _ in range(2):
        sight.rate_limit = 0.0
        silent(plant, plant.t + SILENT_S)
        sight.rate_limit = plant.craft.sensors.tracker_rate_rad_s
        silent(plant, plant.t + 1.0)
    assert not refuses_to_turn(plant)


@pytest.mark.parametrize(("angle_deg", "missed"), [(36.5, False), (39.5, True)])
def test_the_sun_is_in_the_way_up_to_three_degrees_beyond_its_zone(
    outage: AtRest, looking: Looking, orbit: Orbit, angle_deg: float, missed: bool
) -> None:
    zenith = unit(orbit.state(0.0)[0])
    plant = outage(dcm_BN=looking(orbit.sun_hat_N, zenith, angle_deg))
    assert refuses_to_turn(silent(plant, 100.0)) is missed


def test_the_sun_is_in_nobodys_way_in_the_dark(build: AtRest, looking: Looking, orbit: Orbit) -> None:
    dark = replace(orbit, latitude_rad=math.radians(135.0))
    attitude = looking(unit(dark.state(0.0)[0]), orbit.sun_hat_N, 80.0)
    assert math.degrees(math.acos(attitude[1] @ orbit.sun_hat_N)) < 36.0
    plant = build(orbit=dark, dcm_BN=attitude, faults=[TrackerOutage(10.0)])
    assert refuses_to_turn(silent(plant, 100.0))


@pytest.mark.parametrize(("angle_deg", "missed"), [(86.5, False), (89.5, True)])
def test_the_earth_is_in_the_way_up_to_three_degrees_beyond_its_zone(
    outage: AtRest, looking: Looking, orbit: Orbit, angle_deg: float, missed: bool
) -> None:
    r, v = orbit.state(0.0)
    plant = outage(dcm_BN=looking(-r, -np.cross(r, v), angle_deg))
    assert refuses_to_turn(silent(plant, 100.0)) is missed


@pytest.mark.parametrize(("rate_deg_s", "missed"), [(0.85, True), (0.95, False)])
def test_a_turn_faster_than_nine_tenths_of_its_limit_is_in_the_way(
    outage: AtRest, rate_deg_s: float, missed: bool
) -> None:
    plant = silent(outage(omega_deg_s=(0.0, rate_deg_s, 0.0)), 100.0)
    assert (plant._silent_s(plant._row.tolist()) > SILENT_S) is missed


@pytest.mark.parametrize(("true_deg", "believed_deg", "missed"), [(36.5, 60.0, True), (60.0, 36.5, False)])
def test_what_is_in_the_way_is_judged_by_the_estimate(
    outage: AtRest, looking: Looking, orbit: Orbit, true_deg: float, believed_deg: float, missed: bool
) -> None:
    zenith = unit(orbit.state(0.0)[0])
    true, believed = (looking(orbit.sun_hat_N, zenith, angle) for angle in (true_deg, believed_deg))
    plant = silent(outage(dcm_BN=true), LAST_HEARD_S + 2.0)
    plant._vehicle.estimator.memory.q = ep_from_dcm(np.ascontiguousarray(believed))
    assert refuses_to_turn(silent(plant, 100.0)) is missed


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_craft_raises_no_alarm(build: AtRest, seed: int) -> None:
    """Turns through blind spells and a hold after each, with everything that disturbs the craft."""
    plant = build(seed=seed)
    for target in ("star", "relay", "sun"):
        assert plant.execute(Slew(target=target, rate_deg_s=2.0)).reason == "completed"
        hold = Hold(target=target, deadband_deg=0.5, duration_s=60.0)
        assert plant.execute(hold).reason == "duration"
