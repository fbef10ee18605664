"""The text of an observation in other forms: JSON and prose, with the same information as the compact text.

Each reads back to the same view, so that `parse(render(observation, previous), previous)` is
`view(observation, previous)` in all of them. The brief is in the compact words in all of them.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from orbital_ops_env.client.render import (
    CHECK_DECIMALS,
    NO_VALUE,
    NUMBERS,
    PolicyView,
    brief_lines,
    changed,
    channel,
    matched,
    parse,
    parse_brief,
    render,
    view,
)
from orbital_ops_env.models import OrbitalOpsObservation, Telemetry

Render = Callable[[OrbitalOpsObservation, PolicyView | None], str]
Parse = Callable[[str, PolicyView | None], PolicyView]


@dataclass(frozen=True)
class Format:
    """A way to write an observation, and to read it back."""

    render: Render
    parse: Parse


HEAD: Final = {
    "t": "time_s",
    "left": "turns_left",
    "directive": "directive",
    "ended": "reason",
    "detail": "detail",
}
"""Key to `Telemetry` field of what every observation tells."""
PROSE: Final = {
    "turn": "turn to the target",
    "err": "pointing error",
    "rate": "body rate",
    "dwell": "dwell served",
    "gas": "gas left",
    "dgas": "tank minus counted gas",
    "inn": "star tracker innovation",
    "dgyro": "gyro minus star tracker rate",
    "dw": "unexplained rate change",
    "dsun": "Sun sensors against the estimate",
    "bat": "battery",
    "panel": "panel power",
    "data": "storage filled",
    "on": "valve time",
    "ax": "axis of the unexplained change",
    "st": "star sight",
    "branch": "thruster branch",
    "src": "attitude source",
}
"""Channel in words, by its key in the compact text."""
_UNITS: Final = {"deg": "deg", "deg_s": "deg/s", "g": "g", "s": "s", "pct": "%", "w": "W"}
_SENTENCE: Final = re.compile(
    r"At (\d+) s the command ended: (\w+)(?: \((.*)\))?\. (-?\d+) commands left, D(\d+) is next\.$"
)


# -- JSON --------------------------------------------------------------------------------------


def _render_json(observation: OrbitalOpsObservation, previous: PolicyView | None = None) -> str:
    seen, known, brief = _parts(observation, previous)
    told: dict[str, Any] = {"brief": brief} if brief else {}
    told |= {
        key: _short(getattr(seen, field)) for key, field in HEAD.items() if field != "detail" or seen.detail
    }
    for key, text in _changed(seen, known).items():
        told[key] = _short(getattr(seen, NUMBERS[key][0])) if key in NUMBERS else text
    if seen.check:
        told["check"] = {name: _short(value) for name, value in seen.check.items()}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _parse_json(text: str, previous: PolicyView | None = None) -> PolicyView:
    told = json.loads(text)
    brief, check = told.pop("brief", []), told.pop("check", {})
    fields = {field: told.pop(key, "") for key, field in HEAD.items()}
    channels = {key: NO_VALUE if value is None else str(value) for key, value in told.items()}
    return _seen(brief, fields, channels, check, previous)


def _short(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# -- prose -------------------------------------------------------------------------------------


def _render_prose(observation: OrbitalOpsObservation, previous: PolicyView | None = None) -> str:
    seen, known, brief = _parts(observation, previous)
    detail = f" ({seen.detail})" if seen.detail else ""
    lines = [
        *brief,
        f"At {seen.time_s:.0f} s the command ended: {seen.reason}{detail}. "
        f"{seen.turns_left} commands left, D{seen.directive} is next.",
    ]
    channels = [f"{PROSE[key]} {text}{_unit(key, text)}" for key, text in _changed(seen, known).items()]
    if channels:
        lines.append(f"Now: {'; '.join(channels)}.")
    if seen.check:
        found = (f"{name} {value:.{CHECK_DECIMALS}f}" for name, value in seen.check.items())
        lines.append(f"The check found: {'; '.join(found)}.")
    return "\n".join(lines)


def _parse_prose(text: str, previous: PolicyView | None = None) -> PolicyView:
    lines = text.splitlines()
    number = next(n for n, line in enumerate(lines) if _SENTENCE.match(line))
    time, reason, detail, left, directive = matched(_SENTENCE, lines[number]).groups()
    fields = {
        "time_s": time,
        "turns_left": left,
        "directive": directive,
        "reason": reason,
        "detail": detail or "",
    }
    channels: dict[str, str] = {}
    check: dict[str, Any] = {}
    for line in lines[number + 1 :]:
        title, _, items = line.removesuffix(".").partition(": ")
        if title == "Now":
            channels = dict(_channel(item) for item in items.split("; "))
        else:
            check = {
                name: float(value) for name, value in (item.rsplit(" ", 1) for item in items.split("; "))
            }
    return _seen(lines[:number], fields, channels, check, previous)


def _channel(item: str) -> tuple[str, str]:
    for key, words in PROSE.items():
        if item.startswith(f"{words} "):
            return key, item.removeprefix(f"{words} ").partition(" ")[0]
    raise ValueError(f"no channel in {item!r}")


def _unit(key: str, text: str) -> str:
    if key not in NUMBERS or text == NO_VALUE:
        return ""
    field = NUMBERS[key][0]
    suffix = max((unit for unit in _UNITS if field.endswith(f"_{unit}")), key=len)
    return f" {_UNITS[suffix]}"


# -- both --------------------------------------------------------------------------------------


def _parts(
    observation: OrbitalOpsObservation, previous: PolicyView | None
) -> tuple[Telemetry, Telemetry | None, list[str]]:
    """The telemetry at the printed resolution, that before it, and the lines of the brief if it is told."""
    seen = view(observation, previous)
    if observation.brief is None:
        return seen.telemetry, previous.telemetry if previous else None, []
    return seen.telemetry, None, brief_lines(seen.brief)


def _changed(now: Telemetry, before: Telemetry | None) -> dict[str, str]:
    """The channels that changed, as the compact text writes them."""
    return dict(item.split("=", 1) for item in changed(now, before))


def _seen(
    brief: list[str],
    fields: dict[str, Any],
    channels: dict[str, str],
    check: dict[str, Any],
    previous: PolicyView | None,
) -> PolicyView:
    if not brief and previous is None:
        raise ValueError("a text without a brief needs the view before it")
    told: dict[str, Any] = {} if brief or previous is None else previous.telemetry.model_dump()
    told |= fields | {"check": check}
    told |= dict(channel(f"{key}={text}") for key, text in channels.items())
    telemetry = Telemetry.model_validate(told)
    known = parse_brief(brief) if brief or previous is None else previous.brief
    return PolicyView(known, telemetry)


FORMATS: Final = {
    "compact": Format(render, parse),
    "json": Format(_render_json, _parse_json),
    "prose": Format(_render_prose, _parse_prose),
}
"""Every format by name."""
