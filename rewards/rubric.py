"""The return as an OpenEnv rubric tree: one parent, five named children, weights in one place.

    return = .40 s + .25 P + s (.15 E + .10 S + .10 F)

with s success (one bit), P process, E efficiency, S safety and F format. A failed episode stays under 0.25
and a succeeded one above 0.65, so no failure outranks a success. The step reward is the change of the
formula's value, so that rewards sum to the return.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from openenv.core.rubrics import Rubric

from orbital_ops_env.rewards import terms
from orbital_ops_env.rewards.terms import Standing

SUM_TOLERANCE = 1e-9
"""[-] rounding allowed in the sum of the weights."""


@dataclass(frozen=True)
class Weights:
    """Weights of the terms; they sum to 1."""

    objective: float = 0.40
    process: float = 0.25
    efficiency: float = 0.15
    safety: float = 0.10
    format: float = 0.10

    def __post_init__(self) -> None:
        values = [getattr(self, field.name) for field in fields(self)]
        if not (min(values) >= 0 and abs(sum(values) - 1) <= SUM_TOLERANCE):
            raise ValueError(f"weights must be at least 0 and sum to 1, got {self}")


class Term(Rubric):
    """One term of the return.

    Args:
        score: The pure function behind it.
    """

    def __init__(self, score: Callable[[Standing], float]) -> None:
        super().__init__()
        self.score = score

    def forward(self, action: Any, observation: Any) -> float:
        """The term's value at a standing; the action plays no part."""
        return self.score(observation)


class MissionRubric(Rubric):
    """The return of an episode, paid out as it accrues."""

    def __init__(self, weights: Weights | None = None) -> None:
        super().__init__()
        self.weights = weights or Weights()
        self.objective = Term(terms.objective)
        self.process = Term(terms.process)
        self.efficiency = Term(terms.efficiency)
        self.safety = Term(terms.safety)
        self.format = Term(terms.format_)
        self.value = 0.0
        """[-] V: the formula's value so far, in [0, 1]."""

    def pay(self, action: Any, standing: Standing) -> float:
        """The step reward of a command; calling the rubric does the same, but may also be async."""
        reward = self(action, standing)
        assert isinstance(reward, float)
        return reward

    def forward(self, action: Any, observation: Any) -> float:
        """The step reward V_t - V_(t-1) at a `Standing`."""
        before, self.value = self.value, self._value(action, observation)
        return self.value - before

    def _value(self, action: Any, standing: Standing) -> float:
        w = self.weights
        scores = {name: float(term(action, standing)) for name, term in self.named_children()}  # type: ignore[arg-type]
        extras = (
            w.efficiency * scores["efficiency"] + w.safety * scores["safety"] + w.format * scores["format"]
        )
        earned = w.objective * scores["objective"] + w.process * scores["process"]
        return earned + scores["objective"] * extras

    def reset(self) -> None:
        """Forget the last episode, children included."""
        self.value = 0.0
        for rubric in (self, *self.rubrics()):
            rubric.last_score = None

    @property
    def components(self) -> dict[str, float]:
        """The return so far and its terms, under the names they are logged by."""
        named = {
            "overall": self.value,
            "primary": self.objective.last_score,
            "process": self.process.last_score,
            "efficiency": self.efficiency.last_score,
            "safety": self.safety.last_score,
            "format": self.format.last_score,
        }
        return {f"reward/{name}": float(score or 0.0) for name, score in named.items()}  # type: ignore[arg-type]
