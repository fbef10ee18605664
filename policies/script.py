"""Fixed command scripts, blind to brief and telemetry."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, Coast


class Cycle:
    """Sends its commands one after another, again and again.

    Args:
        commands: One at least.
    """

    rationale = ""

    def __init__(self, *commands: AnyCommand) -> None:
        self._commands = commands
        self._sent = 0

    def begin(self, seed: int) -> None:
        """Start over."""
        self._sent = 0

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of the cycle."""
        self._sent += 1
        return self._commands[(self._sent - 1) % len(self._commands)]


class Script(Cycle):
    """Sends its commands one after another, then coasts.

    Args:
        commands: The script.
    """

    def __init__(self, commands: tuple[AnyCommand, ...]) -> None:
        super().__init__(*commands)

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of the script."""
        return super().act(view) if self._sent < len(self._commands) else Coast(duration_s=30)
