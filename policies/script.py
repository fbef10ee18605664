"""A fixed command script, blind to brief and telemetry."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, Coast


class Script:
    """Sends its commands one after another, then coasts.

    Args:
        commands: The script.
    """

    rationale = ""

    def __init__(self, commands: tuple[AnyCommand, ...]) -> None:
        self._commands = commands
        self._next = 0

    def begin(self, seed: int) -> None:
        """Start over."""
        self._next = 0

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of the script."""
        self._next += 1
        if self._next > len(self._commands):
            return Coast(duration_s=30)
        return self._commands[self._next - 1]
