"""Which missions carry a fault, when it begins, and that no brief gives it away."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from orbital_ops_env.missions import anomaly, budget, coast, detumble, plan, recovery, shift
from orbital_ops_env.missions.budget import slew_time_s
from orbital_ops_env.missions.catalog import FAMILIES, SHORT_FAMILIES, generate
from orbital_ops_env.missions.directives import ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server.observe import brief
from orbital_ops_env.sim.faults import Fault, GyroBias, StuckClosed, StuckOpen, unit_of
from orbital_ops_env.sim.state import SpacecraftConfig

Sample = dict[tuple[str, int], list[MissionSpec]]
SHARES = dict.fromkeys(SHORT_FAMILIES, 0.4) | {recovery.FAMILY: 0.65}
THRUSTER_KINDS = {"stuck_closed", "stuck_open"}
ALL_KINDS = {"gyro_bias", "star_tracker", *THRUSTER_KINDS}
UNITS_A = range(1, 7)
cells = list(product(SHORT_FAMILIES, range(10)))
families = pytest.mark.parametrize("family", SHORT_FAMILIES)


def broken(missions: list[MissionSpec]) -> list[Fault]:
    return [fault for spec in missions for fault in spec.faults]


def faulty_levels(family: str) -> range:
    return range(10) if family == recovery.FAMILY else range(3, 10)


def of_family(sample: Sample, family: str) -> list[MissionSpec]:
    """Its missions at the levels that have faults."""
    return [spec for level in faulty_levels(family) for spec in sample[family, level]]


@families
def test_faults_come_from_level_3_up_and_in_recovery_at_every_level(sample: Sample, family: str) -> None:
    having = [level for level in range(10) if broken(sample[family, level])]
    assert having == list(faulty_levels(family))


def test_a_mission_carries_one_fault_or_none(sample: Sample) -> None:
    assert {len(spec.faults) for missions in sample.values() for spec in missions} == {0, 1}


@families
def test_the_share_of_missions_with_a_fault_is_that_of_the_family(sample: Sample, family: str) -> None:
    missions = of_family(sample, family)
    share = len(broken(missions)) / len(missions)
    spread = math.sqrt(SHARES[family] * (1 - SHARES[family]) / len(missions))
    assert share == pytest.approx(SHARES[family], abs=3 * spread)
    assert share > 1 / 3


@pytest.mark.parametrize("level", range(3, 10))
def test_a_third_of_the_missions_of_a_level_carry_a_fault_at_least(sample: Sample, level: int) -> None:
    missions = [spec for family in SHORT_FAMILIES for spec in sample[family, level]]
    assert len(broken(missions)) / len(missions) > 1 / 3


@families
def test_every_kind_of_the_family_is_drawn_and_no_other(sample: Sample, family: str) -> None:
    drawn = {fault.kind for fault in broken(of_family(sample, family))}
    assert drawn == set(FAMILIES[family].KINDS)
    few, more = {detumble.FAMILY: THRUSTER_KINDS}, {shift.FAMILY: ALL_KINDS | {"leak", "panel"}}
    assert drawn == (few | more).get(family, ALL_KINDS)


@families
def test_a_broken_thruster_is_one_of_the_branch_that_is_selected_at_the_start(
    sample: Sample, family: str
) -> None:
    units = {unit_of(fault) for fault in broken(of_family(sample, family))} - {None}
    assert units == set(UNITS_A)


def test_a_gyro_bias_spoils_the_pointing_and_can_still_be_calibrated(sample: Sample) -> None:
    biases = [f.bias_rad_s for m in sample.values() for f in broken(m) if isinstance(f, GyroBias)]
    rates = np.degrees(np.linalg.norm(biases, axis=1))
    least, most = anomaly.BIAS_DEG_S
    assert least <= rates.min() < rates.max() <= most < 0.5


# -- when it begins ----------------------------------------------------------------------------


def soonest_s(spec: MissionSpec) -> Iterator[float]:
    """[s] Arrival at each turn's end of a craft that turns at 1 deg/s throughout."""
    free = 0.0
    for point in spec.directives:
        assert not isinstance(point, ReduceRate)
        arrived = free + slew_time_s(1.0, point.turn_rad) if point.turn_rad else point.opens_s
        free = max(arrived, point.opens_s) + point.dwell_s
        if point.turn_rad:
            yield arrived


def planned_s(spec: MissionSpec) -> float:
    """[s] Mission time by which a fault begins: before the fastest craft brakes or arrives."""
    if spec.family == detumble.FAMILY:
        _, stopped = budget.detumble(np.array(spec.start.omega_BN_B), SpacecraftConfig())
        return 0.8 * stopped
    arrivals = list(soonest_s(spec))
    late = spec.level >= 5 and spec.family != coast.FAMILY
    legs = min(2 if late else 1, len(arrivals))
    return arrivals[legs - 1] * (1.0 if legs < len(arrivals) else 0.6)


@pytest.mark.parametrize("family", [name for name in SHORT_FAMILIES if name != shift.FAMILY])
def test_a_fault_begins_while_the_first_turns_are_flown(sample: Sample, family: str) -> None:
    onsets = [
        (fault.onset_s, max(planned_s(spec), 6.0))
        for spec in of_family(sample, family)
        for fault in spec.faults
    ]
    assert all(anomaly.EARLIEST_S <= onset < by for onset, by in onsets)
    early = np.mean([onset < by / 2 for onset, by in onsets])
    assert 0.3 < early < 0.7  # all along, not at one end


def test_a_fault_of_a_shift_begins_before_its_second_directive_must_be_done(sample: Sample) -> None:
    for spec in of_family(sample, shift.FAMILY):
        last = spec.directives[1 if spec.level >= 5 else 0]
        assert all(anomaly.EARLIEST_S <= fault.onset_s < last.closes_s for fault in spec.faults)


# -- what nobody is told -----------------------------------------------------------------------


@pytest.mark.parametrize(("family", "level"), cells)
def test_windows_budget_and_brief_are_the_same_with_and_without_a_fault(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, family: str, level: int
) -> None:
    """A mission drawn with the same numbers, from which the fault is then dropped."""
    drawn = anomaly.draw_fault

    def nothing_breaks(*arguments: object) -> tuple[()]:
        drawn(*arguments)  # type: ignore[arg-type]
        return ()

    for module in (plan, detumble):
        monkeypatch.setattr(module, "draw_fault", nothing_breaks)
    for spec in sample[family, level][:6]:
        healthy = generate(family, level, spec.seed)
        assert healthy == spec.model_copy(update={"faults": ()})
        assert brief(healthy) == brief(spec)


@pytest.mark.parametrize("kind", ["stuck_closed", "stuck_open"])
def test_a_thruster_is_drawn_on_the_axes_of_the_turn(kind: str) -> None:
    rng = np.random.default_rng(5)
    turn = np.array([3.0, 0.0, 4.0])
    drawn = [anomaly.draw_fault(rng, [kind], 1.0, (5.0, 60.0), turn)[0] for _ in range(400)]
    units = [fault.unit for fault in drawn if isinstance(fault, StuckClosed | StuckOpen)]
    assert len(units) == 400
    assert set(units) == {1, 2, 5, 6}
    assert np.mean([unit > 2 for unit in units]) == pytest.approx(16 / 25, abs=0.1)


def test_a_kind_that_missions_do_not_draw_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="no fault 'weak_thruster' is drawn"):
        anomaly.draw_fault(np.random.default_rng(1), ["weak_thruster"], 1.0, (5.0, 60.0), np.ones(3))
