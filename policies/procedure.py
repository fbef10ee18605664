"""The written procedure that `rules` and `reference` share: what to do next, given a slew rate.

Work on the directive that telemetry names: null the rates; turn to the target; then hold until the dwell is
served or the battery charged, take the image, or send the data. Coast through a quiet window.
"""

from collections.abc import Callable

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import DURATIONS_S, AnyCommand, Coast, Detumble, Downlink, Hold, Image, Slew
from orbital_ops_env.models import DirectiveBrief

DETUMBLE_DEG_S = 0.1
"""[deg/s] well under every rate directive."""
DEADBAND_DEG = 1.0
"""[deg] the book's deadband."""
ON_TARGET = 0.8
"""[-] share of the tolerance within which a hold takes over from a slew."""
SHORTEST_SLEW_S = 30.0
"""[s] in which no slew is done."""
HOLD_REACH_DEG = 9.0
"""[deg] full turn above which a hold would be refused."""
STAY_S = 60.0
"""[s] hold when there is nothing left to do."""
CHARGE_TOLERANCE_DEG = 5.0
"""[deg] of the panel to the Sun within which a charge is no slower to the eye."""
CHARGE_S_PCT = 73.0
"""[s] of sunlight for a percent of the battery: 40 Wh, 45.7 W of panel, 26 W of bus."""
OVERSHOOT_S = 60.0
"""[s] by which a charge may take too long rather than two commands."""
SPARE_S = 5.0
"""[s] hold this much longer than the dwell needs."""


class Procedure:
    """What to do next; it remembers nothing but why, for all it needs is in the view.

    Args:
        slew_rate: [deg/s] the rate for the turn that comes next.
        deadband: [deg] of the hold that comes next.
    """

    def __init__(
        self,
        slew_rate: Callable[[PolicyView], float],
        deadband: Callable[[PolicyView], float] = lambda view: DEADBAND_DEG,
    ) -> None:
        self._slew_rate = slew_rate
        self._deadband = deadband
        self.rationale = ""

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        if (quiet := quiet_s(view)) > 0:
            self.rationale = f"Nothing may fire for {quiet:.0f} s: coast."
            return Coast(duration_s=long_enough_s(quiet))
        directive = current(view)
        if directive is None:
            return self._stay(view)
        if directive.kind == "rate" or directive.target is None:
            self.rationale = "The craft tumbles: null the rates."
            return Detumble(rate_deg_s=DETUMBLE_DEG_S)
        if not on_target(view, directive):
            rate = self._slew_rate(view)
            turn, left = view.telemetry.turn_deg, directive.closes_s - view.telemetry.time_s
            self.rationale = (
                f"It is {turn:.0f} deg to {directive.target}, whose window closes in {left:.0f} s."
            )
            return Slew(target=directive.target, rate_deg_s=rate)
        if view.telemetry.time_s >= directive.opens_s and directive.kind in ("image", "downlink"):
            return self._work(directive)
        wanted = max(hold_s(view, directive), before_quiet_s(view))
        self.rationale = f"On {directive.target}: hold for {wanted:.0f} s."
        duration = long_enough_s(wanted)
        if directive.kind == "charge" and duration - wanted > OVERSHOOT_S:
            duration = max((d for d in DURATIONS_S if d <= wanted), default=duration)
        return Hold(target=directive.target, deadband_deg=self._deadband(view), duration_s=duration)

    def _work(self, directive: DirectiveBrief) -> AnyCommand:
        """What the payload is for."""
        assert directive.target
        self.rationale = f"On {directive.target}: {directive.kind}."
        if directive.kind == "image":
            return Image(target=directive.target)
        return Downlink(station=directive.target)

    def _stay(self, view: PolicyView) -> AnyCommand:
        """All done by the onboard estimate, yet the mission goes on: hold until the estimate is right."""
        last = view.brief.directives[-1].target
        self.rationale = "All is done by the estimate, yet the mission goes on: hold on."
        if last is None:
            return Coast(duration_s=STAY_S)
        return Hold(target=last, deadband_deg=DEADBAND_DEG, duration_s=STAY_S)


def long_enough_s(seconds: float) -> float:
    """[s] The shortest duration on the menu that is long enough, or the longest."""
    return min((d for d in DURATIONS_S if d >= seconds), default=DURATIONS_S[-1])


def quiet_s(view: PolicyView) -> float:
    """[s] Time left of the quiet window that the craft is in; 0 outside one."""
    now = view.telemetry.time_s
    return max((until - now for since, until in quiet_windows(view) if since <= now < until), default=0.0)


def quiet_windows(view: PolicyView) -> list[tuple[float, float]]:
    """[s] Mission times at which quiet windows open and close."""
    return [
        (rule.from_s, rule.until_s)
        for rule in view.brief.rules
        if rule.kind == "quiet" and rule.until_s is not None
    ]


def before_quiet_s(view: PolicyView) -> float:
    """[s] Time until a quiet window, if the next directive is at the same target; else 0."""
    here = view.brief.directives[view.telemetry.directive - 1 :][:2]
    same = len({directive.target for directive in here}) == 1
    ahead = (since - view.telemetry.time_s for since, _ in quiet_windows(view))
    return max(ahead, default=0.0) if same else 0.0


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
    hurry = directive.closes_s - telemetry.time_s < SHORTEST_SLEW_S
    tolerance = directive.tolerance_deg or CHARGE_TOLERANCE_DEG
    near = telemetry.error_deg <= (1.0 if hurry else ON_TARGET) * tolerance
    return near and telemetry.turn_deg <= HOLD_REACH_DEG


def hold_s(view: PolicyView, directive: DirectiveBrief) -> float:
    """[s] Time to hold until the window opens and the dwell is served."""
    if directive.battery_pct is not None:
        missing = directive.battery_pct - view.telemetry.battery_pct
        return CHARGE_S_PCT * max(missing, 0.0) + directive.dwell_s + SPARE_S
    wait = max(directive.opens_s - view.telemetry.time_s, 0.0)
    left = directive.dwell_s if wait > 0 else directive.dwell_s - view.telemetry.dwell_s
    return wait + max(left, 0.0) + SPARE_S
