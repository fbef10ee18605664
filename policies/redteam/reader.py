"""A script written from the brief and the first text: it reads nothing that comes after."""

import itertools
from collections.abc import Iterator
from typing import Final

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import (
    DEADBANDS_DEG,
    DURATIONS_S,
    AnyCommand,
    Coast,
    Detumble,
    Downlink,
    Hold,
    Image,
    Slew,
)
from orbital_ops_env.models import DirectiveBrief
from orbital_ops_env.policies.procedure import CHARGE_S_PCT, SPARE_S, long_enough_s, quiet_windows
from orbital_ops_env.policies.reference import HORIZON, allowed_rates, appraise, deadband, turns_ahead

UNPLANNED_DEG_S: Final = 0.5
"""[deg/s] of turns that are not planned: after a tumble, and beyond the horizon."""
AGAIN: Final = 3
"""[-] holds in the end, in case that something took longer."""


class Reader:
    """Plans as `reference` does, once and as if nothing could go wrong; window edges end its waits."""

    rationale = ""

    def begin(self, seed: int) -> None:
        """Start over."""
        self._plan: list[AnyCommand] | None = None

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command of the plan, then drifting."""
        if self._plan is None:
            self._plan = list(planned(view))
        return self._plan.pop(0) if self._plan else Coast(duration_s=30)


def planned(view: PolicyView) -> Iterator[AnyCommand]:
    """Every directive in order, from what is known before the first command."""
    rates = itertools.chain(_rates(view), itertools.repeat(UNPLANNED_DEG_S))
    last: str | None = None
    for directive in view.brief.directives:
        if directive.target is None:
            yield Detumble(rate_deg_s=0.1)
            continue
        rate = next(rates)
        arrives = directive.target != last
        if arrives:
            yield Slew(target=directive.target, rate_deg_s=rate)
        yield from _work(view, directive, directive.target, arrives)
        last = directive.target
    if last:
        yield from [Hold(target=last, deadband_deg=1.0, duration_s=60)] * AGAIN


def _rates(view: PolicyView) -> tuple[float, ...]:
    """[deg/s] Of the first turns, the best by `appraise`; none after a tumble, whose gas nobody knows."""
    if view.brief.directives[0].kind == "rate":
        return ()
    legs = turns_ahead(view)
    menus = [allowed_rates(view, leg, 0.0) if leg.angle_deg else [UNPLANNED_DEG_S] for leg in legs[:HORIZON]]
    gas_g = view.telemetry.propellant_g
    return max(itertools.product(*menus), key=lambda plan: appraise(view, legs, plan, gas_g, (0.0, 0.0)))


def _work(view: PolicyView, directive: DirectiveBrief, target: str, arrives: bool) -> Iterator[AnyCommand]:
    """What a directive asks for, once there."""
    ahead = [since for since, _ in quiet_windows(view)]
    if directive.kind == "image":
        yield Image(target=target)
    elif directive.kind == "downlink":
        yield Hold(target=target, deadband_deg=DEADBANDS_DEG[-1], duration_s=600)
        yield Downlink(station=target)
    elif directive.battery_pct is not None:
        missing = directive.battery_pct - view.telemetry.battery_pct
        yield _hold(target, DEADBANDS_DEG[-1], max(CHARGE_S_PCT * missing, 60.0))
    elif arrives and ahead and directive.closes_s <= ahead[0]:
        yield Hold(target=target, deadband_deg=DEADBANDS_DEG[0], duration_s=DURATIONS_S[-1])
        yield Coast(duration_s=DURATIONS_S[-1])
    else:
        if arrives and directive.opens_s > 0:
            yield _hold(target, deadband(directive), directive.opens_s)
        yield _hold(target, deadband(directive), directive.dwell_s + SPARE_S)


def _hold(target: str, deadband_deg: float, wanted_s: float) -> Hold:
    return Hold(target=target, deadband_deg=deadband_deg, duration_s=long_enough_s(wanted_s))
