"""Instruments: AUROC by count, pairs that differ by their fault alone, and figures of flights."""

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.commands import Check, FaultKind, ReportFault
from orbital_ops_env.missions import ood, shift
from orbital_ops_env.missions.anomaly import KINDS
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies import Policy, noisy
from orbital_ops_env.policies.noisy import Noisy
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.faults import TrackerOutage
from orbital_ops_env.studies import figures, instruments, success
from orbital_ops_env.studies.diagnosability import (
    CHANNELS,
    UNSEEN,
    Book,
    Pair,
    Search,
    auroc,
    both,
    carriers,
    figure,
    look,
    naming,
    pairs,
    searches,
)
from orbital_ops_env.studies.success import Flown, Group, Job, Mission

LATER = [(shift.FAMILY, "leak"), (shift.FAMILY, "panel"), *((UNSEEN, kind) for kind in ood.KINDS)]
"""Families and kinds that break on them, beside those of every family."""
scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12)


# -- diagnosability ----------------------------------------------------------------------------


@given(scores, scores)
def test_auroc_is_the_share_of_pairs_in_which_the_faulty_score_is_higher(
    faulty: list[float], healthy: list[float]
) -> None:
    above = sum(1.0 if f > h else 0.5 if f == h else 0.0 for f, h in itertools.product(faulty, healthy))
    assert math.isclose(auroc(faulty, healthy), above / (len(faulty) * len(healthy)), abs_tol=1e-12)
    assert math.isclose(auroc(faulty, healthy) + auroc(healthy, faulty), 1.0)


def test_auroc_is_one_when_told_apart_and_a_half_when_not() -> None:
    assert auroc([3.0, 2.0], [1.0, 0.0]) == 1.0
    assert auroc([0.0, 0.0], [0.0, 0.0]) == 0.5
    assert auroc([0.0], [1.0, 2.0]) == 0.0


def test_every_fault_has_two_channels() -> None:
    assert set(CHANNELS) == set(get_args(FaultKind))
    assert all(len(channels) == 2 for channels in CHANNELS.values())


@pytest.mark.parametrize(
    ("family", "fault"), [("detumble-v0", "stuck_closed"), *(("recovery-v0", kind) for kind in KINDS), *LATER]
)
def test_a_pair_differs_in_nothing_before_the_onset(
    monkeypatch: pytest.MonkeyPatch, family: str, fault: str
) -> None:
    monkeypatch.setitem(FAMILIES, shift.FAMILY, shift)
    spec = next(carriers(Search(family, fault, 1)))
    assert [each.kind for each in spec.faults] == [fault]
    onset_s = spec.faults[0].onset_s
    faulty, healthy = both(spec, Book)
    for before, other in zip(faulty.views, healthy.views, strict=False):
        if before.telemetry.time_s > onset_s:
            break
        assert before == other
    for before, other in zip(faulty.snapshots, healthy.snapshots, strict=False):
        rows = int((before.truth.t <= onset_s).sum())
        for name in ("t", "omega_BN_B", "propellant_kg"):
            np.testing.assert_array_equal(
                getattr(before.truth, name)[:rows], getattr(other.truth, name)[:rows]
            )
        if rows < len(before.truth.t):
            break
    assert faulty.views != healthy.views


def test_a_look_is_at_the_last_view_before_an_onset_and_three_after_it() -> None:
    flight, _ = both(generate("retarget-v0", 5, 2), Book)
    times = [view.telemetry.time_s for view in flight.views]
    assert len(times) > 4
    seen = look(flight, times[1])
    assert seen.before == flight.views[1].telemetry
    assert seen.after == tuple(view.telemetry for view in flight.views[2:5])
    assert look(flight, times[-1]).after == ()


@pytest.mark.parametrize("study", ["instruments", "levels"])
def test_a_study_of_nothing_is_an_error(study: str) -> None:
    option = {"instruments": "--missions", "levels": "--seeds"}[study]
    line = [sys.executable, "-m", f"orbital_ops_env.studies.{study}", option, "0"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected a whole number of at least 1" in done.stderr


def test_pairs_are_found_in_parts_and_never_twice() -> None:
    todo = searches(["hold-v0"], wanted=6, parts=4)
    assert sum(search.pairs for search in todo) == 6 * (len(FAMILIES["hold-v0"].KINDS) + len(ood.KINDS))
    mine = [search for search in todo if search.fault == "stuck_open"]
    missions = [str(spec) for search in mine for spec in itertools.islice(carriers(search), 2)]
    assert len(set(missions)) == len(missions) == 8


@pytest.mark.parametrize(("family", "fault"), [*(("recovery-v0", kind) for kind in KINDS), *LATER])
def test_a_fault_shows_in_both_of_its_channels(
    monkeypatch: pytest.MonkeyPatch, family: str, fault: str
) -> None:
    monkeypatch.setitem(FAMILIES, shift.FAMILY, shift)
    found = pairs(Search(family, fault, 3))
    areas = figure(found)[fault][family]
    assert set(areas) == set(CHANNELS[fault])
    assert min(areas.values()) > 0.5


def test_too_few_missions_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="0 pairs"):
        pairs(Search("detumble-v0", "gyro_bias", 1, parts=400))


def test_areas_are_of_each_channel_over_all_pairs() -> None:
    found = [
        Pair("hold-v0", "stuck_open", str(n), {"dw": (1.0, 0.0), "dgas": (float(n), 0.5)}, n > 0, False)
        for n in (0, 1)
    ]
    assert figure(found) == {"stuck_open": {"hold-v0": {"dw": 1.0, "dgas": 0.5}}}
    assert naming(found) == {"stuck_open": {"named": 0.5, "false_alarm": 0.0}}


# -- success -----------------------------------------------------------------------------------


def flown(policy: str, level: int = 5, success: bool = True, **told: Any) -> Flown:
    facts: dict[str, Any] = {"fault": "", "reported": False, "named": True, "unused": 4} | told
    return Flown(Job(policy, "hold-v0", level, 1), success, **facts)


def always(spec: MissionSpec) -> Callable[..., MissionSpec]:
    return lambda *cell: spec  # pyright: ignore[reportUnknownLambdaType]


def test_a_family_has_success_by_level_and_what_reference_names() -> None:
    faulty = [
        flown("reference", fault="stuck_open", reported=True, named=True),
        flown("reference", fault="stuck_open", reported=True, named=False, success=False),
        flown("reference", fault="gyro_bias", reported=True, named=True, unused=1),
    ]
    healthy = [flown("reference", level=0), flown("reference", level=0, reported=True, named=False)]
    later = [flown("reference", fault=None, reported=True, named=False)]
    others = [flown("random", level=1), flown("random", level=2, success=False)]
    cells = success.fresh_figure([*faulty, *healthy, *later, *others])
    assert cells["fault_named"] == pytest.approx(2 / 3)
    assert cells["named"] == {"gyro_bias": 1.0, "stuck_open": 0.5}
    assert cells["false_alarm"] == 0.5
    assert (cells["faulty"], cells["healthy"]) == (3, 2)
    assert cells["two_unused"] == {"healthy": 1.0, "faulty": pytest.approx(2 / 3)}
    assert (cells["reference_low"], cells["reference_high"]) == (1.0, 0.75)
    assert (cells["random_from_2"], cells["policies"]["random"]["success"]) == (0.0, 0.5)
    assert cells["policies"]["reference"]["levels"]["5"] == 0.75
    assert math.isnan(cells["policies"]["idle"]["success"])


def test_a_fault_is_named_if_the_report_is_right_and_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job("reference", "recovery-v0", 3, next(carriers(Search("recovery-v0", "stuck_open", 1))).seed)
    spec = next(carriers(Search("recovery-v0", "stuck_open", 1)))
    monkeypatch.setattr(success, "generate", always(spec))
    told = success.flown(job)
    assert (told.fault, told.reported, told.named) == ("stuck_open", True, True)
    sent = fly(spec, Reference(), job.seed).commands
    assert any(isinstance(command, ReportFault) for command in sent)


def test_a_fault_that_begins_after_the_end_counts_neither_way(monkeypatch: pytest.MonkeyPatch) -> None:
    healthy = generate("retarget-v0", 0, 1)
    late = healthy.model_copy(update={"faults": (TrackerOutage(healthy.clock_s + 1),)})
    job = Job("reference", "retarget-v0", 0, 1)
    for spec, fault in ((healthy, ""), (late, None)):
        monkeypatch.setattr(success, "generate", always(spec))
        assert success.flown(job).fault == fault


@pytest.mark.parametrize(("failures", "solved"), [(0, True), (1, True), (2, False), (16, False)])
def test_a_mission_is_solved_if_it_fails_once_at_most(
    monkeypatch: pytest.MonkeyPatch, failures: int, solved: bool
) -> None:
    mission = Mission("retarget-v0", 0, 1, episodes=16)
    flight = fly(generate("retarget-v0", 0, 1), Reference(), 1)
    seeds: list[int] = []

    def result(spec: MissionSpec, policy: Policy, episode_seed: int) -> Flight:
        seeds.append(episode_seed)
        return replace(flight, outcome="failed" if len(seeds) <= failures else "succeeded")

    monkeypatch.setattr(success, "fly", result)
    assert success.solved(mission) is solved
    assert len(set(seeds)) == len(seeds) == (16 if solved else 2)


def test_a_noisy_flight_never_reads_a_check_that_reference_did_not_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def draw(rng: np.random.Generator, targets: tuple[str, ...]) -> Check:
        return Check(subsystem="gyro")

    monkeypatch.setattr(noisy, "draw", draw)
    for seed in range(4):
        for spec in (generate("recovery-v0", 5, seed), generate("detumble-v0", 5, seed)):
            fly(spec, Noisy(success.NOISE, seed), seed)


def test_groups_and_missions_cover_families_and_levels() -> None:
    drawn = success.groups(["hold-v0", "coast-v0"], 2)
    assert len(set(drawn)) == 2 * len(success.GROUP_LEVELS) * 2
    results = {group: group.level == 4 for group in drawn}
    assert success.live(results) == {"1": 0.0, "4": 1.0, "7": 0.0}
    sample = success.missions(["hold-v0"], 3, 16)
    assert success.acceptance({each: each.level < 7 for each in sample}) == {"low": 1.0, "high": 0.0}


def test_a_group_is_mixed_only_if_its_flights_differ_in_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(success, "NOISE", 0.0)
    assert not success.mixed(Group("retarget-v0", 1, 3))


def test_no_two_flights_of_groups_have_the_same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    class Spied(Noisy):
        def __init__(self, share: float, noise_seed: int) -> None:
            super().__init__(0.0, noise_seed)
            seeds.append(noise_seed)

    monkeypatch.setattr(success, "Noisy", Spied)
    alike = [Group(family, 1, 3) for family in ("retarget-v0", "hold-v0")]
    assert not any(success.mixed(group) for group in alike)
    assert len(set(seeds)) == len(seeds) == 2 * success.GROUP


# -- the figure --------------------------------------------------------------------------------


def test_the_head_is_of_the_worst_family() -> None:
    cells = {"policies": {"rules": {"success": 0.4}, "idle": {"success": 0.0}}, "false_alarm": 0.1}
    other = {"policies": {"rules": {"success": 0.7}, "idle": {"success": 0.1}}, "false_alarm": 0.0}
    told = instruments.head({"hold-v0": cells | {"min_auroc": 0.9}, "coast-v0": other | {"min_auroc": 1.0}})
    assert set(told) == set(instruments.WORST)
    picked = ("min_auroc", "false_alarm", "rules_min", "rules_max", "idle_max")
    assert [told[key] for key in picked] == [0.9, 0.1, 0.4, 0.7, 0.1]


@pytest.mark.slow
def test_a_small_run_writes_every_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes = "--pairs 1 --missions 1 --accepted 1 --episodes 2 --groups 1 --oracle 1 --budget 4"
    monkeypatch.setattr(sys, "argv", ["instruments", "--families", "retarget-v0", *sizes.split()])
    monkeypatch.setattr(figures, "DATA", tmp_path)
    instruments.main()
    told = json.loads((tmp_path / "instruments.json").read_text())
    meta = {"command", "commit", "versions", "seeds"}
    assert set(told) == meta | set(instruments.WORST) | {"oracle", "faults", "naming", "families"}
    assert {"success", "gas_g"} <= set(told["oracle"])
    assert set(told["faults"]) == set(told["naming"]) == {*KINDS, *ood.KINDS}
    cells = told["families"]["retarget-v0"]
    assert (
        told["min_auroc"]
        == cells["min_auroc"]
        == min(area for kind in KINDS for area in told["faults"][kind]["retarget-v0"].values())
    )
    assert set(cells["policies"]) == set(success.POLICIES)
    assert set(cells["acceptance"]) == {"low", "high"}
    assert cells["oracle"]["success"] >= cells["oracle"]["reference_success"]


@pytest.mark.slow
def test_a_run_of_parts_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = ["--families", "detumble-v0", "--parts", "groups", "--groups", "1"]
    monkeypatch.setattr(sys, "argv", ["instruments", *chosen])
    monkeypatch.setattr(figures, "DATA", tmp_path)
    instruments.main()
    assert not list(tmp_path.iterdir())


def test_every_policy_flies_and_doing_nothing_useful_fails() -> None:
    spec: MissionSpec = generate("retarget-v0", 4, 3)
    for name in ("idle", "fire", "safe_mode"):
        assert not fly(spec, success.POLICIES[name](), 3).succeeded
