"""Flight controllers, written against `PolicyView` only."""

from typing import Protocol

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand


class Policy(Protocol):
    """A flight controller."""

    rationale: str
    """One sentence on why it sent its last command; empty if it has no reason to give."""

    def begin(self, seed: int) -> None:
        """Forget the last episode; a random policy draws from this seed."""
        ...

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        ...
