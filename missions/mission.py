"""A mission: what must be achieved, by when, on how much, and what is forbidden.

`MissionSpec` is everything that defines the task; together with an episode seed it defines an episode.
Progress is judged on the true history for the score, and on the estimated one for what the onboard sequencer
reports. All of it is pure.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from orbital_ops_env.missions.directives import Directive, Frozen, Second, SendData
from orbital_ops_env.missions.rules import FlightRule, QuietWindow, Reserve
from orbital_ops_env.sim.faults import Fault, unit_of
from orbital_ops_env.sim.state import Site, Start, Target, Track

Outcome = Literal["ongoing", "succeeded", "failed", "timed_out", "out_of_turns", "ended"]


@dataclass(frozen=True)
class Progress:
    """How far a mission is along one history."""

    t: float = 0.0
    """[s] mission time judged so far; the time of success once there is one."""
    propellant_kg: float = 0.0
    """[kg] usable propellant at that time."""
    done: int = 0
    """Directives done."""
    first: float = math.inf
    """Error of the current directive when it became current; infinite before its first row."""
    best: float = math.inf
    dwelt: float = 0.0
    """[s] longest dwell of the current directive."""
    since: float = math.inf
    """[s] mission time since when its condition holds; infinite while it does not."""
    broken: frozenset[int] = frozenset()
    """Indices of flight rules broken so far."""


class MissionSpec(Frozen):
    """Everything that defines a task. Frozen, with canonical JSON and a content hash."""

    family: str
    level: int = Field(ge=0, le=9)
    seed: int = Field(ge=0)
    start: Start
    targets: tuple[tuple[str, Target], ...]
    directives: tuple[Directive, ...] = Field(min_length=1)
    rules: tuple[FlightRule, ...]
    clock_s: Annotated[Second, Field(gt=0)]
    """[s] the mission ends then."""
    turns: int = Field(ge=1)
    """The mission ends after so many commands."""
    faults: tuple[Annotated[Fault, Field(discriminator="kind")], ...] = ()
    """What breaks, and when; no observation ever names it."""

    @model_validator(mode="after")
    def _targets_exist(self) -> "MissionSpec":
        names = dict(self.targets)
        for part in (*self.directives, *self.rules):
            name = getattr(part, "target", None)
            if name is not None and name not in names:
                raise ValueError(f"{part.kind} names {name}, not among {sorted(names)}")
            if isinstance(part, SendData) and not isinstance(names[part.target], Site):
                raise ValueError(f"downlink names {name}, expected a place on the ground")
        return self

    @model_validator(mode="after")
    def _faults_differ(self) -> "MissionSpec":
        if len({(fault.kind, unit_of(fault)) for fault in self.faults}) < len(self.faults):
            raise ValueError(f"the same fault twice among {self.faults}: expected each once")
        return self

    @model_validator(mode="after")
    def _budget_is_above_the_reserve(self) -> "MissionSpec":
        if self.reserve_kg >= self.start.propellant_kg:
            has = f"{self.start.propellant_kg} kg of propellant"
            raise ValueError(f"{has}, expected more than the reserve of {self.reserve_kg} kg")
        return self

    @property
    def canonical_json(self) -> str:
        """The same text for the same task on every machine: sorted keys, shortest floats."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    @property
    def content_hash(self) -> str:
        """SHA-256 of the canonical JSON, hexadecimal."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()

    def __str__(self) -> str:
        """The line that reproduces the mission, but for the faults that `missions/ood.py` gives it."""
        return f"{self.family} level={self.level} seed={self.seed}"

    @property
    def reserve_kg(self) -> float:
        """[kg] usable propellant that must be left in the end; 0 without such a rule."""
        lasting = (rule for rule in self.rules if isinstance(rule, Reserve) and rule.until_s is None)
        return max((rule.propellant_kg for rule in lasting), default=0.0)

    def target(self, name: str) -> Target:
        """The target of a name."""
        return dict(self.targets)[name]

    def acting(self, t: float) -> frozenset[tuple[str, int | None]]:
        """Kind, and thruster if it is one's, of the faults that act at a mission time."""
        return frozenset((f.kind, unit_of(f)) for f in self.faults if f.onset_s <= t)

    def begin(self) -> Progress:
        """Progress before anything has happened."""
        return Progress(propellant_kg=self.start.propellant_kg)

    def advance(self, progress: Progress, track: Track) -> Progress:
        """Judge a stretch of history, row by row, up to the end of the mission.

        Args:
            progress: Progress at the track's first row.
            track: History since; its first row has been judged unless mission time is 0.
        """
        n = 0 if track.t[0] == 0 else 1
        breaks: defaultdict[int, set[int]] = defaultdict(set)
        for k, rule in enumerate(self.rules):
            for row in np.flatnonzero(rule.broken(track, self)).tolist():
                breaks[row].add(k)
        while n < len(track.t) and not self.decided(progress):
            progress, n = self._pursue(progress, track, breaks, n)
        return progress

    def _pursue(
        self, progress: Progress, track: Track, breaks: Mapping[int, set[int]], n: int
    ) -> tuple[Progress, int]:
        """The current directive from row n on, to the row at which it is done or the mission decided.

        Args:
            progress: Progress at the row before.
            track: History.
            breaks: Rules broken at a row, by row.
            n: The row to begin at.

        Returns:
            Progress at the last row judged, and the row after it.
        """
        directive, broken = self.directives[progress.done], progress.broken
        off = directive.errors(track, self)
        times, errors, met = track.t.tolist(), off.tolist(), directive.holds(track, off).tolist()
        closes = min(directive.closes_s, self.clock_s)
        first = errors[n] if math.isinf(progress.first) else progress.first
        best, dwelt, since = progress.best, progress.dwelt, progress.since
        done = over = False
        while n < len(times) and not over:
            t, error = times[n], errors[n]
            holds = directive.opens_s <= t <= directive.closes_s and met[n]
            since = min(since, t) if holds else math.inf
            dwelt = max(dwelt, t - since)
            best = min(best, error)
            if n in breaks:
                broken |= breaks[n]
            done = holds and dwelt >= directive.dwell_s
            over = done or t >= closes or (n in breaks and any(self.rules[k].hard for k in broken))
            n += 1
        t, propellant_kg = times[n - 1], float(track.propellant_kg[n - 1])
        if done:
            return Progress(t, propellant_kg, done=progress.done + 1, broken=broken), n
        return Progress(t, propellant_kg, progress.done, first, best, dwelt, since, broken), n

    def completion(self, progress: Progress) -> float:
        """(directives done + progress of the next) / directives, in [0, 1]; 0 once a hard rule is broken."""
        if self.violated(progress):
            return 0.0
        if progress.done == len(self.directives):
            return 1.0
        part = 0.0
        if not math.isinf(progress.first):
            directive = self.directives[progress.done]
            part = directive.progress(progress.first, progress.best, progress.dwelt)
        return (progress.done + part) / len(self.directives)

    def violated(self, progress: Progress) -> bool:
        """Whether a hard flight rule is broken."""
        return any(self.rules[k].hard for k in progress.broken)

    def succeeded(self, progress: Progress) -> bool:
        """Whether every directive is done and no hard rule was broken before."""
        return progress.done == len(self.directives) and not self.violated(progress)

    def missed(self, progress: Progress) -> bool:
        """Whether the current directive's window has closed without it."""
        if progress.done == len(self.directives):
            return False
        return progress.t >= self.directives[progress.done].closes_s

    def decided(self, progress: Progress) -> bool:
        """Whether nothing that follows can change success."""
        return (
            progress.done == len(self.directives)
            or self.violated(progress)
            or self.missed(progress)
            or progress.t >= self.clock_s
        )

    def overruled(self, onboard: Progress) -> Progress:
        """Progress of an onboard sequencer that learns that the mission goes on.

        A window that has closed was met, by the truth; a last directive that is done is not, so it is current
        again.
        """
        if self.missed(onboard):
            return Progress(onboard.t, onboard.propellant_kg, done=onboard.done + 1)
        if onboard.done == len(self.directives):
            return Progress(onboard.t, onboard.propellant_kg, done=onboard.done - 1)
        return onboard

    def outcome(self, progress: Progress, turns_used: int) -> Outcome:
        """How the mission stands on the true history after a number of commands."""
        if self.succeeded(progress):
            return "succeeded"
        if self.violated(progress) or self.missed(progress):
            return "failed"
        if progress.t >= self.clock_s:
            return "timed_out"
        return "out_of_turns" if turns_used >= self.turns else "ongoing"

    def edges(self, progress: Progress) -> tuple[float, ...]:
        """[s] mission times at which a command must end: the current window, quiet windows, the clock."""
        quiet = [t for r in self.rules if isinstance(r, QuietWindow) for t in (r.opens_s, r.closes_s)]
        if progress.done == len(self.directives):
            return (*quiet, self.clock_s)
        directive = self.directives[progress.done]
        return (directive.opens_s, directive.closes_s, *quiet, self.clock_s)
