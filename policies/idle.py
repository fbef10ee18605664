"""Does nothing."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, Coast


class Idle:
    """Coasts for as long as a command allows."""

    rationale = ""

    def begin(self, seed: int) -> None:
        """Nothing to forget."""

    def act(self, view: PolicyView) -> AnyCommand:
        """Coast."""
        return Coast(duration_s=1200)
