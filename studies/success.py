"""How often policies succeed: on fresh missions, over many episodes of one mission, and in noisy groups."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orbital_ops_env.commands import ReportFault
from orbital_ops_env.missions.catalog import LEVELS, generate
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.idle import Idle
from orbital_ops_env.policies.noisy import Noisy
from orbital_ops_env.policies.random import Random
from orbital_ops_env.policies.redteam.blind import CONSTANT
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Cycle
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.faults import unit_of
from orbital_ops_env.studies.evaluate import EPISODE_STRIDE
from orbital_ops_env.studies.oracle import judged
from orbital_ops_env.studies.zoo import noise_seed

FRESH_SEED: Final = 30_000
"""Missions and episodes from here on, which no other study flies,"""
ACCEPTANCE_SEED: Final = 31_000
"""missions flown many times from here on,"""
GROUP_SEED: Final = 32_000
"""and missions of groups from here on."""
RANDOM_FROM: Final = 2
"""Level from which on random commands must not succeed."""
LOW_HALF, HIGH_HALF = range(5), range(5, 10)
SPARE: Final = 2
"""Commands that `reference` should leave unused."""
CORE, TOP = range(7), range(7, 10)
"""Levels that acceptance is told of."""
FAILURES: Final = 1
"""Failures with which a mission still counts as solved: 15 of 16."""
NOISE: Final = 0.3
"""[-] share of commands that a noisy policy draws at random,"""
GROUP: Final = 8
"""flights in a group,"""
GROUP_LEVELS: Final = (1, 4, 7)
"""and levels of which the best of a family counts."""


POLICIES: Final[Mapping[str, Callable[[], Policy]]] = {
    "reference": Reference,
    "rules": Rules,
    "random": Random,
    "idle": Idle,
    "fire": lambda: Cycle(CONSTANT["fire"]),
    "safe_mode": lambda: Cycle(CONSTANT["safe_mode"]),
}


# -- fresh missions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One episode of a fresh mission."""

    policy: str
    family: str
    level: int
    seed: int


@dataclass(frozen=True)
class Flown:
    """What became of it."""

    job: Job
    success: bool
    fault: str | None
    """Kind of what broke; empty if nothing did, None if it was to break after the end."""
    reported: bool
    named: bool
    """Whether what broke was reported, and nothing else."""
    unused: int
    """Commands left of the turn limit."""


def fresh_jobs(families: Sequence[str], missions: int) -> list[Job]:
    """Every policy on every mission of every level."""
    seeds = range(FRESH_SEED, FRESH_SEED + missions)
    return [Job(*cell) for cell in itertools.product(POLICIES, families, LEVELS, seeds)]


def flown(job: Job) -> Flown:
    """Fly a job."""
    flight = fly(generate(job.family, job.level, job.seed), POLICIES[job.policy](), job.seed)
    broken = {(fault.kind, unit_of(fault)) for fault in flight.faults}
    reports = {(sent.kind, sent.unit) for sent in flight.commands if isinstance(sent, ReportFault)}
    unused = flight.spec.turns - len(flight.commands)
    return Flown(job, flight.succeeded, _fault(flight), bool(reports), reports == broken, unused)


def _fault(flight: Flight) -> str | None:
    if not flight.faults:
        return ""
    fault = flight.faults[0]
    return fault.kind if fault.onset_s <= judged(flight).t else None


def rate(results: Iterable[bool]) -> float:
    """[-] share that is true; NaN of none."""
    told = list(results)
    return sum(told) / len(told) if told else float("nan")


def fresh_figure(flights: Sequence[Flown]) -> dict[str, Any]:
    """A family's `policies.<policy>`: success and levels; and how `reference` names faults."""
    policies: dict[str, Any] = {}
    for policy in POLICIES:
        mine = [each for each in flights if each.job.policy == policy]
        levels = {str(n): rate(each.success for each in mine if each.job.level == n) for n in LEVELS}
        policies[policy] = {"success": rate(each.success for each in mine), "levels": levels}
    reference = [each for each in flights if each.job.policy == "reference"]
    random = [each for each in flights if each.job.policy == "random" and each.job.level >= RANDOM_FROM]
    return {
        "reference_low": rate(each.success for each in reference if each.job.level in LOW_HALF),
        "reference_high": rate(each.success for each in reference if each.job.level in HIGH_HALF),
        "random_from_2": rate(each.success for each in random),
        "policies": policies,
        **_naming(reference),
    }


def _naming(reference: Sequence[Flown]) -> dict[str, Any]:
    faulty = [each for each in reference if each.fault]
    healthy = [each for each in reference if each.fault == ""]
    kinds = sorted({each.fault for each in faulty if each.fault})
    return {
        "fault_named": rate(each.named for each in faulty),
        "false_alarm": rate(each.reported for each in healthy),
        "two_unused": {"healthy": rate(_spares(healthy)), "faulty": rate(_spares(faulty))},
        "named": {kind: rate(each.named for each in faulty if each.fault == kind) for kind in kinds},
        "faulty": len(faulty),
        "healthy": len(healthy),
    }


def _spares(flights: Sequence[Flown]) -> Iterator[bool]:
    """Whether each flight leaves `SPARE` commands unused."""
    return (each.unused >= SPARE for each in flights)


# -- concentration -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Mission:
    """A mission and the number of its episodes."""

    family: str
    level: int
    seed: int
    episodes: int


def missions(families: Sequence[str], wanted: int, episodes: int) -> list[Mission]:
    """A sample of every level and family."""
    seeds = range(ACCEPTANCE_SEED, ACCEPTANCE_SEED + wanted)
    return [Mission(*cell, episodes) for cell in itertools.product(families, LEVELS, seeds)]


def solved(mission: Mission) -> bool:
    """Whether `reference` fails at most `FAILURES` of the episodes; flown until that is known."""
    spec = generate(mission.family, mission.level, mission.seed)
    seeds = (mission.seed + EPISODE_STRIDE * episode for episode in range(mission.episodes))
    failures = (seed for seed in seeds if not fly(spec, Reference(), seed).succeeded)
    return len(list(itertools.islice(failures, FAILURES + 1))) <= FAILURES


def acceptance(results: Mapping[Mission, bool]) -> dict[str, float]:
    """A family's share of missions solved, by levels."""
    spans = {"low": CORE, "high": TOP}
    return {
        name: rate(done for mission, done in results.items() if mission.level in span)
        for name, span in spans.items()
    }


# -- live groups -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Flights of one mission and episode that differ in noise only."""

    family: str
    level: int
    seed: int


def groups(families: Sequence[str], wanted: int) -> list[Group]:
    """Groups of each family and level."""
    seeds = range(GROUP_SEED, GROUP_SEED + wanted)
    return [Group(*cell) for cell in itertools.product(families, GROUP_LEVELS, seeds)]


def mixed(group: Group) -> bool:
    """Whether some flights of a group succeed and some do not; flown until that is known.

    Each flight has noise of its own, so that luck is shared by no two missions.
    """
    spec = generate(group.family, group.level, group.seed)
    results: set[bool] = set()
    for member in range(GROUP):
        results.add(fly(spec, Noisy(NOISE, noise_seed(spec, member)), group.seed).succeeded)
        if len(results) > 1:
            return True
    return False


def live(results: Mapping[Group, bool]) -> dict[str, float]:
    """A family's share of mixed groups, by level."""
    return {
        str(level): rate(mix for group, mix in results.items() if group.level == level)
        for level in GROUP_LEVELS
    }
