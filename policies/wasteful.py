"""`reference` in a hurry at first: it shows what early waste does to the phases that come later."""

from typing import Final

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, Slew
from orbital_ops_env.policies.reference import Reference

HURRIED: Final = 6
"""[-] directives to which it turns by the book,."""
HURRIED_DEG_S: Final = 1.0
"""[deg/s] at its rate."""


class Wasteful(Reference):
    """Turns at the rate of the book to the first directives, and plans like `reference` from then on."""

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        command = super().act(view)
        if isinstance(command, Slew) and view.telemetry.directive <= HURRIED:
            self.rationale = "There is gas enough: turn fast."
            return command.model_copy(update={"rate_deg_s": HURRIED_DEG_S})
        return command
