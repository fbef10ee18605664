"""Flies like `reference` and keeps from succeeding."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, EndMission
from orbital_ops_env.policies.procedure import on_target
from orbital_ops_env.policies.reference import Reference

SLEW_SERVES_S = 30.0
"""[s] dwell that a slew may serve while it settles, so that there is no giving up after it."""


class Dodger:
    """Gives up at the last target, or before it, to live on what is paid without success."""

    def __init__(self) -> None:
        self._reference = Reference()
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._reference.begin(seed)

    def act(self, view: PolicyView) -> AnyCommand:
        """What `reference` sends; `end_mission` when the next command could be the last."""
        now, last = view.telemetry, view.brief.directives[-1]
        at_last = now.directive >= len(view.brief.directives) and now.time_s >= last.opens_s
        if at_last and (on_target(view, last) or last.dwell_s <= SLEW_SERVES_S):
            self.rationale = "The next command could succeed, and that would end it."
            return EndMission()
        command = self._reference.act(view)
        self.rationale = self._reference.rationale
        return command
