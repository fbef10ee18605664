"""The row of plan and commands: faults, directives, quiet windows, and what was sent when."""

import textwrap
from html import escape
from typing import Any, Final

from orbital_ops_env.missions.rules import QuietWindow
from orbital_ops_env.studies.panel import BAD, FAINT, FAULT, GOOD, Panel, inward
from orbital_ops_env.studies.record import Record
from orbital_ops_env.studies.words import damage, goal, label, limit

COMMANDS: Final = {"slew": "#74c0fc", "hold": "#8ce0cf", "detumble": "#b197fc", "coast": "#dee2e6"}
"""Colour by command; `OTHER` for the rest."""
OTHER: Final = "#ffc078"
ENDS: Final = {
    "completed": ("circle", GOOD),
    "duration": ("square", "#495057"),
    "window_edge": ("diamond", "#e8a200"),
    "limit": ("triangle-up", "#e8590c"),
    "alarm": ("hexagram", BAD),
    "refused": ("x", BAD),
}
"""Symbol and colour by end reason."""
CHARACTERS: Final = 175
"""[-] characters of a label that fit the width of the timeline."""
UNDER: Final = 0.42
"""[-] how far under its lane a directive's mark and its dwell stand."""
STRIP: Final = 0.14
"""[-] height of the strip that shows the dwell."""
HOVER: Final = 60
"""[-] characters in a line of hover text."""
END_LANE: Final = -0.75
"""[-] where end reasons stand under the commands, whose lane is 0."""
LANE: Final = 0.38
"""[-] weight of a lane."""
LOWEST: Final = 1.5 * LANE
"""[-] weight of the lowest lane, with room for end reasons under it."""


def weight(flown: Record) -> float:
    """[-] share of the figure's height."""
    return LOWEST + LANE * (len(_lanes(flown)) - 1)


def axis(flown: Record) -> dict[str, Any]:
    """Its lanes by name."""
    lanes = _lanes(flown)
    ticks = {"tickvals": list(range(len(lanes))), "ticktext": lanes, "range": [-1, len(lanes) - 0.5]}
    return {"showgrid": False} | ticks


def draw(panel: Panel, flown: Record) -> None:
    """Plan and commands."""
    _commands(panel, flown)
    _quiet(panel, flown)
    _directives(panel, flown)
    _faults(panel, flown)


def _lanes(flown: Record) -> list[str]:
    """What stands in the row, from the bottom up."""
    spec = flown.flight.spec
    directives = [f"D{n}" for n in range(len(spec.directives), 0, -1)]
    faults = [f"F{n}" for n in range(len(spec.faults), 0, -1)]
    return ["commands", *(["quiet"] if flown.rules(QuietWindow) else []), *directives, *faults]


def _lane(flown: Record, name: str) -> float:
    """Height of a lane."""
    return float(_lanes(flown).index(name))


def _faults(panel: Panel, flown: Record) -> None:
    """What broke from when on, in words."""
    for number, fault in enumerate(flown.flight.faults, start=1):
        lane = _lane(flown, f"F{number}")
        late = "" if fault in flown.broke else ": after the end of the mission"
        text = f"<b>{damage(fault)}</b>{late}"
        panel.write(fault.onset_s, lane, text, inward(flown, fault.onset_s), FAULT)


def _directives(panel: Panel, flown: Record) -> None:
    """The window of each directive, and when its condition held."""
    spec, end = flown.flight.spec, flown.progress[-1]
    for number, directive in enumerate(spec.directives):
        lane = _lane(flown, f"D{number + 1}")
        span, held = (directive.opens_s, directive.closes_s), flown.held(number)
        border = {"color": GOOD + FAINT, "line": {"color": GOOD, "width": 1}}
        panel.bars([span], "directive window", y=[lane], marker=border, hoverinfo="skip")
        best = max((until - since for since, until in held), default=0.0)
        told = f"held {best:.0f} s" if end.done >= number else "never its turn"
        _caption(panel, flown, span, lane, f"{goal(directive)} for {directive.dwell_s:.0f} s, {told}")
        strip = {"y": [lane - UNDER] * len(held), "width": STRIP, "marker": {"color": GOOD}}
        panel.bars(held, "goal held", hoverinfo="skip", **strip)
        done = flown.done_at(number)
        if done is not None:
            panel.marks([done], [lane - UNDER], "directive done", "star", GOOD)
        elif number == end.done:
            panel.marks([flown.over_s], [lane - UNDER], "directive not done", "x", BAD)


def _quiet(panel: Panel, flown: Record) -> None:
    for rule in flown.rules(QuietWindow):
        lane = _lane(flown, "quiet")
        span = (rule.opens_s, rule.closes_s)
        panel.area(span, (lane - UNDER + STRIP, lane + UNDER - STRIP), "forbidden", BAD)
        _caption(panel, flown, span, lane, limit(rule))
        panel.breaks(flown, rule, lane)


def _caption(panel: Panel, flown: Record, span: tuple[float, float], lane: float, text: str) -> None:
    """Words in a window, or beside it if it is too narrow."""
    (opens, closes), clock = span, flown.flight.spec.clock_s
    if len(text) <= CHARACTERS * (closes - opens) / clock:
        panel.write(opens, lane, text, "left")
    elif opens > clock / 2:
        panel.write(opens, lane, text, "right")
    else:
        panel.write(closes, lane, text, "left")


def _commands(panel: Panel, flown: Record) -> None:
    commands, snapshots = flown.flight.commands, flown.flight.snapshots[1:]
    labels = [f"{n} {label(command)}" for n, command in enumerate(commands, 1)]
    room = [CHARACTERS * (s.t - s.began) / flown.flight.spec.clock_s for s in snapshots]
    told = zip(labels, snapshots, flown.flight.rationales, strict=True)
    panel.bars(
        [(s.began, s.t) for s in snapshots],
        "command",
        y=[0.0] * len(commands),
        text=[_fitting(words, space) for words, space in zip(labels, room, strict=True)],
        customdata=[_hover(f"{words}: {s.reason} {s.detail}", why) for words, s, why in told],
        hovertemplate="%{customdata}",
        marker={"color": [COMMANDS.get(c.command, OTHER) for c in commands]},
        showlegend=False,
    )
    for reason in dict.fromkeys(s.reason for s in snapshots):
        ends = [s.t for s in snapshots if s.reason == reason]
        name = f"ended: {reason.replace('_', ' ')}"
        panel.marks(ends, [END_LANE] * len(ends), name, *ENDS[reason])


def _fitting(words: str, room: float) -> str:
    """As much of a numbered command as there is room for: all of it, its name, its number."""
    number, name, *_ = words.split()
    return next((text for text in (words, f"{number} {name}") if len(text) <= room), number)


def _hover(*texts: str) -> str:
    """Texts under one another, in lines of bearable length."""
    lines = [line for text in texts for line in textwrap.wrap(text, HOVER)]
    return "<br>".join(escape(line) for line in lines)
