"""Policies use what the text holds, and are as good as they should be."""

import pytest

from orbital_ops_env.commands import Coast, Detumble, Hold, SelectBranch, Slew, encode, parse
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.idle import Idle
from orbital_ops_env.policies.random import Random
from orbital_ops_env.policies.reference import Reference, turns_ahead
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Script
from orbital_ops_env.server.flight import Flight, fly, replay

ALL: list[type[Policy]] = [Idle, Random, Rules, Reference]


def flights(policy: type[Policy], family: str, level: int, seeds: range) -> list[Flight]:
    return [fly(generate(family, level, seed), policy(), seed) for seed in seeds]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", [0, 4, 9])
def test_reference_succeeds_where_idle_never_does(family: str, level: int) -> None:
    seeds = range(900, 906)
    assert sum(f.succeeded for f in flights(Reference, family, level, seeds)) >= 4
    assert not any(f.succeeded for f in flights(Idle, family, level, range(900, 902)))


@pytest.mark.parametrize("family", FAMILIES)
def test_random_fails(family: str) -> None:
    assert not any(f.succeeded for f in flights(Random, family, 4, range(900, 906)))


@pytest.mark.parametrize("policy", ALL)
def test_every_command_of_a_policy_is_a_readable_reply(policy: type[Policy]) -> None:
    flown = fly(generate("retarget-v0", 5, 3), policy(), 3)
    assert all(parse(encode(command)) == command for command in flown.commands)
    assert flown.components["reward/format"] == 1.0


@pytest.mark.parametrize("policy", ALL)
def test_a_policy_starts_over(policy: type[Policy]) -> None:
    spec, pilot = generate("retarget-v0", 6, 8), policy()
    assert fly(spec, pilot, 1).commands == fly(spec, pilot, 1).commands


def test_a_replayed_command_log_gives_the_same_flight() -> None:
    flown = fly(generate("detumble-v0", 3, 4), Rules(), 4)
    again = replay(flown.spec, flown.commands, 4)
    assert again.rewards == flown.rewards
    assert again.views == flown.views


def test_rules_change_branch_once_after_an_alarm() -> None:
    flown = fly(generate("retarget-v0", 4, 1), Script((Coast(duration_s=30),)), 1)
    alarmed = flown.views[0].telemetry.model_copy(update={"reason": "alarm"})
    view = type(flown.views[0])(flown.views[0].brief, alarmed)
    rules = Rules()
    assert rules.act(view) == SelectBranch(branch="B")
    assert isinstance(rules.act(view), Slew)


def test_reference_picks_a_slower_turn_when_gas_is_short() -> None:
    view = fly(generate("retarget-v0", 0, 5), Idle(), 5).views[0]
    leg = turns_ahead(view)[0]
    loose = view.brief.directives[0].model_copy(update={"closes_s": 1700.0, "opens_s": 0.0})
    brief = view.brief.model_copy(update={"directives": (loose,), "clock_s": 1700.0})
    poor = type(view)(brief, view.telemetry.model_copy(update={"propellant_g": 1.1}))
    hurried = loose.model_copy(update={"closes_s": 60.0 + leg.angle_deg + leg.dwell_s})
    rich = type(view)(brief.model_copy(update={"directives": (hurried,)}), view.telemetry)
    slow, fast = Reference().act(poor), Reference().act(rich)
    assert isinstance(slow, Slew)
    assert isinstance(fast, Slew)
    assert slow.rate_deg_s == 0.2
    assert fast.rate_deg_s >= 1.0


def test_procedure_detumbles_first_and_holds_last() -> None:
    flown = fly(generate("detumble-v0", 0, 2), Reference(), 2)
    assert isinstance(flown.commands[0], Detumble)
    assert isinstance(flown.commands[-1], Hold | Slew)
