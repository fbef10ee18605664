"""The written procedure: no planning, no diagnosis, one fixed contingency step on any alarm."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, SelectBranch
from orbital_ops_env.policies.procedure import Procedure

SLEW_DEG_S = 1.0
"""[deg/s] the book's rate for every turn."""


class Rules:
    """Follows the book."""

    def __init__(self) -> None:
        self._procedure = Procedure(lambda view: SLEW_DEG_S)
        self._contingency = False
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Forget the last episode."""
        self._contingency = False

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command by the book."""
        if view.telemetry.reason == "alarm" and not self._contingency:
            self._contingency = True
            self.rationale = "An alarm: the book says to change the branch, once."
            return SelectBranch(branch="B" if view.telemetry.branch == "A" else "A")
        command = self._procedure.act(view)
        self.rationale = self._procedure.rationale
        return command
