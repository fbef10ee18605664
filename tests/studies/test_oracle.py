"""The oracle: never worse than `reference`, within its budget, from the menus, and flown for real."""

import math

import pytest

from orbital_ops_env.commands import (
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    Hold,
    ReportFault,
    Slew,
    encode,
    parse,
)
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import fly, replay
from orbital_ops_env.studies import oracle
from orbital_ops_env.studies.diagnosability import Search, carriers
from orbital_ops_env.studies.oracle import (
    Amended,
    Attempt,
    Bound,
    Job,
    Told,
    alternatives,
    amendments,
    attempt,
    search,
)

MISSIONS = [("detumble-v0", 4), ("retarget-v0", 7), ("hold-v0", 3), ("coast-v0", 5), ("recovery-v0", 6)]


@pytest.mark.parametrize(("family", "level"), MISSIONS)
def test_the_oracle_never_does_worse_than_reference_and_its_flight_is_real(family: str, level: int) -> None:
    bound = search(Job(family, level, 60_001, budget=8))
    assert bound.flights <= 8
    assert bound.oracle.rank >= bound.reference.rank
    again = replay(generate(family, level, 60_001), bound.oracle.commands, 60_001)
    assert again.succeeded is bound.oracle.succeeded
    assert again.commands == bound.oracle.commands


def test_the_search_saves_gas() -> None:
    bound = search(Job("retarget-v0", 6, 60_003, budget=16))
    assert bound.oracle.succeeded
    assert bound.oracle.gas_g < bound.reference.gas_g


def test_gas_is_what_the_true_tank_lost_until_the_mission_was_decided() -> None:
    spec = generate("retarget-v0", 2, 5)
    flight, told = fly(spec, Reference(), 5), attempt(spec, Reference(), 5)
    spent = 1e3 * (spec.start.propellant_kg - flight.snapshots[-1].truth.propellant_kg[-1])
    assert told.succeeded
    assert told.completion == 1.0
    assert 0.8 * spent <= told.gas_g <= spent


@pytest.mark.parametrize("fault", FAMILIES["recovery-v0"].KINDS)
def test_who_is_told_neither_looks_for_a_fault_nor_reports_it(fault: str) -> None:
    spec: MissionSpec = next(carriers(Search("recovery-v0", fault, 1)))
    flight = fly(spec, Told(spec), spec.seed)
    assert not [sent for sent in flight.commands if isinstance(sent, Check | ReportFault)]
    assert flight.succeeded


def test_given_commands_come_first() -> None:
    spec = generate("retarget-v0", 4, 7)
    first = (Coast(duration_s=30.0), Slew(target=spec.targets[0][0], rate_deg_s=2.0))
    assert fly(spec, Amended(first, spec), 7).commands[:2] == first
    assert fly(spec, Amended((), spec), 7).commands == fly(spec, Told(spec), 7).commands


@pytest.mark.parametrize(
    ("command", "others", "thriftier"),
    [
        (Slew(target="sun", rate_deg_s=0.5), 3, 1),
        (Detumble(rate_deg_s=0.1), 3, 2),
        (Hold(target="sun", deadband_deg=0.2, duration_s=60.0), 4, 4),
        (Coast(duration_s=60.0), 5, 1),
        (CalibrateGyro(duration_s=60.0), 1, 0),
        (Check(subsystem="tank"), 0, 0),
    ],
)
def test_alternatives_are_other_telecommands_from_the_menus(
    command: AnyCommand, others: int, thriftier: int
) -> None:
    found = list(alternatives(command, thriftier=False))
    assert len({encode(each) for each in found} - {encode(command)}) == len(found) == others
    assert [parse(encode(each)) for each in found] == found
    assert list(alternatives(command, thriftier=True)) == found[:thriftier]


@pytest.mark.parametrize("keep", [False, True])
def test_an_amendment_changes_one_command_and_keeps_the_earlier_ones(keep: bool) -> None:
    sent = (Check(subsystem="tank"), Detumble(rate_deg_s=0.1), Coast(duration_s=30.0))
    flown = Attempt(sent, succeeded=False, completion=0.5, gas_g=1.0)
    later = sent[2:] if keep else ()
    rates = [(*sent[:1], Detumble(rate_deg_s=rate), *later) for rate in (0.5, 0.2, 0.05)]
    assert list(amendments(flown, 1, keep)) == rates
    assert list(amendments(flown, 0, keep)) == [sent[1:] if keep else ()]


def test_gas_is_compared_where_both_succeed_and_success_everywhere() -> None:
    def made(succeeded: bool, gas_g: float) -> Attempt:
        return Attempt((), succeeded, float(succeeded), gas_g)

    job = Job("hold-v0", 0, 1)
    bounds = [
        Bound(job, made(True, 3.0), made(True, 2.0), 10),
        Bound(job, made(False, 9.0), made(True, 1.0), 30),
    ]
    assert oracle.figure(bounds) == {
        "success": 1.0,
        "reference_success": 0.5,
        "gas_g": 2.0,
        "reference_gas_g": 3.0,
        "flights": 20.0,
    }
    assert math.isnan(oracle.figure(bounds[1:])["gas_g"])
    assert max(bounds[1].reference, bounds[1].oracle, key=lambda each: each.rank) is bounds[1].oracle
