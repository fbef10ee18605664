"""Observation to text and back: a policy sees exactly what the text holds.

`view` rounds an observation to the printed resolution, `render` prints it and `parse` reads it back, so that
`parse(render(observation, previous), previous) == view(observation, previous)`. The first text holds the
brief and all channels, a later one only what changed. Units are stated once, in the system prompt.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Final, get_args

from orbital_ops_env.models import (
    Brief,
    DirectiveBrief,
    OrbitalOpsObservation,
    RuleBrief,
    SurplusAxis,
    Telemetry,
)

NO_VALUE: Final = "-"
"""Stands for a channel without a value."""

NUMBERS: Final[dict[str, tuple[str, int]]] = {
    "turn": ("turn_deg", 0),
    "err": ("error_deg", 1),
    "rate": ("rate_deg_s", 2),
    "dwell": ("dwell_s", 0),
    "gas": ("propellant_g", 2),
    "dgas": ("tank_residual_g", 2),
    "inn": ("innovation_deg", 2),
    "dgyro": ("gyro_tracker_deg_s", 2),
    "dw": ("surplus_deg_s", 2),
    "dsun": ("sun_residual_deg", 0),
    "bat": ("battery_pct", 1),
    "panel": ("panel_w", 0),
    "data": ("stored_pct", 0),
    "on": ("on_time_s", 1),
}
"""Text key to (`Telemetry` field, decimals)."""
WORDS: Final[dict[str, tuple[str, dict[Any, str]]]] = {
    "ax": ("surplus_axis", {axis: axis or NO_VALUE for axis in get_args(SurplusAxis)}),
    "st": ("tracker_valid", {True: "ok", False: "blind"}),
    "branch": ("branch", {"A": "A", "B": "B"}),
    "src": ("source", {"star_tracker": "st", "sun_sensors": "sun", "gyro": "gyro"}),
}
"""Text key to (`Telemetry` field, words)."""
CHECK_DECIMALS: Final = 2
DETAIL_CHARACTERS: Final = 60
"""A longer detail is cut at a word."""

_HEAD = re.compile(r"t=(\d+) left=(-?\d+) D(\d+) (\w+)(?: \((.*)\))?$")
_MISSION = re.compile(r"MISSION (\S+) level (\d+): (\d+) turns, clock (\d+), gas (\S+)")
_WINDOW = r"for (?P<dwell_s>\d+), window (?P<opens_s>\d+)-(?P<closes_s>\d+)(?:, turn (?P<turn_deg>\d+))?"
_DIRECTIVES: Final = (
    re.compile(rf"D\d+ (?P<kind>rate) under (?P<rate_deg_s>\S+) {_WINDOW}"),
    re.compile(rf"D\d+ (?P<kind>charge) (?P<target>sun) to (?P<battery_pct>\S+) {_WINDOW}"),
    re.compile(
        rf"D\d+ (?P<kind>point|image|downlink) (?P<target>\S+) within (?P<tolerance_deg>\S+) {_WINDOW}"
    ),
)
_RULES: Final[dict[str, tuple[str, str]]] = {
    "sun_keep_out": ("payload to", "Sun over {limit}"),
    "keep_out": ("payload to", "{target} over {limit}"),
    "reserve": ("gas over", "{limit}"),
    "battery": ("battery over", "{limit}"),
    "rate_cap": ("rate under", "{limit}"),
    "quiet": ("no firing", ""),
}
"""Rule kind to what its line begins with, and what it adds."""
_RULE_LINE: Final = re.compile(rf"(HARD|SOFT) ({'|'.join(dict(_RULES.values()))}) (.*)")
_RULE: Final = re.compile(
    r"(?:(?:(?P<target>\S+) over )?(?P<limit>[\d.]+))? ?"
    r"(?:from (?P<since>\d+)|until (?P<until>\d+)|in (?P<begin>\d+)-(?P<end>\d+))?"
)
_RULE_KINDS: Final = {"gas over": "reserve", "battery over": "battery", "rate under": "rate_cap"}


@dataclass(frozen=True)
class PolicyView:
    """What a policy knows: the brief and the last telemetry, at the printed resolution."""

    brief: Brief
    telemetry: Telemetry


def view(observation: OrbitalOpsObservation, previous: PolicyView | None = None) -> PolicyView:
    """An observation at the printed resolution.

    Args:
        observation: As it came over the wire.
        previous: The view before it; None at reset.

    Raises:
        ValueError: There is neither a brief nor a previous view.
    """
    if observation.brief is not None:
        brief = _round_brief(observation.brief)
    elif previous is not None:
        brief = previous.brief
    else:
        raise ValueError("an observation without a brief needs the view before it")
    return PolicyView(brief, _round_telemetry(observation.telemetry))


def render(observation: OrbitalOpsObservation, previous: PolicyView | None = None) -> str:
    """The text of an observation: the brief first if it has one, then what changed."""
    seen = view(observation, previous)
    lines = brief_lines(seen.brief) if observation.brief is not None else []
    known = previous.telemetry if previous and observation.brief is None else None
    return "\n".join([*lines, *_telemetry_lines(seen.telemetry, known)])


def parse(text: str, previous: PolicyView | None = None) -> PolicyView:
    """The view that a text shows.

    Raises:
        ValueError: The text is not one that `render` writes.
    """
    lines = text.splitlines()
    head = next((n for n, line in enumerate(lines) if _HEAD.match(line)), None)
    if head is None:
        raise ValueError(f"no telemetry line in {text[:80]!r}")
    if head > 0:
        return PolicyView(parse_brief(lines[:head]), _parse_telemetry(lines[head:], None))
    if previous is None:
        raise ValueError("a text without a brief needs the view before it")
    return PolicyView(previous.brief, _parse_telemetry(lines, previous.telemetry))


# -- brief -------------------------------------------------------------------------------------


def _round_brief(brief: Brief) -> Brief:
    directives = tuple(
        directive.model_copy(
            update={
                "rate_deg_s": _rounded(directive.rate_deg_s, 2),
                "battery_pct": _rounded(directive.battery_pct, 0),
                "tolerance_deg": _rounded(directive.tolerance_deg, 1),
                "turn_deg": _rounded(directive.turn_deg, 0),
                **{key: _rounded(getattr(directive, key), 0) for key in ("dwell_s", "opens_s", "closes_s")},
            }
        )
        for directive in brief.directives
    )
    rules = tuple(
        rule.model_copy(
            update={
                "limit": _rounded(rule.limit, 2),
                "from_s": _rounded(rule.from_s, 0),
                "until_s": _rounded(rule.until_s, 0),
            }
        )
        for rule in brief.rules
    )
    rounded = {
        "clock_s": _rounded(brief.clock_s, 0),
        "propellant_g": _rounded(brief.propellant_g, 2),
    }
    return brief.model_copy(update={**rounded, "directives": directives, "rules": rules})


def brief_lines(brief: Brief) -> list[str]:
    """The lines of a brief."""
    head = (
        f"MISSION {brief.family} level {brief.level}: {brief.turns} turns, "
        f"clock {brief.clock_s:.0f}, gas {brief.propellant_g:g}"
    )
    directives = [f"D{n} {_directive(d)}" for n, d in enumerate(brief.directives, start=1)]
    return [head, *directives, *_rule_lines(brief.rules), f"TARGETS {' '.join(brief.targets)}"]


def _directive(directive: DirectiveBrief) -> str:
    window = f"for {directive.dwell_s:.0f}, window {directive.opens_s:.0f}-{directive.closes_s:.0f}"
    if directive.kind == "rate":
        return f"rate under {directive.rate_deg_s:g} {window}"
    turn = "" if directive.turn_deg is None else f", turn {directive.turn_deg:.0f}"
    if directive.kind == "charge":
        return f"charge sun to {directive.battery_pct:g} {window}{turn}"
    return f"{directive.kind} {directive.target} within {directive.tolerance_deg:g} {window}{turn}"


def _rule_lines(rules: Sequence[RuleBrief]) -> list[str]:
    """Rules of a kind that follow each other share a line."""
    alike = itertools.groupby(rules, key=lambda rule: (rule.hard, _RULES[rule.kind][0]))
    return [
        f"{'HARD' if hard else 'SOFT'} {words} {', '.join(map(_rule, same))}" for (hard, words), same in alike
    ]


def _rule(rule: RuleBrief) -> str:
    text = _RULES[rule.kind][1].format(limit=f"{rule.limit:g}", target=rule.target)
    return f"{text} {_span(rule)}".strip()


def _span(rule: RuleBrief) -> str:
    if rule.until_s is None:
        return f"from {rule.from_s:.0f}" if rule.from_s else ""
    return f"in {rule.from_s:.0f}-{rule.until_s:.0f}" if rule.from_s else f"until {rule.until_s:.0f}"


def parse_brief(lines: list[str]) -> Brief:
    """The brief that lines show."""
    mission = matched(_MISSION, lines[0])
    family, level, turns, clock, gas = mission.groups()
    return Brief(
        family=family,
        level=int(level),
        turns=int(turns),
        clock_s=float(clock),
        propellant_g=float(gas),
        targets=tuple(lines[-1].split()[1:]),
        directives=tuple(_parse_directive(line) for line in lines if re.match(r"D\d", line)),
        rules=tuple(
            rule for line in lines if line.startswith(("HARD", "SOFT")) for rule in _parse_rules(line)
        ),
    )


def _parse_directive(line: str) -> DirectiveBrief:
    found = next(filter(None, (pattern.fullmatch(line) for pattern in _DIRECTIVES)), None)
    if found is None:
        raise ValueError(f"cannot read {line!r}")
    return DirectiveBrief.model_validate({k: v for k, v in found.groupdict().items() if v is not None})


def _parse_rules(line: str) -> Iterator[RuleBrief]:
    weight, words, rules = matched(_RULE_LINE, line).groups()
    for text in rules.split(", "):
        found = matched(_RULE, text)
        target, end = found["target"], found["until"] or found["end"]
        kind = _RULE_KINDS.get(words, "quiet" if target is None else "keep_out")
        if target == "Sun":
            kind, target = "sun_keep_out", None
        yield RuleBrief(
            kind=kind,  # type: ignore[arg-type]
            hard=weight == "HARD",
            limit=float(found["limit"] or 0),
            target=target,
            from_s=float(found["begin"] or found["since"] or 0),
            until_s=None if end is None else float(end),
        )


# -- telemetry ---------------------------------------------------------------------------------


def _round_telemetry(telemetry: Telemetry) -> Telemetry:
    numbers = {field: _rounded(getattr(telemetry, field), decimals) for field, decimals in NUMBERS.values()}
    check = {key: _rounded(value, CHECK_DECIMALS) for key, value in telemetry.check.items()}
    others = {
        "time_s": _rounded(telemetry.time_s, 0),
        "detail": shorten(telemetry.detail, DETAIL_CHARACTERS),
        "check": check,
    }
    return telemetry.model_copy(update=numbers | others)


def _telemetry_lines(now: Telemetry, before: Telemetry | None) -> list[str]:
    head = f"t={now.time_s:.0f} left={now.turns_left} D{now.directive} {now.reason}"
    lines = [f"{head} ({now.detail})" if now.detail else head, " ".join(changed(now, before))]
    if now.check:
        found = (f"{key}={_number(value, CHECK_DECIMALS)}" for key, value in now.check.items())
        lines.append(f"check {' '.join(found)}")
    return [line for line in lines if line]


def changed(now: Telemetry, before: Telemetry | None) -> list[str]:
    """The channels that changed, each as `key=value`; all of them if there is nothing before."""
    return [
        f"{key}={_number(getattr(now, field), decimals)}"
        for key, (field, decimals) in NUMBERS.items()
        if before is None or getattr(now, field) != getattr(before, field)
    ] + [
        f"{key}={words[getattr(now, field)]}"
        for key, (field, words) in WORDS.items()
        if before is None or getattr(now, field) != getattr(before, field)
    ]


def _parse_telemetry(lines: list[str], before: Telemetry | None) -> Telemetry:
    time, left, directive, reason, detail = matched(_HEAD, lines[0]).groups()
    fields: dict[str, Any] = {} if before is None else before.model_dump()
    fields |= {
        "time_s": float(time),
        "turns_left": int(left),
        "directive": int(directive),
        "reason": reason,
        "detail": detail or "",
        "check": {},
    }
    for line in lines[1:]:
        if line.startswith("check "):
            pairs = (item.split("=") for item in line.split()[1:])
            fields["check"] = {key: float(value) for key, value in pairs}
        else:
            fields |= dict(channel(item) for item in line.split())
    return Telemetry.model_validate(fields)


def channel(item: str) -> tuple[str, Any]:
    """Field and value of a `key=value`."""
    key, _, text = item.partition("=")
    if key in NUMBERS:
        return NUMBERS[key][0], None if text == NO_VALUE else float(text)
    if key not in WORDS:
        raise ValueError(f"no telemetry channel {key!r}")
    field, words = WORDS[key]
    for value, word in words.items():
        if word == text:
            return field, value
    raise ValueError(f"{key}={text}: expected one of {', '.join(words.values())}")


# -- numbers -----------------------------------------------------------------------------------


def _rounded(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals) + 0.0


def _number(value: float | None, decimals: int) -> str:
    return NO_VALUE if value is None else f"{value:.{decimals}f}".removesuffix(".")


def matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    """The match of a whole line.

    Raises:
        ValueError: There is none.
    """
    found = pattern.fullmatch(line)
    if found is None:
        raise ValueError(f"cannot read {line!r}")
    return found
