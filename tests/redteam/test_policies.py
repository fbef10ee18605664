"""The red team does what it is named for."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from orbital_ops_env.client.render import view
from orbital_ops_env.commands import (
    AnyCommand,
    Detumble,
    EndMission,
    FaultKind,
    ReportFault,
    SelectBranch,
    Slew,
    Subsystem,
    Telecommand,
    Unreadable,
    encode,
    parse,
)
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import FAMILIES, FLAGSHIP, LEVELS, generate
from orbital_ops_env.missions.targets import CATALOGUE
from orbital_ops_env.policies.noisy import Noisy
from orbital_ops_env.policies.redteam.blind import CONSTANT, CYCLES
from orbital_ops_env.policies.redteam.reader import planned
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.script import Cycle, Script
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.flight import fly
from orbital_ops_env.sim.faults import unit_of
from orbital_ops_env.studies.zoo import BLIND, SPOILERS, ZOO

SPEC = generate("retarget-v0", 4, 7)
NO_VIEW: Any = None


def test_every_command_is_sent_for_ever_by_one_policy() -> None:
    sent = {command.command for command in CONSTANT.values()}
    assert sent == {kind.model_fields["command"].default for kind in (*get_args(Telecommand), Unreadable)}


@pytest.mark.parametrize("name", BLIND)
def test_a_blind_policy_needs_no_view_and_sends_the_same_again(name: str) -> None:
    policy = BLIND[name](SPEC)
    policy.begin(1)
    first = [policy.act(NO_VIEW) for _ in range(12)]
    policy.begin(2)
    assert [policy.act(NO_VIEW) for _ in range(12)] == first


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_holds_commands_that_can_be_sent(name: str) -> None:
    for command in CYCLES[name]:
        assert isinstance(command, Unreadable) or parse(encode(command)) == command


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_comes_round_in_the_shortest_mission(name: str) -> None:
    shortest = min(generate(family, level, 1).turns for family in FAMILIES for level in LEVELS)
    assert len(CYCLES[name]) <= shortest


def test_spam_leaves_no_command_out() -> None:
    spam = [*CYCLES["manoeuvre_spam"], *CYCLES["service_spam"], *CYCLES["end_mission"]]
    assert sorted(spam, key=str) == sorted(CONSTANT.values(), key=str)


def test_a_cycle_comes_round() -> None:
    policy = BLIND["dither"](SPEC)
    policy.begin(0)
    sent = [policy.act(NO_VIEW) for _ in range(5)]
    assert sent[0] == sent[2] == sent[4] != sent[1] == sent[3]


def test_parrot_and_check_spam_leave_nothing_out() -> None:
    reports = [command for command in CYCLES["parrot"] if isinstance(command, ReportFault)]
    assert [report.kind for report in reports] == list(get_args(FaultKind))
    assert len(CYCLES["check_spam"]) == len(get_args(Subsystem))


def test_the_borrowed_script_is_of_another_mission() -> None:
    policy = BLIND["borrowed"](SPEC)
    other = fly(generate("retarget-v0", 4, 8), Reference(), 8).commands
    policy.begin(0)
    assert tuple(policy.act(NO_VIEW) for _ in other) == other


@pytest.mark.parametrize("family", ["detumble-v0", "retarget-v0", "coast-v0", "hold-v0", "recovery-v0"])
def test_the_dodger_ends_at_its_last_directive_without_success(family: str) -> None:
    spec = generate(family, 4, 2)
    flown = fly(spec, ZOO["dodger"](spec), 2)
    assert flown.outcome == "ended"
    assert flown.views[-1].telemetry.directive == len(spec.directives)
    assert 0.25 * (len(spec.directives) - 1) / len(spec.directives) <= flown.return_ < 0.25


@pytest.mark.parametrize("family", ["retarget-v0", "hold-v0"])
def test_the_late_dodger_serves_more_of_the_last_dwell_and_does_not_succeed(family: str) -> None:
    spec = generate(family, 4, 2)
    early, late = (fly(spec, ZOO[name](spec), 2) for name in ("dodger", "late_dodger"))
    assert late.outcome == "ended"
    assert early.return_ < late.return_ < 0.25
    assert late.return_ > 0.25 * (1 - 0.5 * 0.5 / len(spec.directives))  # half of a directive is nearness


@pytest.mark.parametrize("name", SPOILERS)
def test_a_spoiler_flies_as_reference_does_after_its_own_commands(name: str) -> None:
    healthy = SPEC.model_copy(update={"faults": ()})
    flown = fly(healthy, ZOO[name](healthy), 7)
    own = [command for command in flown.commands if isinstance(command, (ReportFault, Unreadable))]
    assert own
    assert list(flown.commands[: len(own)]) == own
    reference = Reference()
    reference.begin(7)
    assert flown.commands[len(own)] == reference.act(flown.views[len(own)])
    assert flown.succeeded


def test_the_reader_needs_the_brief_only() -> None:
    policy = ZOO["reader"](SPEC)
    flown = fly(SPEC, policy, 7)
    policy.begin(7)
    blind = [policy.act(flown.views[0]) for _ in flown.commands]
    assert tuple(blind) == flown.commands


def test_nobody_dodges_a_broken_thruster_by_changing_the_branch_beforehand() -> None:
    """Of missions with a broken thruster, a plan made once does no more of them on the other branch."""
    tasks = (splits.task("val", index) for index in range(splits.num_tasks("val")))
    short = (task for task in tasks if task.spec.family != FLAGSHIP)
    broken = [task for task in short if any(map(unit_of, task.spec.faults))][:16]

    def succeeded(first: Sequence[AnyCommand]) -> int:
        told = 0
        for spec, seed in ((task.spec, task.episode_seed) for task in broken):
            plan = list(planned(view(Episode(spec, seed).observation)))
            told += fly(spec, Script((*first, *plan, EndMission())), seed).succeeded
        return told

    assert succeeded([SelectBranch(branch="B")]) <= succeeded([]) + 1
    assert succeeded([]) <= 0.25 * len(broken)


def test_noise_is_the_same_for_a_seed_and_none_leaves_reference() -> None:
    first, again, other = (fly(SPEC, Noisy(0.3, seed), 7).commands for seed in (1, 1, 2))
    assert first == again != other
    assert fly(SPEC, Noisy(0.0, 1), 7).commands == fly(SPEC, Reference(), 7).commands


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_name_of_the_catalogue_costs_a_turn(family: str) -> None:
    """Gas and time of the turn, as a right one would; a name of no catalogue is refused in ten seconds."""
    spec = generate(family, 0, 3)
    named = {name for name, _ in spec.targets}
    wrong = next(name for name in CATALOGUE if name not in named)
    flown = fly(spec, Cycle(Detumble(rate_deg_s=0.1), Slew(target=wrong, rate_deg_s=0.5)), 3)
    start, after = flown.views[1].telemetry, flown.views[2].telemetry
    assert after.reason != "refused"
    assert after.time_s - start.time_s > 30.0
    assert start.propellant_g - after.propellant_g > 0.2
    refused = fly(spec, Cycle(Slew(target="NOWHERE", rate_deg_s=0.5)), 3).views[1].telemetry
    assert (refused.reason, refused.time_s, refused.propellant_g) == (
        "refused",
        10.0,
        flown.views[0].telemetry.propellant_g,
    )
