"""One episode: a mission, a plant and a score, without any transport.

`OrbitalOpsEnvironment` puts it on the wire and `flight.fly` flies it in process; both see the same.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orbital_ops_env.commands import AnyCommand, EndMission, ReportFault, Unreadable
from orbital_ops_env.missions.mission import MissionSpec, Outcome
from orbital_ops_env.missions.rules import BatteryFloor, FlightRule, Reserve, SunKeepOut
from orbital_ops_env.missions.targets import NAMED
from orbital_ops_env.models import OrbitalOpsObservation
from orbital_ops_env.rewards.rubric import MissionRubric
from orbital_ops_env.rewards.terms import Standing
from orbital_ops_env.server.observe import brief, observe
from orbital_ops_env.sim.faults import Fault
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Limits, Snapshot

SUN_WARNING_RAD = math.radians(4.0)
"""[rad] a command ends this far before a Sun keep-out,"""
GAS_WARNING_KG = 5e-5
"""[kg] this far before a propellant reserve,"""
BATTERY_WARNING = 0.01
"""[-] and this far before a battery floor."""


class Episode:
    """A mission being flown.

    Args:
        spec: The mission.
        episode_seed: Sensor noise, tip-off details and disturbances.
    """

    def __init__(self, spec: MissionSpec, episode_seed: int) -> None:
        self.spec = spec
        self.episode_seed = episode_seed
        self.outcome: Outcome = "ongoing"
        self.turns = 0
        self.rubric = MissionRubric()
        self._readable = 0
        self._wrong_reports = 0
        self._limits = limits(spec.rules)
        self._named: set[tuple[str, int | None]] = set()
        self._plant = Plant(spec.start, dict(spec.targets), episode_seed, faults=spec.faults, others=NAMED)
        self._true = spec.advance(spec.begin(), self.snapshot.truth)
        self._sequence = spec.model_copy(update={"rules": ()})
        self._onboard = self._sequence.advance(spec.begin(), self.snapshot.estimate)
        self.observation = self._observe(None, reward=None)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What breaks, as it did: a thruster's fault is on the branch that was selected then."""
        return self._plant.faults

    @property
    def _as_flown(self) -> MissionSpec:
        return self.spec.model_copy(update={"faults": self.faults})

    @property
    def snapshot(self) -> Snapshot:
        """The end of the last command, truth included."""
        return self._plant.snapshot

    def step(self, command: AnyCommand) -> OrbitalOpsObservation:
        """Fly one command, score it and see how the mission stands."""
        edges_s = self.spec.edges(self._onboard)
        snapshot = self._plant.execute(command, replace(self._limits, edges_s=edges_s))
        self.turns += 1
        self._true = self.spec.advance(self._true, snapshot.truth)
        self._onboard = self._sequence.advance(self._onboard, snapshot.estimate)
        self._readable += not isinstance(command, Unreadable)
        self._judge_report(command)
        reward = self.rubric.pay(command, self._standing())
        self.outcome = self.spec.outcome(self._true, self.turns)
        if isinstance(command, EndMission) and self.outcome in ("ongoing", "out_of_turns"):
            self.outcome = "ended"
        if self.outcome == "ongoing":
            self._onboard = self._sequence.overruled(self._onboard)
        self.observation = self._observe(command, reward)
        return self.observation

    def _judge_report(self, command: AnyCommand) -> None:
        """Whether the command just flown reports a fault that the craft had when it was sent."""
        if not isinstance(command, ReportFault) or self.snapshot.reason == "refused":
            return
        report = (command.kind, command.unit)
        if report in self._as_flown.acting(self.snapshot.began):
            self._named.add(report)
        else:
            self._wrong_reports += 1

    def _standing(self) -> Standing:
        unreported = self._as_flown.acting(self.snapshot.began) - self._named
        return Standing(
            self.spec, self._true, self.turns, self._readable, self._wrong_reports, len(unreported)
        )

    def _observe(self, command: AnyCommand | None, reward: float | None) -> OrbitalOpsObservation:
        return OrbitalOpsObservation(
            telemetry=observe(self.spec, self.snapshot, self._onboard, self.turns, command),
            brief=brief(self.spec) if self.turns == 0 else None,
            outcome=self.outcome,
            components=self.rubric.components,
            done=self.outcome != "ongoing",
            reward=reward,
        )


def limits(rules: Sequence[FlightRule]) -> Limits:
    """What ends a command shortly before a hard rule is broken, at every mission time."""
    limiting = [rule for rule in rules if isinstance(rule, SunKeepOut | Reserve | BatteryFloor)]
    ends = (rule.until_s + 1 for rule in limiting if rule.until_s is not None)
    times = np.array(sorted({0.0, *(rule.from_s for rule in limiting), *ends}))
    sun, gas, battery = np.zeros((3, len(times)))
    for rule in limiting:
        match rule:
            case SunKeepOut():
                row, limit = sun, rule.angle_rad + SUN_WARNING_RAD
            case Reserve():
                row, limit = gas, rule.propellant_kg + GAS_WARNING_KG
            case BatteryFloor():
                row, limit = battery, rule.level + BATTERY_WARNING
        np.maximum(row, limit, out=row, where=rule.in_force(times))
    rows = np.column_stack((times, sun, gas, battery)).tolist()
    first, *later = (Limits(from_s=t, sun_angle_rad=s, propellant_kg=g, battery=b) for t, s, g, b in rows)
    return replace(first, later=tuple(later))
