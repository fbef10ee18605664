"""A script written from the brief: it reads no telemetry."""

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import DURATIONS_S, AnyCommand, Coast, Detumble, Hold, Slew
from orbital_ops_env.models import DirectiveBrief


class Reader:
    """Does each directive of the brief in order, as if nothing could go wrong."""

    rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._plan: list[AnyCommand] | None = None

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of the plan, then drifting."""
        if self._plan is None:
            self._plan = [command for directive in view.brief.directives for command in _orders(directive)]
        return self._plan.pop(0) if self._plan else Coast(duration_s=30)


def _orders(directive: DirectiveBrief) -> tuple[AnyCommand, ...]:
    if directive.target is None:
        return (Detumble(rate_deg_s=0.1),)
    enough = (d for d in DURATIONS_S if d >= directive.dwell_s)
    duration_s = next(enough, DURATIONS_S[-1])
    return (
        Slew(target=directive.target, rate_deg_s=0.5),
        Hold(target=directive.target, deadband_deg=1.0, duration_s=duration_s),
    )
