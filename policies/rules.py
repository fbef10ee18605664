"""The written procedure: no planning, no diagnosis, one fixed contingency step on any alarm."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, SelectBranch
from orbital_ops_env.policies.procedure import Procedure

SLEW_DEG_S = 1.0
"""[deg/s] the book's rate for every turn."""


class Rules:
    """Follows the book."""

    rationale = ""

    def __init__(self) -> None:
        self._procedure = Procedure(lambda view: SLEW_DEG_S)
        self._contingency = False

    def begin(self, seed: int) -> None:
        """Forget the last episode."""
        self._contingency = False

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command by the book."""
        if view.telemetry.reason == "alarm" and not self._contingency:
            self._contingency = True
            return SelectBranch(branch="B" if view.telemetry.branch == "A" else "A")
        return self._procedure.act(view)
