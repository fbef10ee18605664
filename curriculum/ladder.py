"""The level that a ladder is on: up after good groups, down after bad ones."""

from collections import deque
from dataclasses import dataclass, field

from orbital_ops_env.curriculum.presets import Preset
from orbital_ops_env.missions.catalog import LEVELS


@dataclass
class Ladder:
    """Folds over groups in the order in which they became whole."""

    preset: Preset
    level: int = 0
    _recent: deque[float] = field(default_factory=deque[float])

    def hear(self, level: int, mean_return: float) -> None:
        """Take the mean return of a group; one of another level than the present one says nothing."""
        if level != self.level:
            return
        self._recent.append(mean_return)
        if len(self._recent) < self.preset.window:
            return
        mean = sum(self._recent) / len(self._recent)
        if mean > self.preset.unlock_above:
            self._go(min(self.level + 1, LEVELS[-1]))
        elif mean < self.preset.ease_below:
            self._go(max(self.level - 1, 0))
        else:
            self._recent.popleft()

    def _go(self, level: int) -> None:
        self.level = level
        self._recent.clear()
