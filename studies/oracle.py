"""The oracle: what could be done with a mission by one who knows what breaks, and may try again.

It is privileged: it reads the mission's faults, and judges on the true history. It starts from two flights,
by `reference` and by the same policy told of the fault, and keeps the better one. Then it goes through the
commands of that flight, tries others from the menus in the place of each, flies on as told or with the later
commands as they were, and keeps what does better. A state is restored by flying the same commands again. So
it is a lower bound on what is possible, and never does worse than `reference`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orbital_ops_env.client import PolicyView
from orbital_ops_env.commands import (
    CALIBRATION_DURATIONS_S,
    DEADBANDS_DEG,
    DETUMBLE_RATES_DEG_S,
    DURATIONS_S,
    SLEW_RATES_DEG_S,
    AnyCommand,
    CalibrateGyro,
    Coast,
    Detumble,
    Hold,
    Slew,
)
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec, Progress
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.signatures import Finding
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.faults import Fault, ThrusterFault, on_branch, unit_of

BUDGET: Final = 40
"""Flights for a mission."""


class Told(Reference):
    """`reference` that is told what breaks.

    It works round a fault as soon as it has begun; it never looks for one nor reports it.

    Args:
        spec: The mission, faults included.
    """

    def __init__(self, spec: MissionSpec) -> None:
        super().__init__()
        self._faults = spec.faults
        self._struck: dict[Fault, Fault] = {}

    def begin(self, seed: int) -> None:
        """Forget the last episode."""
        super().begin(seed)
        self._struck = {}

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        now = view.telemetry.time_s
        due = [fault for fault in self._faults if fault.onset_s <= now]
        if not due:
            return self._procedure.act(view)
        for fault in due:
            self._struck.setdefault(fault, _struck(fault, "AB".index(view.telemetry.branch)))
        self._diagnosis.findings = [
            Finding(fault.kind, unit_of(fault)) for fault in map(self._struck.__getitem__, due)
        ]
        self._diagnosis.reported = set(self._diagnosis.findings)
        return super().act(view)


def _struck(fault: Fault, branch: int) -> Fault:
    return on_branch(fault, branch) if isinstance(fault, ThrusterFault) else fault


class Amended:
    """Sends given commands first and flies on as told.

    Args:
        first: The commands.
        spec: The mission, faults included.
    """

    rationale = ""

    def __init__(self, first: tuple[AnyCommand, ...], spec: MissionSpec) -> None:
        self._first = first
        self._then = Told(spec)
        self._sent = 0

    def begin(self, seed: int) -> None:
        """Start over."""
        self._then.begin(seed)
        self._sent = 0

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        self._sent += 1
        if self._sent <= len(self._first):
            return self._first[self._sent - 1]
        return self._then.act(view)


def judged(flight: Flight) -> Progress:
    """How a flight ended on its true history."""
    progress = flight.spec.begin()
    for snapshot in flight.snapshots:
        progress = flight.spec.advance(progress, snapshot.truth)
    return progress


@dataclass(frozen=True)
class Attempt:
    """A flight, as far as the search needs it."""

    commands: tuple[AnyCommand, ...]
    succeeded: bool
    completion: float
    """[-] share of the mission done."""
    gas_g: float
    """[g] true propellant spent until the mission was decided."""

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Success first, then what was done, then gas."""
        return self.succeeded, self.completion, -self.gas_g


def attempt(spec: MissionSpec, policy: Policy, episode_seed: int) -> Attempt:
    """Fly a mission."""
    flight = fly(spec, policy, episode_seed)
    end = judged(flight)
    spent_g = 1e3 * (spec.start.propellant_kg - end.propellant_kg)
    return Attempt(flight.commands, flight.succeeded, spec.completion(end), spent_g)


@dataclass(frozen=True)
class Job:
    """A mission for the oracle."""

    family: str
    level: int
    seed: int
    budget: int = BUDGET


@dataclass(frozen=True)
class Bound:
    """What the oracle made of a mission, beside `reference`."""

    job: Job
    reference: Attempt
    oracle: Attempt
    flights: int


def search(job: Job) -> Bound:
    """The best flight found within the budget."""
    spec = generate(job.family, job.level, job.seed)
    return Bound(job, *improved(spec, job.seed, job.budget))


def improved(spec: MissionSpec, episode_seed: int, budget: int = BUDGET) -> tuple[Attempt, Attempt, int]:
    """What `reference` makes of an episode, the best flight found, and how many were flown for it."""
    reference = attempt(spec, Reference(), episode_seed)
    best = max(reference, attempt(spec, Told(spec), episode_seed), key=lambda each: each.rank)
    flights = 2
    for keep in (False, True):
        place = 0
        while place < len(best.commands):
            for commands in amendments(best, place, keep):
                if flights >= budget:
                    return reference, best, flights
                trial = attempt(spec, Amended(commands, spec), episode_seed)
                flights += 1
                best = max(best, trial, key=lambda each: each.rank)
            place += 1
    return reference, best, flights


def amendments(best: Attempt, place: int, keep: bool) -> Iterator[tuple[AnyCommand, ...]]:
    """The commands of a flight with another one at a place, or without it.

    Args:
        best: The flight.
        place: Number of the command, from 0.
        keep: Whether the later commands stay; else the flight goes on as told.
    """
    before, command = best.commands[:place], best.commands[place]
    after = best.commands[place + 1 :] if keep else ()
    for other in alternatives(command, thriftier=best.succeeded):
        yield (*before, other, *after)
    if not isinstance(command, Slew | Hold | Detumble | Coast):
        yield (*before, *after)


def alternatives(command: AnyCommand, *, thriftier: bool) -> Iterator[AnyCommand]:
    """The same command with another number, the thriftiest first; a drift instead of a hold.

    Args:
        command: What to replace.
        thriftier: Whether to leave out what takes more gas.
    """
    match command:
        case Slew():
            field, menu = "rate_deg_s", SLEW_RATES_DEG_S
        case Detumble():
            field, menu = "rate_deg_s", DETUMBLE_RATES_DEG_S[::-1]
        case Hold():
            field, menu = "deadband_deg", DEADBANDS_DEG[::-1]
            yield Coast(duration_s=command.duration_s)
        case Coast():
            field, menu = "duration_s", DURATIONS_S
        case CalibrateGyro():
            field, menu = "duration_s", CALIBRATION_DURATIONS_S
        case _:
            return
    number = menu.index(getattr(command, field))
    for value in menu[:number] if thriftier else (*menu[:number], *menu[number + 1 :]):
        yield command.model_copy(update={field: value})


def figure(bounds: Sequence[Bound]) -> dict[str, float]:
    """Success and mean gas [g] of the oracle and of `reference`; the gas is of missions that both solve."""
    both = [bound for bound in bounds if bound.reference.succeeded]
    found = {
        "success": [bound.oracle.succeeded for bound in bounds],
        "reference_success": [bound.reference.succeeded for bound in bounds],
        "gas_g": [bound.oracle.gas_g for bound in both],
        "reference_gas_g": [bound.reference.gas_g for bound in both],
        "flights": [bound.flights for bound in bounds],
    }
    return {key: float(np.mean(values)) if values else float("nan") for key, values in found.items()}
