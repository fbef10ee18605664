"""Faults in an episode: what the observation tells, what it never names, and what a report is worth."""

import math

import pytest
from pydantic import ValidationError

from orbital_ops_env.commands import Check, Coast, FaultKind, ReportFault, SelectBranch
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import Fault, GyroBias, StuckClosed, StuckOpen, TrackerOutage

ONSET_S = 40.0
FAULTS: list[Fault] = [
    GyroBias(ONSET_S, (math.radians(0.3), 0.0, 0.0)),
    TrackerOutage(ONSET_S),
    StuckClosed(ONSET_S, 3),
    StuckOpen(ONSET_S, 3),
]
kinds = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)


def mission(family: str, *faults: Fault) -> MissionSpec:
    return generate(family, 4, 7).model_copy(update={"faults": faults})


@pytest.mark.parametrize("family", FAMILIES)
@kinds
def test_no_text_names_a_fault_and_every_one_shows_in_the_telemetry(
    fly_mission, script, unspoken: tuple[str, ...], family: str, fault: Fault
) -> None:
    specs = (mission(family), mission(family, fault))
    healthy, faulty = (fly_mission(script(spec), spec, 5).texts for spec in specs)
    assert healthy[0] == faulty[0]
    assert healthy != faulty
    assert not [word for word in unspoken for text in faulty if word in text.lower()]


@kinds
def test_a_fault_is_part_of_what_a_mission_is(fault: Fault) -> None:
    spec = mission("retarget-v0", fault)
    assert spec.content_hash != mission("retarget-v0").content_hash
    assert MissionSpec.model_validate_json(spec.canonical_json) == spec


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "stuck_open", "onset_s": 10, "unit": 13},
        {"kind": "stuck_closed", "onset_s": 10, "unit": 0},
        {"kind": "star_tracker", "onset_s": -1},
        {"kind": "star_tracker", "onset_s": 0.5},
        {"kind": "gremlin", "onset_s": 10},
    ],
)
def test_a_fault_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MissionSpec.model_validate(generate("retarget-v0", 0, 1).model_dump() | {"faults": [wrong]})


@pytest.mark.parametrize(("onset_s", "unit"), [(10.0, 13), (10.0, 0), (-1.0, 3), (0.5, 3)])
def test_a_fault_that_cannot_be_is_refused_as_an_object_too(onset_s: float, unit: int) -> None:
    with pytest.raises(ValidationError):
        StuckOpen(onset_s, unit)


def test_the_same_fault_twice_is_refused() -> None:
    twice = {"faults": [TrackerOutage(10.0), TrackerOutage(20.0)]}
    with pytest.raises(ValidationError, match="the same fault twice"):
        MissionSpec.model_validate(generate("retarget-v0", 0, 1).model_dump() | twice)


@pytest.mark.parametrize(
    ("kind", "unit", "wait_s", "safety"),
    [
        ("stuck_closed", 3, 60.0, 1.0),
        ("stuck_closed", 4, 60.0, 0.0),
        ("stuck_open", 3, 60.0, 0.0),
        ("gyro_bias", None, 60.0, 0.0),
        ("stuck_closed", 3, 30.0, 0.5),
    ],
)
def test_a_report_is_wrong_unless_that_fault_acts_on_that_unit_by_then(
    kind: FaultKind, unit: int | None, wait_s: float, safety: float
) -> None:
    """Wrong costs half, and so does the fault that then acts and is not reported."""
    episode = Episode(mission("retarget-v0", StuckClosed(ONSET_S, 3)), episode_seed=5)
    episode.step(Coast(duration_s=wait_s))
    assert episode.step(ReportFault(kind=kind, unit=unit)).components["reward/safety"] == safety


def test_a_report_sent_before_the_onset_is_wrong_though_it_ends_after() -> None:
    episode = Episode(mission("retarget-v0", StuckClosed(33.0, 3)), episode_seed=5)
    episode.step(Coast(duration_s=30))
    told = episode.step(ReportFault(kind="stuck_closed", unit=3))
    assert told.telemetry.time_s > 33
    assert told.components["reward/safety"] == 0.5


def test_a_fault_left_unreported_costs_safety() -> None:
    """From the command after its onset on, until it is named; naming it twice changes nothing."""
    episode = Episode(mission("retarget-v0", StuckClosed(ONSET_S, 3)), episode_seed=5)
    right = ReportFault(kind="stuck_closed", unit=3)
    sent = (Coast(duration_s=60), Check(subsystem="tank"), right, Check(subsystem="tank"), right)
    safety = [episode.step(command).components["reward/safety"] for command in sent]
    assert safety == [1.0, 0.5, 1.0, 1.0, 1.0]


def test_two_wrong_reports_cost_twice_and_a_refused_one_nothing() -> None:
    episode = Episode(mission("retarget-v0"), episode_seed=5)
    refused, wrong = ReportFault(kind="gyro_bias", unit=3), ReportFault(kind="gyro_bias")
    safety = [episode.step(command).components["reward/safety"] for command in (refused, wrong, wrong, wrong)]
    assert safety == [1.0, 0.5, 0.0, 0.0]


def test_a_report_names_one_fault_of_two() -> None:
    episode = Episode(mission("retarget-v0", StuckClosed(ONSET_S, 3), TrackerOutage(ONSET_S)), episode_seed=5)
    named = (ReportFault(kind="star_tracker"), ReportFault(kind="stuck_closed", unit=3))
    sent = (Coast(duration_s=60), Check(subsystem="tank"), *named)
    safety = [episode.step(command).components["reward/safety"] for command in sent]
    assert safety == [1.0, 0.0, 0.5, 1.0]


def test_who_changes_the_branch_beforehand_has_a_thruster_of_that_branch_to_report() -> None:
    episode = Episode(mission("retarget-v0", StuckClosed(ONSET_S, 3)), episode_seed=5)
    named = (ReportFault(kind="stuck_closed", unit=9), ReportFault(kind="stuck_closed", unit=3))
    sent = (SelectBranch(branch="B"), Coast(duration_s=60), Check(subsystem="tank"), *named)
    safety = [episode.step(command).components["reward/safety"] for command in sent]
    assert safety == [1.0, 1.0, 0.5, 1.0, 0.5]
    assert episode.faults == (StuckClosed(ONSET_S, 9),)


def test_a_fault_acts_from_its_onset_on() -> None:
    spec = mission("retarget-v0", StuckClosed(ONSET_S, 3), TrackerOutage(ONSET_S + 1))
    assert spec.acting(ONSET_S - 1) == frozenset()
    assert spec.acting(ONSET_S) == {("stuck_closed", 3)}
    assert spec.acting(ONSET_S + 1) == {("stuck_closed", 3), ("star_tracker", None)}
