"""What is broken, from what the text shows, and what to do about it.

`policies/signatures.py` says what a view proves; here is what a flight remembers. The first fault is looked
for, and a doubt costs a `check`. After it another is believed on proof alone. What is broken is worked round
first and reported then.
"""

import itertools
from dataclasses import dataclass, field
from statistics import mean
from typing import Final

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import (
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    SelectAttitudeSource,
    SelectBranch,
)
from orbital_ops_env.models import Telemetry
from orbital_ops_env.policies import signatures
from orbital_ops_env.policies.signatures import BIASED_INN_DEG, SHARP_DEG_S, UNITS_A, Finding

CALIBRATION_DEG_S: Final = 0.45
"""[deg/s] fastest true rate at which a calibration begins."""
LEAK_G_S: Final = 5e-4
"""[g/s] that a leak goes on to take."""
LOOKS_AROUND: Final = 1
"""Times to look what is in the star tracker's way."""
LOOKS: Final = 4
"""Times to drift on and look for stars before a calibration."""

Advice = tuple[AnyCommand, str]
"""A command and why."""


@dataclass
class Diagnosis:
    """Watches a flight; says what to send next while something is wrong, and why."""

    findings: list[Finding] = field(default_factory=list[Finding])
    """What is broken, in the order in which it was found."""
    reported: set[Finding] = field(default_factory=set[Finding])
    _gauge_g: list[float] = field(default_factory=list[float])
    """[g] Tank minus counted gas so far, in health."""
    _seen: bool = False
    """Whether the star tracker has seen in this flight."""
    _cleared: int = 0
    """Looks at a blind star tracker that found its view blocked."""
    _looks: int = 0
    """Times that it drifted on for a star."""
    _suspect: str = ""
    """The unexplained rate change for which test pulses were fired, if no gas was lost on it."""
    _pulsed: bool = False
    """Whether they were."""
    _switched: bool = False
    """Whether the other branch was taken."""
    _calibrated: bool = False
    """Whether gyro and star tracker have agreed again since a bias was found."""
    _doubted: bool = False
    """Whether the gyro is under suspicion, with no star in view to prove it."""
    _lost_g: float = 0.0

    def act(self, view: PolicyView) -> Advice | None:
        """The next command and why; None while there is nothing to do about a fault."""
        now = view.telemetry
        if found := self._new(view):
            self._add(found)
        chosen = self._remedy(now) or self._report(view) or self._doubt(now)
        self._remember(view)
        return chosen

    def has(self, *names: str) -> bool:
        """Whether one of some kinds or parts is known to be broken; see `Finding.part`."""
        return any(finding.kind in names or finding.part in names for finding in self.findings)

    @property
    def lost_g(self) -> float:
        """[g] Counted gas that the tank does not have; negative if it has more."""
        return self._lost_g

    def _remember(self, view: PolicyView) -> None:
        now = view.telemetry
        if self.has("thruster", "leak"):
            left_s = view.brief.directives[-1].closes_s - now.time_s
            self._lost_g = LEAK_G_S * max(left_s, 0.0) * self.has("leak") - now.tank_residual_g
        if not now.surplus_axis:
            self._gauge_g.append(now.tank_residual_g)
        self._seen = self._seen or now.tracker_valid
        agreed = now.tracker_valid and now.innovation_deg < BIASED_INN_DEG
        self._calibrated = self._calibrated or (self.has("gyro") and agreed)

    # -- finding -------------------------------------------------------------------------------

    def _new(self, view: PolicyView) -> Finding | None:
        """The surest fault that a view proves, of a part that was whole so far."""
        proofs = (found for found in self._proofs(view) if found)
        return next((found for found in proofs if self._is_new(found)), None)

    def _is_new(self, found: Finding) -> bool:
        """Whether a part was whole so far; a bias that comes back after a calibration is a drift."""
        back = found.kind == "gyro_drift" and found not in self.findings and self._calibrated
        return back or not self.has(found.part)

    def _proofs(self, view: PolicyView) -> list[Finding | None]:
        """What a view proves of each part, the surest first."""
        now = view.telemetry
        kept = self._kept_g(now)
        proofs = [
            signatures.panel_dim(view),
            signatures.valve_open(now),
            signatures.gyro_off(now),
            signatures.tracker_missed(now),
        ]
        if "nadir" in now.check and self._seen:
            proofs.append(signatures.tracker_clear(now))
        if "dw_x" in now.check:
            proofs.append(signatures.pulse_missing(now, self._suspect))
        proofs.append(signatures.leaking(now, kept))
        if kept > 0 or not self.has("leak"):
            proofs.append(signatures.weighed(now, kept))
        return proofs

    def _add(self, found: Finding) -> None:
        """Take a finding down; a thruster's has upset the gauge."""
        self.findings = [known for known in self.findings if known.part != found.part] + [found]
        if found.part == "thruster":
            self._gauge_g.clear()

    def _kept_g(self, now: Telemetry) -> float:
        """[g] In the tank beyond the count, since nothing was wrong with it."""
        return now.tank_residual_g - mean(self._gauge_g or [now.tank_residual_g])

    # -- doubting ------------------------------------------------------------------------------

    def _doubt(self, now: Telemetry) -> Advice | None:
        """What to ask while nothing is proven."""
        sharp = now.surplus_deg_s >= SHARP_DEG_S
        if now.surplus_axis and (not self.findings or (sharp and not self.has("thruster"))):
            return self._question(now)
        if self.findings:
            return None
        if self._doubted and not now.tracker_valid and self._looks < LOOKS:
            return self._calibrate(now)
        if "nadir" in now.check:
            self._cleared += 1
        blind = self._seen and not now.tracker_valid and now.rate_deg_s < signatures.SLOW_DEG_S
        if blind and self._cleared < LOOKS_AROUND:
            why = "The star tracker is blind at a low rate: what is in its way?"
            return Check(subsystem="star_tracker"), why
        return None

    def _question(self, now: Telemetry) -> Advice | None:
        """An unexplained rate change: thrusters are asked first, for drifting on for a star takes longer."""
        sharp_and_blind = now.surplus_deg_s >= SHARP_DEG_S and not now.tracker_valid
        self._doubted = self._doubted or sharp_and_blind
        if not self._pulsed and (now.rate_deg_s <= signatures.STEADY_DEG_S or not sharp_and_blind):
            self._pulsed = True
            self._suspect = now.surplus_axis if self._kept_g(now) >= 0 else ""
            why = f"The rate changed by {now.surplus_deg_s:g} deg/s unexplained."
            return Check(subsystem="thrusters"), why
        return self._calibrate(now) if sharp_and_blind else None

    # -- responding ----------------------------------------------------------------------------

    def _remedy(self, now: Telemetry) -> Advice | None:
        """The first thing to do about what is broken: a valve before an attitude, that before a rate."""
        kinds = {finding.part: finding for finding in self.findings}
        if (thruster := kinds.get("thruster")) and (switch := self._other_branch(thruster, now)):
            return switch
        if "star_tracker" in kinds and now.source == "star_tracker":
            why = "No stars: let the Sun sensors hold the attitude."
            return SelectAttitudeSource(source="sun_sensors"), why
        off = "gyro" in kinds and now.innovation_deg > BIASED_INN_DEG
        return self._calibrate(now) if off and "star_tracker" not in kinds else None

    def _report(self, view: PolicyView) -> Advice | None:
        """A report of what is worked round and not reported yet, if commands are left for it."""
        if view.telemetry.turns_left <= needed(view):
            return None
        for finding in self.findings:
            if finding not in self.reported and (finding.part != "thruster" or finding.unit):
                self.reported.add(finding)
                return finding.report, f"The residuals agree on {finding.kind}, and it is worked round."
        return None

    def _other_branch(self, thruster: Finding, now: Telemetry) -> Advice | None:
        unit = thruster.unit
        hurt = now.branch if unit is None else "AB"[unit > UNITS_A]
        if self._switched or now.branch != hurt:
            return None
        self._switched = True
        other = SelectBranch(branch="B" if now.branch == "A" else "A")
        which = f"Thruster {unit}" if unit else "A thruster"
        return other, f"{which} does not do as commanded: the other branch has full authority."

    def _calibrate(self, now: Telemetry) -> Advice | None:
        true_deg_s = now.rate_deg_s - (now.gyro_tracker_deg_s or 0.0)
        if not now.tracker_valid:
            if self._looks >= LOOKS:
                return None
            self._looks += 1
            return Coast(duration_s=30), "The gyro is biased and no star in view: drift until there is one."
        if true_deg_s > CALIBRATION_DEG_S:
            return Detumble(
                rate_deg_s=0.1
            ), "The gyro is biased; slow down first, a calibration needs a low rate."
        return CalibrateGyro(duration_s=60), "The star tracker contradicts the gyro: take its bias out."


def needed(view: PolicyView) -> int:
    """[-] Commands that the directives ahead take: a turn if need be, a wait if need be, and the work."""
    ahead, now = view.brief.directives[view.telemetry.directive - 1 :], view.telemetry.time_s
    targets = [None, *(directive.target for directive in ahead)]
    turns = sum(target != before for before, target in itertools.pairwise(targets))
    return turns + sum(1 + (directive.opens_s > now) for directive in ahead)
