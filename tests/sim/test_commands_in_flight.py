"""Telecommands as flown: refusals, limits, alarms, and nothing that can upset the craft."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from orbital_ops_env import commands
from orbital_ops_env.commands import (
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    Downlink,
    EndMission,
    Fire,
    Hold,
    Image,
    IsolateThruster,
    ReportFault,
    SafeMode,
    SelectAttitudeSource,
    SelectBranch,
    Slew,
    Unreadable,
)
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import (
    EndReason,
    Limits,
    Orbit,
    Power,
    SpacecraftConfig,
    Sun,
    target_frame,
)

Build = Callable[..., Plant]


def settings_of(plant: Plant) -> dict[str, Any]:
    """What a command may change on board, beside flying."""
    sensed, vehicle = plant.snapshot.sensed, plant._vehicle
    return {
        "branch": sensed.branch,
        "isolated": sensed.isolated,
        "source": sensed.source,
        "bias": tuple(sensed.bias_rad_s),
        "valves": tuple(sensed.valve_on_s),
        "propellant": sensed.propellant_kg,
        "inhibit": int(vehicle.valves.memory.inhibit),
        "calibrating": int(vehicle.estimator.memory.calibrating),
        "gains": (vehicle.feedback.K, vehicle.feedback.P),
        "reference": np.array(vehicle.guidance.memory.frame).tobytes(),
    }


def named(value: Any) -> str:
    """A parameter's part of a test's name."""
    return commands.encode(value) if isinstance(value, BaseModel) else ""


REFUSED: list[tuple[AnyCommand, str]] = [
    (Slew(target="moon", rate_deg_s=1.0), "no such target, expected one of sun, nadir, relay, star"),
    (Hold(target="moon", deadband_deg=1.0, duration_s=60.0), "no such target"),
    (Hold(target="sun", deadband_deg=1.0, duration_s=60.0), "deg away, slew first"),
    (Image(target="moon"), "no such target"),
    (Downlink(station="svalbard"), "no such target"),
    (Downlink(station="nadir"), "not a station, expected one of none"),
    (IsolateThruster(unit=3), "thruster 3 is isolated already"),
    (ReportFault(kind="stuck_open"), "stuck_open needs a unit"),
    (ReportFault(kind="stuck_closed"), "stuck_closed needs a unit"),
    (ReportFault(kind="weak_thruster"), "weak_thruster needs a unit"),
    (ReportFault(kind="gyro_bias", unit=1), "gyro_bias takes no unit"),
    (ReportFault(kind="leak", unit=12), "leak takes no unit"),
    (commands.parse("please coast"), "only one JSON object"),
    (Unreadable(text=""), "only one JSON object"),
    (Unreadable(text=commands.encode(Coast(duration_s=30.0))), "a control character in it"),
]


@pytest.mark.parametrize(("command", "why"), REFUSED, ids=named)
def test_a_refused_command_costs_ten_seconds_changes_nothing_and_says_why(
    build: Build, command: AnyCommand, why: str
) -> None:
    plant = build()
    plant.execute(IsolateThruster(unit=3))
    before = settings_of(plant)
    refused = plant.execute(command)
    assert refused.reason == "refused"
    assert why in refused.detail
    assert refused.t - refused.began == pytest.approx(commands.REFUSED_S)
    assert settings_of(plant) == before


def calibration_refused(plant: Plant) -> str:
    plant.execute(Coast(duration_s=30.0), Limits(edges_s=(2.0,)))
    refused = plant.execute(CalibrateGyro(duration_s=60.0))
    assert refused.reason == "refused"
    assert refused.t - refused.began == pytest.approx(commands.REFUSED_S)
    assert not plant._vehicle.estimator.memory.calibrating
    return refused.detail


def test_a_calibration_without_a_valid_tracker_is_refused(build: Build) -> None:
    assert calibration_refused(build(omega_deg_s=(0.0, 1.5, 0.0))) == "star tracker not valid"


def test_a_calibration_while_turning_is_refused(build: Build) -> None:
    why = calibration_refused(build(omega_deg_s=(0.0, 0.6, 0.0)))
    assert why == "star tracker rate above 0.5 deg/s"


def test_a_calibration_on_another_attitude_source_is_refused(build: Build) -> None:
    plant = build()
    plant._vehicle.estimator.memory.source = 2
    assert calibration_refused(plant) == "attitude source is not the star tracker"


def test_a_calibration_with_a_large_innovation_is_refused(build: Build) -> None:
    plant = build()
    plant._vehicle.gyro.memory.bias = np.radians([10.0, 0.0, 0.0])
    alarms = [plant.execute(Coast(duration_s=60.0)).detail for _ in range(2)]
    assert alarms == ["unexplained_rate", "innovation"]  # each is told once
    assert calibration_refused(plant) == "innovation above 5 deg"


ACCEPTED: list[tuple[AnyCommand, float, EndReason]] = [
    (SelectBranch(branch="B"), 5.0, "completed"),
    (IsolateThruster(unit=12), 5.0, "completed"),
    (SelectAttitudeSource(source="sun_sensors"), 5.0, "completed"),
    (ReportFault(kind="stuck_open", unit=4), 5.0, "completed"),
    (ReportFault(kind="panel"), 5.0, "completed"),
    (Check(subsystem="tank"), 30.0, "completed"),
    (Check(subsystem="thrusters"), 30.0, "completed"),
    (Coast(duration_s=60.0), 60.0, "duration"),
    (Hold(target="nadir", deadband_deg=1.0, duration_s=30.0), 30.0, "duration"),
    (SafeMode(duration_s=300.0), 300.0, "duration"),
    (Fire(axis="+x", on_time_s=0.1), 2.0, "completed"),
    (Fire(axis="-z", on_time_s=2.0), 3.0, "completed"),
    (EndMission(), 1.0, "completed"),
]


def test_an_accepted_calibration_lasts_as_long_as_it_says(build: Build) -> None:
    plant = build()
    plant.execute(Coast(duration_s=30.0))
    ended = plant.execute(CalibrateGyro(duration_s=60.0))
    assert (ended.reason, ended.detail, ended.t - ended.began) == ("duration", "", 60.0)


@pytest.mark.parametrize(("command", "lasts_s", "reason"), ACCEPTED, ids=named)
def test_an_accepted_command_lasts_as_long_as_it_says(
    build: Build, command: AnyCommand, lasts_s: float, reason: EndReason
) -> None:
    ended = build().execute(command)
    assert (ended.reason, ended.detail) == (reason, "")
    assert ended.t == lasts_s
    assert np.diff(ended.truth.t) == pytest.approx(1.0)
    assert ended.truth.t[0] == ended.began == 0.0


def test_a_slew_that_cannot_settle_is_cut_off_at_twice_its_nominal_time(build: Build) -> None:
    plant = build(propellant_g=0.1)
    cut = plant.execute(Slew(target="sun", rate_deg_s=2.0))
    assert cut.detail == "propellant"  # the tank's last gram ends it once
    nominal = plant._pilot.turn_to(Sun(), math.radians(2.0), plant.t)
    cut = plant.execute(Slew(target="sun", rate_deg_s=2.0))
    assert cut.reason == "duration"
    assert cut.t - cut.began == pytest.approx(2 * nominal, abs=1.0)


menus: dict[type[BaseModel], st.SearchStrategy[Any]] = {
    Detumble: st.builds(Detumble, rate_deg_s=st.sampled_from(commands.DETUMBLE_RATES_DEG_S)),
    Slew: st.builds(
        Slew,
        target=st.sampled_from(("sun", "nadir", "relay", "star", "nowhere")),
        rate_deg_s=st.sampled_from(commands.SLEW_RATES_DEG_S),
    ),
    Hold: st.builds(
        Hold,
        target=st.sampled_from(("sun", "nadir", "relay", "star", "nowhere")),
        deadband_deg=st.sampled_from(commands.DEADBANDS_DEG),
        duration_s=st.sampled_from(commands.DURATIONS_S),
    ),
    Coast: st.builds(Coast, duration_s=st.sampled_from(commands.DURATIONS_S)),
    Fire: st.builds(
        Fire,
        axis=st.sampled_from(("+x", "-x", "+y", "-y", "+z", "-z")),
        on_time_s=st.sampled_from(commands.ON_TIMES_S),
    ),
    SelectBranch: st.builds(SelectBranch, branch=st.sampled_from("AB")),
    IsolateThruster: st.builds(IsolateThruster, unit=st.integers(1, 12)),
    CalibrateGyro: st.builds(CalibrateGyro, duration_s=st.sampled_from(commands.CALIBRATION_DURATIONS_S)),
    SelectAttitudeSource: st.builds(
        SelectAttitudeSource, source=st.sampled_from(get_args(commands.AttitudeSource))
    ),
    SafeMode: st.builds(SafeMode, duration_s=st.sampled_from(commands.SAFE_MODE_DURATIONS_S)),
    Check: st.builds(Check, subsystem=st.sampled_from(get_args(commands.Subsystem))),
    ReportFault: st.builds(
        ReportFault,
        kind=st.sampled_from(get_args(commands.FaultKind)),
        unit=st.none() | st.integers(1, 12),
    ),
    Image: st.just(Image(target="nadir")),
    Downlink: st.just(Downlink(station="svalbard")),
    EndMission: st.just(EndMission()),
    Unreadable: st.builds(Unreadable, text=st.text(max_size=20)),
}


def test_every_telecommand_has_a_menu_here() -> None:
    assert set(menus) == {*get_args(commands.Telecommand), Unreadable}


@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(
    data=st.data(),
    order=st.permutations(list(menus)),
    rates=st.tuples(*[st.floats(-8.0, 8.0)] * 3),
    gas_g=st.floats(0.0, 3.0),
    seed=st.integers(0, 2**31),
    known=st.booleans(),
)
def test_every_telecommand_flies_from_any_state(
    build: Build,
    data: st.DataObject,
    order: list[type[BaseModel]],
    rates: tuple[float, float, float],
    gas_g: float,
    seed: int,
    known: bool,
) -> None:
    plant = build(omega_deg_s=rates, propellant_g=gas_g, seed=seed, known=known)
    for kind in order:
        began = plant.t
        flown = plant.execute(data.draw(menus[kind]), Limits(edges_s=(began + 12.0,)))
        assert flown.began == began
        assert began < flown.t <= began + 12.0
        assert flown.reason in get_args(EndReason)
        for track in (flown.truth, flown.estimate):
            assert np.isfinite(track.sigma_BN).all()
            assert np.isfinite(track.omega_BN_B).all()
            assert (np.diff(track.propellant_kg) <= 0.0).all()
            assert (np.diff(track.on_time_s) >= 0.0).all()
        assert not plant._vehicle.estimator.memory.calibrating
        assert plant._vehicle.valves.memory.inhibit == 1


EDGES_S = (10.0, 30.0, 58.0, 61.0)
LONG = [command for command, lasts_s, _ in ACCEPTED if lasts_s >= 30.0]


@pytest.mark.parametrize("command", [*LONG, CalibrateGyro(duration_s=60.0)], ids=named)
def test_a_window_edge_stops_a_command_exactly_there(build: Build, command: AnyCommand) -> None:
    plant = build()
    plant.execute(Coast(duration_s=30.0))
    stopped = plant.execute(command, Limits(edges_s=EDGES_S))
    assert (stopped.reason, stopped.detail) == ("window_edge", "")
    assert stopped.t == 58.0
    assert plant.execute(command, Limits(edges_s=EDGES_S)).t == 61.0


def test_a_refusal_ends_at_a_window_edge_too(build: Build) -> None:
    refused = build().execute(Image(target="moon"), Limits(edges_s=(4.0,)))
    assert refused.reason == "refused"
    assert refused.t == 4.0


def test_the_propellant_limit_ends_a_command_once(build: Build) -> None:
    plant = build(omega_deg_s=(4.0, 4.0, 4.0), propellant_g=2.0)
    reserve = Limits(propellant_kg=1.5e-3)
    crossed = plant.execute(Detumble(rate_deg_s=0.05), reserve)
    assert (crossed.reason, crossed.detail) == ("limit", "propellant")
    assert crossed.estimate.propellant_kg[-1] <= 1.5e-3 < crossed.estimate.propellant_kg[-2]
    again = replace(reserve, edges_s=(plant.t + 5.0,))
    goes_on = plant.execute(Detumble(rate_deg_s=0.05), again)
    assert goes_on.reason == "window_edge"


def test_the_sun_limit_ends_a_command_once_on_crossing(build: Build, orbit: Orbit) -> None:
    """The payload sweeps into the Sun at 1 deg/s, 40 deg away at first."""
    sun_hat, across, beside = target_frame(Sun(), orbit, 0.0)
    z = math.cos(math.radians(40.0)) * sun_hat + math.sin(math.radians(40.0)) * beside
    plant = build(dcm_BN=np.array([np.cross(across, z), across, z]), omega_deg_s=(0.0, 1.0, 0.0))
    keep_out = Limits(sun_angle_rad=math.radians(30.0))
    crossed = plant.execute(Coast(duration_s=60.0), keep_out)
    assert (crossed.reason, crossed.detail) == ("limit", "sun_angle")
    assert crossed.t == pytest.approx(10.0, abs=1.5)
    assert plant.execute(Coast(duration_s=30.0), keep_out).reason == "duration"


def test_a_body_rate_above_its_alarm_ends_a_command_once(build: Build) -> None:
    craft = SpacecraftConfig(body_rate_rad_s=math.radians(0.4))
    plant = build(craft=craft)
    fired = plant.execute(Fire(axis="+y", on_time_s=5.0))
    assert (fired.reason, fired.detail) == ("alarm", "body_rate")
    assert np.degrees(np.linalg.norm(fired.estimate.omega_BN_B[-1])) > 0.4
    assert fired.t < 6.0
    assert plant.execute(Coast(duration_s=30.0)).reason == "duration"


def test_a_low_battery_ends_a_command_once(build: Build, orbit: Orbit) -> None:
    """In the dark a 26 W bus empties a 2 kJ battery in minutes."""
    dark = replace(orbit, latitude_rad=math.radians(150.0))
    plant = build(orbit=dark, craft=SpacecraftConfig(power=Power(battery_j=2000.0)))
    level = plant.snapshot.sensed.battery_fraction
    low = plant.execute(Coast(duration_s=300.0))
    assert (low.reason, low.detail) == ("alarm", "battery")
    assert low.t == pytest.approx((level - 0.2) * 2000.0 / 26.0, abs=2.0)
    assert low.sensed.battery_fraction < 0.2
    assert plant.execute(Coast(duration_s=30.0)).reason == "duration"


def test_pressure_follows_the_gas_law(build: Build) -> None:
    plant = build(propellant_g=8.0)
    sensed = plant.execute(Coast(duration_s=30.0)).sensed
    expected = 8.12e-3 * 296.8 * sensed.temperature_k / 0.002
    assert sensed.pressure_pa == pytest.approx(expected, abs=5 * 800.0)
    assert 280.0 < sensed.temperature_k < 305.0


@pytest.mark.parametrize("cut_s", [2.0, 3.0, 5.0, 8.0])
@pytest.mark.parametrize(
    "command", [Detumble(rate_deg_s=0.1), Slew(target="star", rate_deg_s=2.0)], ids=named
)
def test_no_valve_outlasts_its_command(build: Build, command: AnyCommand, cut_s: float) -> None:
    plant = build(omega_deg_s=(3.0, -2.0, 1.0))
    cut = plant.execute(command, Limits(edges_s=(cut_s,)))
    assert cut.reason == "window_edge"
    assert cut.estimate.on_time_s[-1] > 0
    after = plant.execute(Coast(duration_s=30.0)).truth
    assert np.ptp(after.on_time_s) == 0.0
    jets = plant.craft.thrusters
    last_stage_kg = 3 * jets.flow_kg_s * jets.step_s / 6  # Runge-Kutta shifts a pulse by a sixth of a step
    assert np.ptp(after.propellant_kg) <= last_stage_kg * 1.001
    assert after.propellant_kg[-1] == pytest.approx(cut.estimate.propellant_kg[-1], abs=1e-9)


LONG_LOOKS: list[tuple[AnyCommand, Limits]] = [
    (Coast(duration_s=300.0), Limits(edges_s=(77.5,))),
    (Coast(duration_s=300.0), Limits(sun_angle_rad=math.radians(60.0))),
    (Detumble(rate_deg_s=0.1), Limits()),
    (Detumble(rate_deg_s=0.1), Limits(propellant_kg=7.5e-3)),
    (Slew(target="sun", rate_deg_s=2.0), Limits()),
    (Slew(target="star", rate_deg_s=2.0), Limits(sun_angle_rad=math.radians(120.0))),
    (SafeMode(duration_s=300.0), Limits(propellant_kg=6e-3)),
    (Hold(target="nadir", deadband_deg=0.2, duration_s=120.0), Limits(propellant_kg=7.9e-3)),
]


@pytest.mark.parametrize(("command", "limits"), LONG_LOOKS, ids=str)
@pytest.mark.parametrize("omega_deg_s", [(0.0, 0.0, 0.0), (2.0, -3.0, 1.0)], ids=["at rest", "tumbling"])
def test_looking_ahead_ends_a_command_when_a_look_every_second_does(
    build: Build,
    command: AnyCommand,
    limits: Limits,
    omega_deg_s: tuple[float, float, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = build(omega_deg_s=omega_deg_s).execute(command, limits)

    def look_every_second(plant: Plant, row: list[float], limits: Limits) -> int:
        return 1

    monkeypatch.setattr(Plant, "_quiet_s", look_every_second)
    every_second = build(omega_deg_s=omega_deg_s).execute(command, limits)
    assert (ahead.t, ahead.reason, ahead.detail) == (every_second.t, every_second.reason, every_second.detail)
    for track in ("truth", "estimate"):
        flown, expected = vars(getattr(ahead, track)), vars(getattr(every_second, track))
        for name in ("t", "sigma_BN", "omega_BN_B", "propellant_kg", "on_time_s"):
            np.testing.assert_array_equal(flown[name], expected[name])
