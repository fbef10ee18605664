"""The written procedure that `rules` and `reference` share: what to do next, given a slew rate.

Work on the directive that telemetry names: null the rates; turn to the target; then hold until the dwell is
served.
"""

from collections.abc import Callable

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import DURATIONS_S, AnyCommand, Coast, Detumble, Hold, Slew
from orbital_ops_env.models import DirectiveBrief

DETUMBLE_DEG_S = 0.1
"""[deg/s] well under every rate directive."""
DEADBAND_DEG = 1.0
"""[deg] finer than every tolerance; 0.5 costs half as much gas again."""
ON_TARGET = 0.8
"""[-] share of the tolerance within which a hold takes over from a slew."""
HOLD_REACH_DEG = 9.0
"""[deg] full turn above which a hold would be refused."""
STAY_S = 60.0
"""[s] hold when there is nothing left to do."""
SPARE_S = 5.0
"""[s] hold this much longer than the dwell needs."""


class Procedure:
    """What to do next; it remembers nothing, for all it needs is in the view.

    Args:
        slew_rate: [deg/s] the rate for the turn that comes next.
    """

    def __init__(self, slew_rate: Callable[[PolicyView], float]) -> None:
        self._slew_rate = slew_rate

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        directive = current(view)
        if directive is None:
            return self._stay(view)
        if directive.kind == "rate" or directive.target is None:
            return Detumble(rate_deg_s=DETUMBLE_DEG_S)
        if not on_target(view, directive):
            return Slew(target=directive.target, rate_deg_s=self._slew_rate(view))
        wanted = hold_s(view, directive)
        duration = min((d for d in DURATIONS_S if d >= wanted), default=DURATIONS_S[-1])
        return Hold(target=directive.target, deadband_deg=DEADBAND_DEG, duration_s=duration)

    def _stay(self, view: PolicyView) -> AnyCommand:
        """All done by the onboard estimate, yet the mission goes on: hold until the estimate is right."""
        last = view.brief.directives[-1].target
        if last is None:
            return Coast(duration_s=STAY_S)
        return Hold(target=last, deadband_deg=DEADBAND_DEG, duration_s=STAY_S)


def current(view: PolicyView) -> DirectiveBrief | None:
    """The directive that telemetry names; None when all are done."""
    directives = view.brief.directives
    number = view.telemetry.directive
    return directives[number - 1] if number <= len(directives) else None


def on_target(view: PolicyView, directive: DirectiveBrief) -> bool:
    """Whether a hold can serve the dwell from here."""
    telemetry = view.telemetry
    if telemetry.error_deg is None or telemetry.turn_deg is None:
        return False
    near = telemetry.error_deg <= ON_TARGET * (directive.tolerance_deg or 0.0)
    return near and telemetry.turn_deg <= HOLD_REACH_DEG


def hold_s(view: PolicyView, directive: DirectiveBrief) -> float:
    """[s] Time to hold until the window opens and the dwell is served."""
    wait = max(directive.opens_s - view.telemetry.time_s, 0.0)
    left = directive.dwell_s if wait > 0 else directive.dwell_s - view.telemetry.dwell_s
    return wait + max(left, 0.0) + SPARE_S
