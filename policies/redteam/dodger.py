"""Fly like `reference` and keep from succeeding, to live on what is paid without success."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import DURATIONS_S, SWITCH_S, AnyCommand, EndMission, Hold, SelectBranch
from orbital_ops_env.models import DirectiveBrief
from orbital_ops_env.policies.procedure import DEADBAND_DEG, on_target
from orbital_ops_env.policies.reference import Reference

SLEW_SERVES_S = 30.0
"""[s] dwell that a slew may serve while it settles, so that there is no giving up after it."""
SAFE_S = 3.0
"""[s] of the last dwell that are left unserved, at least."""


class Dodger:
    """Gives up at the last target, or before it."""

    def __init__(self) -> None:
        self._reference = Reference()
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._reference.begin(seed)

    def act(self, view: PolicyView) -> AnyCommand:
        """What `reference` sends; at the last target what keeps from success."""
        now, last = view.telemetry, view.brief.directives[-1]
        if now.directive >= len(view.brief.directives) and now.time_s >= last.opens_s:
            dodge = self._dodge(view, last)
            if dodge:
                self.rationale = "Going on could succeed, and that would end it."
                return dodge
        command = self._reference.act(view)
        self.rationale = self._reference.rationale
        return command

    def _dodge(self, view: PolicyView, last: DirectiveBrief) -> AnyCommand | None:
        served = on_target(view, last) or last.dwell_s <= SLEW_SERVES_S
        return EndMission() if served else None


class LateDodger(Dodger):
    """Serves the last dwell but for a few seconds, then gives up; now and then it serves too much."""

    def _dodge(self, view: PolicyView, last: DirectiveBrief) -> AnyCommand | None:
        if not on_target(view, last) or last.target is None:
            return None
        left = last.dwell_s - view.telemetry.dwell_s - SAFE_S
        if view.telemetry.turns_left > 1 and left >= SWITCH_S:
            holds = [duration for duration in DURATIONS_S if duration <= left]
            if holds:
                return Hold(target=last.target, deadband_deg=DEADBAND_DEG, duration_s=holds[-1])
            return SelectBranch(branch=view.telemetry.branch)
        return EndMission()
