"""One episode: a mission, a plant and a score, without any transport.

`OrbitalOpsEnvironment` puts it on the wire and `flight.fly` flies it in process; both see the same.
"""

import math

from orbital_ops_env.commands import AnyCommand, EndMission, ReportFault, Unreadable
from orbital_ops_env.missions.mission import MissionSpec, Outcome
from orbital_ops_env.missions.rules import BatteryFloor, Reserve, SunKeepOut
from orbital_ops_env.missions.targets import NAMED
from orbital_ops_env.models import OrbitalOpsObservation
from orbital_ops_env.rewards.rubric import MissionRubric
from orbital_ops_env.rewards.terms import Standing
from orbital_ops_env.server.observe import brief, observe
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
        self._named: set[tuple[str, int | None]] = set()
        self._plant = Plant(spec.start, dict(spec.targets), episode_seed, faults=spec.faults, others=NAMED)
        self._true = spec.advance(spec.begin(), self.snapshot.truth)
        self._sequence = spec.model_copy(update={"rules": ()})
        self._onboard = self._sequence.advance(spec.begin(), self.snapshot.estimate)
        self.observation = self._observe(None, reward=None)

    @property
    def snapshot(self) -> Snapshot:
        """The end of the last command, truth included."""
        return self._plant.snapshot

    def step(self, command: AnyCommand) -> OrbitalOpsObservation:
        """Fly one command, score it and see how the mission stands."""
        snapshot = self._plant.execute(command, self._limits())
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
        if report in self.spec.acting(self.snapshot.began):
            self._named.add(report)
        else:
            self._wrong_reports += 1

    def _standing(self) -> Standing:
        unreported = self.spec.acting(self.snapshot.began) - self._named
        return Standing(
            self.spec, self._true, self.turns, self._readable, self._wrong_reports, len(unreported)
        )

    def _limits(self) -> Limits:
        rules = self.spec.in_force(self.snapshot.t)
        keep_outs = (r.angle_rad + SUN_WARNING_RAD for r in rules if isinstance(r, SunKeepOut))
        reserves = (r.propellant_kg + GAS_WARNING_KG for r in rules if isinstance(r, Reserve))
        floors = (r.level + BATTERY_WARNING for r in rules if isinstance(r, BatteryFloor))
        return Limits(
            edges_s=self.spec.edges(self._onboard),
            sun_angle_rad=max(keep_outs, default=0.0),
            propellant_kg=max(reserves, default=0.0),
            battery=max(floors, default=0.0),
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
