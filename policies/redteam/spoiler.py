"""Flies like `reference`, after commands of its own that serve nothing."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.policies.reference import Reference


class Spoiler:
    """Sends its own commands first. It still succeeds, so that what is weighed beside success tells.

    Args:
        first: The commands.
    """

    def __init__(self, *first: AnyCommand) -> None:
        self._first = first
        self._reference = Reference()
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._sent = 0
        self._reference.begin(seed)

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of its own, then what `reference` sends."""
        if self._sent < len(self._first):
            self._sent += 1
            self.rationale = ""
            return self._first[self._sent - 1]
        command = self._reference.act(view)
        self.rationale = self._reference.rationale
        return command
