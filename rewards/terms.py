"""The terms of the return: pure functions of where an episode stands, each in [0, 1]."""

from dataclasses import dataclass

from orbital_ops_env.missions.mission import MissionSpec, Progress, Reserve

WRONG_REPORT_COST = 0.5
"""[-] share of `safety` that a wrong fault report takes."""


@dataclass(frozen=True)
class Standing:
    """Where an episode stands after a command, on the true history."""

    spec: MissionSpec
    progress: Progress
    replies: int
    """Commands sent, unreadable ones included."""
    readable: int
    """Replies that were exactly one telecommand."""
    wrong_reports: int
    """Fault reports that name a fault the craft does not have."""


def objective(standing: Standing) -> float:
    """1 if every directive is done and no hard rule was broken before, else 0."""
    return float(standing.spec.succeeded(standing.progress))


def process(standing: Standing) -> float:
    """Directives done and the progress of the next, as a share of all; 0 once a hard rule is broken."""
    return standing.spec.completion(standing.progress)


def efficiency(standing: Standing) -> float:
    """Mean of the share of gas above the reserve that is left and the share of time that is left."""
    spec, progress = standing.spec, standing.progress
    reserve = sum(rule.propellant_kg for rule in spec.rules if isinstance(rule, Reserve))
    budget = spec.start.propellant_kg - reserve
    gas = (progress.propellant_kg - reserve) / budget if budget > 0 else 0.0
    time = 1 - progress.t / spec.clock_s
    return 0.5 * min(max(gas, 0.0), 1.0) + 0.5 * min(max(time, 0.0), 1.0)


def safety(standing: Standing) -> float:
    """Share of soft rules kept, less what wrong fault reports cost."""
    soft = [k for k, rule in enumerate(standing.spec.rules) if not rule.hard]
    kept = 1.0
    if soft:
        kept -= len(standing.progress.broken & set(soft)) / len(soft)
    return max(kept - WRONG_REPORT_COST * standing.wrong_reports, 0.0)


def format_(standing: Standing) -> float:
    """1 less the share of the turn limit that went into replies that were not exactly one telecommand."""
    return 1 - (standing.replies - standing.readable) / standing.spec.turns
