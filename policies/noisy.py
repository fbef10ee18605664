"""Ability by degrees: `reference`, but for a share of random commands."""

import numpy as np

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.policies.random import draw
from orbital_ops_env.policies.reference import Reference


class Noisy:
    """`reference`, but for a share of random commands.

    Args:
        share: [-] of the commands that are drawn at random, 0 to 1.
        noise_seed: Draws them.
    """

    def __init__(self, share: float, noise_seed: int) -> None:
        self._reference = Reference()
        self._share = share
        self._noise_seed = noise_seed
        self.rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._reference.begin(seed)
        self._rng = np.random.default_rng([self._noise_seed, seed])

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        if self._rng.random() < self._share:
            self.rationale = ""
            return draw(self._rng, view.brief.targets)
        command = self._reference.act(view)
        self.rationale = self._reference.rationale
        return command
