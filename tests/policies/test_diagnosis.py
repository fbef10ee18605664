"""What a diagnosis makes of real flights: kind and unit of what broke, nothing in health, and why."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import (
    SWITCH_S,
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    Fire,
    Hold,
    ReportFault,
    SelectAttitudeSource,
    SelectBranch,
    Slew,
)
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies.diagnosis import Diagnosis, needed
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.script import Script
from orbital_ops_env.policies.signatures import Finding
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.faults import (
    Fault,
    GyroBias,
    GyroDrift,
    StuckClosed,
    StuckOpen,
    TrackerOutage,
    WeakThruster,
    unit_of,
)

ONSET_S = 20.0
UNITS = range(1, 13)
SENTENCE_LIMIT = 200
"""[-] longest rationale, characters."""
COAST = Coast(duration_s=300.0)


def gyro_bias(axis: int = 1) -> GyroBias:
    bias = [0.0, 0.0, 0.0]
    bias[axis] = math.radians(0.35)
    return GyroBias(ONSET_S, (bias[0], bias[1], bias[2]))


def mission(family: str, level: int, seed: int, *faults: Fault) -> MissionSpec:
    return generate(family, level, seed).model_copy(update={"faults": faults})


def seen(commands: Sequence[AnyCommand], *faults: Fault) -> tuple[PolicyView, ...]:
    """What a script's flight shows, from the reset to its last command."""
    spec = mission("retarget-v0", 4, 3, *faults)
    return fly(spec, Script(tuple(commands)), episode_seed=3).views[: len(commands) + 1]


def advice(commands: Sequence[AnyCommand], *faults: Fault) -> tuple[Finding | None, AnyCommand | None]:
    """What a diagnosis finds in a script's flight, and what it would send next."""
    diagnosis, chosen = Diagnosis(), None
    for view in seen(commands, *faults):
        assert not diagnosis.findings, "found before the last command"
        chosen = diagnosis.act(view)
    return only(diagnosis), chosen[0] if chosen else None


def only(diagnosis: Diagnosis) -> Finding | None:
    """What a diagnosis found, one thing at most."""
    assert len(diagnosis.findings) <= 1
    return diagnosis.findings[0] if diagnosis.findings else None


def branch(unit: int) -> SelectBranch:
    return SelectBranch(branch="A" if unit <= 6 else "B")


def other(unit: int) -> SelectBranch:
    return SelectBranch(branch="B" if unit <= 6 else "A")


def fire(unit: int) -> Fire:
    """Five seconds of a thruster."""
    axis = ("+x", "-x", "+y", "-y", "+z", "-z")[(unit - 1) % 6]
    return Fire.model_validate({"axis": axis, "on_time_s": 5.0})


def target() -> str:
    return seen([])[0].brief.targets[0]


# -- the signatures -----------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_a_valve_that_draws_current_uncommanded_is_stuck_open(unit: int) -> None:
    found = advice([branch(unit), COAST], StuckOpen(ONSET_S, unit))
    assert found == (Finding("stuck_open", unit), other(unit))


@pytest.mark.parametrize("unit", UNITS)
def test_a_thruster_that_gives_no_rate_and_keeps_its_gas_is_stuck_closed(unit: int) -> None:
    found = advice([branch(unit), fire(unit)], StuckClosed(SWITCH_S, unit))
    assert found == (Finding("stuck_closed", unit), other(unit))


@pytest.mark.parametrize("unit", UNITS)
def test_a_thruster_whose_test_pulse_is_missing_is_stuck_closed(unit: int) -> None:
    found = advice([branch(unit), Check(subsystem="thrusters")], StuckClosed(SWITCH_S, unit))
    assert found == (Finding("stuck_closed", unit), other(unit))


@pytest.mark.parametrize("axis", range(3))
def test_a_star_tracker_that_contradicts_the_gyro_shows_its_bias(axis: int) -> None:
    found = advice([COAST], gyro_bias(axis))
    assert found == (Finding("gyro_bias"), CalibrateGyro(duration_s=60.0))


def test_a_biased_gyro_shows_before_its_alarm_too() -> None:
    short = [SelectBranch(branch="A")] * 5
    found = advice(short, gyro_bias())
    assert found == (Finding("gyro_bias"), CalibrateGyro(duration_s=60.0))


def test_a_star_tracker_that_is_missed_in_a_hold_has_failed() -> None:
    flown = [
        Slew(target=target(), rate_deg_s=1.0),
        Hold(target=target(), deadband_deg=1.0, duration_s=300.0),
    ]
    found = advice(flown, TrackerOutage(70.0))
    assert found == (Finding("star_tracker"), SelectAttitudeSource(source="sun_sensors"))


def test_a_turn_that_is_refused_for_want_of_a_fix_tells_the_same() -> None:
    found = Diagnosis()
    coast = Coast(duration_s=120.0)
    *_, refused = seen([coast, Slew(target=target(), rate_deg_s=1.0)], TrackerOutage(ONSET_S))
    assert refused.telemetry.detail.startswith("no attitude fix")
    found.act(refused)
    assert found.findings == [Finding("star_tracker")]


def test_a_blind_star_tracker_is_looked_at_and_a_clear_view_proves_its_failure() -> None:
    suspected = advice([Coast(duration_s=30.0)], TrackerOutage(ONSET_S))
    assert suspected == (None, Check(subsystem="star_tracker"))
    found = advice([Coast(duration_s=30.0), Check(subsystem="star_tracker")], TrackerOutage(ONSET_S))
    assert found == (Finding("star_tracker"), SelectAttitudeSource(source="sun_sensors"))


@pytest.mark.parametrize("unit", UNITS)
def test_a_turn_that_settles_on_a_weak_thruster_tells_it(unit: int) -> None:
    """A turn about the thruster's own axis, both ways: one of them begins on it, the other ends on it."""
    found = set[Finding | None]()
    for seed in range(4):
        spec = mission("retarget-v0", 4, seed, WeakThruster(SWITCH_S, unit, 0.4))
        diagnosis = Diagnosis()
        first = Slew(target=spec.targets[0][0], rate_deg_s=1.0)
        last = Slew(target=spec.targets[1][0], rate_deg_s=1.0)
        flown = fly(spec, Script((branch(unit), first, last)), episode_seed=seed)
        for view in flown.views:
            diagnosis.act(view)
        found.add(only(diagnosis))
    assert found - {None} <= {Finding("weak_thruster", unit), Finding("stuck_closed", unit)}
    assert Finding("weak_thruster", unit) in found


@pytest.mark.parametrize("axis", range(3))
def test_a_gyro_that_drifts_is_off_by_little_when_it_is_first_seen(axis: int) -> None:
    drift = [0.0, 0.0, 0.0]
    drift[axis] = math.radians(4e-4)
    script = [Coast(duration_s=300.0)] * 3
    diagnosis = Diagnosis()
    views = seen(script, GyroDrift(ONSET_S, (drift[0], drift[1], drift[2])))
    advised = [diagnosis.act(view) for view in views]
    assert only(diagnosis) == Finding("gyro_drift")
    (first, *_) = [chosen[0] for chosen in advised if chosen]
    assert first == CalibrateGyro(duration_s=60.0)


def test_a_bias_that_comes_back_after_a_calibration_is_a_drift() -> None:
    (start, *_, late) = seen([COAST] * 2)

    def off(by_deg: float, rate_deg_s: float) -> PolicyView:
        update = {"innovation_deg": by_deg, "gyro_tracker_deg_s": rate_deg_s, "tracker_valid": True}
        return replace(late, telemetry=late.telemetry.model_copy(update=update))

    diagnosis = Diagnosis()
    kinds: list[list[str]] = []
    for view in (start, off(0.6, 0.36), off(0.02, 0.0), off(0.13, 0.07)):
        diagnosis.act(view)
        kinds.append([finding.kind for finding in diagnosis.findings])
    assert kinds == [[], ["gyro_bias"], ["gyro_bias"], ["gyro_drift"]]


# -- what proves nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("subsystem", ["thrusters", "star_tracker", "gyro"])
def test_a_check_in_health_finds_nothing(subsystem: str) -> None:
    check = Check.model_validate({"subsystem": subsystem})
    assert advice([check, check]) == (None, None)


def test_a_turn_of_healthy_thrusters_that_blinds_the_star_tracker_finds_nothing() -> None:
    spin = [Fire(axis="+z", on_time_s=5.0), Fire(axis="+z", on_time_s=2.0), Coast(duration_s=60.0)]
    views = seen(spin)
    assert not views[-1].telemetry.tracker_valid
    diagnosis = Diagnosis()
    assert [diagnosis.act(view) for view in views] == [None] * len(views)


def test_a_small_rate_change_is_asked_about_before_anything_is_claimed() -> None:
    half = Fire(axis="+x", on_time_s=1.0)
    assert advice([half], StuckClosed(0.0, 1)) == (None, Check(subsystem="thrusters"))


@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ("valve_current", "stuck_open"),
        ("valve_current: no such target, expected one of sun", "stuck_open"),
        ("innovation", "gyro_bias"),
        ("innovation: no such target, expected one of sun", "gyro_bias"),
        ("attitude_source: no such target, expected one of sun", "star_tracker"),
        ("innovation above 5 deg", None),
        ("attitude source is not the star tracker", None),
        ("no such target, expected one of innovation", None),
    ],
)
def test_a_limit_is_told_from_the_words_of_a_refusal(detail: str, kind: str | None) -> None:
    (start,) = seen([])
    diagnosis = Diagnosis()
    told = {"detail": detail, "innovation_deg": 0.6}
    diagnosis.act(replace(start, telemetry=start.telemetry.model_copy(update=told)))
    found = only(diagnosis)
    assert (found and found.kind) == kind


def test_a_sharp_rate_change_in_the_blind_is_put_to_the_thrusters_before_the_gyro_is_doubted() -> None:
    """Drifting on for stars costs two minutes, a check of the thrusters thirty seconds."""
    start, coasted = seen([Coast(duration_s=30.0)])
    blind = coasted.telemetry.model_copy(
        update={
            "tracker_valid": False,
            "gyro_tracker_deg_s": None,
            "surplus_deg_s": 0.3,
            "surplus_axis": "+z",
            "tank_residual_g": start.telemetry.tank_residual_g,
        }
    )
    healthy = blind.model_copy(
        update={"surplus_axis": "", "check": dict.fromkeys(("dw_x", "dw_y", "dw_z"), 0.01)}
    )
    diagnosis = Diagnosis()
    views = [start, *(replace(coasted, telemetry=telemetry) for telemetry in (blind, healthy))]
    advised = [chosen and chosen[0] for chosen in map(diagnosis.act, views)]
    assert advised == [None, Check(subsystem="thrusters"), COAST.model_copy(update={"duration_s": 30.0})]
    assert not diagnosis.findings


# -- flights of the reference ------------------------------------------------------------------


def reasons_given(flown: Flight) -> bool:
    """Whether each command has a reason of one short sentence."""
    assert len(flown.rationales) == len(flown.commands)
    for why in flown.rationales:
        assert 0 < len(why) <= SENTENCE_LIMIT, why
        assert re.fullmatch(r"[^\n]*[^\s.?][.?]", why), why
        assert not re.search(r"[.?!]\s", why), why
    return True


@pytest.mark.parametrize("level", [0, 2, 4, 5, 7, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_healthy_mission_is_flown_without_a_finding(family: str, level: int) -> None:
    pilot = Reference()
    flown = fly(mission(family, level, 500 + level), pilot, 500 + level)
    assert not pilot._diagnosis.findings
    assert not [c for c in flown.commands if isinstance(c, ReportFault | SelectBranch | CalibrateGyro)]
    assert reasons_given(flown)


SURVIVED: Final = {
    "detumble-v0": 602,
    "retarget-v0": 600,
    "coast-v0": 600,
    "hold-v0": 602,
    "recovery-v0": 601,
    "shift-v0": 600,
}
"""Seed of a mission of each family that leaves room for any fault, the costliest included."""
BREAKING: list[tuple[str, Fault]] = [
    (family, fault)
    for family in SURVIVED
    for fault in (StuckClosed(ONSET_S, 1), StuckOpen(ONSET_S, 3), gyro_bias(), TrackerOutage(ONSET_S))
    if unit_of(fault) or family != "detumble-v0"  # whose missions break thrusters only
]


@pytest.mark.parametrize(("family", "fault"), BREAKING, ids=str)
def test_reference_finds_reports_and_survives_what_breaks(family: str, fault: Fault) -> None:
    pilot = Reference()
    seed = SURVIVED[family]
    flown = fly(mission(family, 4, seed, fault), pilot, seed)
    reports = [command for command in flown.commands if isinstance(command, ReportFault)]
    assert pilot._diagnosis.findings == [Finding(fault.kind, unit_of(fault))]
    assert reports == [ReportFault(kind=fault.kind, unit=unit_of(fault))]
    assert flown.components["reward/safety"] == 1.0
    assert flown.succeeded
    assert reasons_given(flown)


PAIRS: list[tuple[Fault, Fault]] = [
    (gyro_bias(), StuckClosed(150.0, 1)),
    (StuckOpen(ONSET_S, 3), gyro_bias()),
    (TrackerOutage(ONSET_S), StuckOpen(150.0, 3)),
    (TrackerOutage(ONSET_S), StuckClosed(150.0, 1)),
]


@pytest.mark.parametrize("faults", PAIRS, ids=str)
def test_reference_finds_a_second_fault_too(faults: tuple[Fault, Fault]) -> None:
    flown = fly(mission("recovery-v0", 5, 600, *faults), Reference(), 600)
    reports = {(sent.kind, sent.unit) for sent in flown.commands if isinstance(sent, ReportFault)}
    assert reports == {(fault.kind, unit_of(fault)) for fault in faults}
    assert flown.succeeded
    assert reasons_given(flown)


def test_a_directive_needs_a_turn_a_wait_and_the_work_where_it_does() -> None:
    for family, commands in (("retarget-v0", 2 + 2), ("coast-v0", 2 + 2), ("hold-v0", 2 + 2)):
        (start, *_) = fly(mission(family, 4, 3), Script(()), episode_seed=3).views
        waits = sum(d.opens_s > 0 for d in start.brief.directives) if family == "retarget-v0" else 0
        assert needed(start) == commands + waits


def test_no_report_is_made_of_the_commands_that_the_directives_need() -> None:
    (start,) = seen([])
    biased = {"innovation_deg": 0.6, "gyro_tracker_deg_s": 0.36, "tracker_valid": True}
    cured = {"innovation_deg": 0.02, "gyro_tracker_deg_s": 0.0, "tracker_valid": True}
    for left, reported in ((needed(start) + 1, True), (needed(start), False)):
        diagnosis = Diagnosis()
        for update in (biased, cured):
            told = start.telemetry.model_copy(update={**update, "turns_left": left})
            advised = diagnosis.act(replace(start, telemetry=told))
        assert (advised is not None) is reported


def test_a_biased_gyro_is_slowed_down_before_it_is_calibrated() -> None:
    """A craft that turns at 0.6 deg/s, and a calibration that takes no more than 0.5."""
    spin = [Fire(axis="+z", on_time_s=2.0), Fire(axis="+z", on_time_s=2.0), COAST]
    assert advice(spin, gyro_bias(2)) == (Finding("gyro_bias"), Detumble(rate_deg_s=0.1))
