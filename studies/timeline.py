# pyright: basic
"""A flight on one time axis: plan and commands, then one row for each quantity."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Final

import plotly.graph_objects as go

from orbital_ops_env.missions.mission import (
    Directive,
    FlightRule,
    MissionSpec,
    Point,
    QuietWindow,
    RateCap,
    ReduceRate,
    Reserve,
    SunKeepOut,
)
from orbital_ops_env.sim.faults import unit_of
from orbital_ops_env.sim.state import Track
from orbital_ops_env.studies.record import (
    Record,
    body_rate_deg_s,
    damage,
    fired_in_quiet,
    flowing_valves,
    goal,
    knowledge_error_deg,
    label,
    limit,
    open_valves,
    pointing_error_deg,
    propellant_g,
    sun_angle_deg,
)

TRUE, ESTIMATED, GOOD, BAD, SOFT = "#0b4f9e", "#e8710a", "#2b8a3e", "#c92a2a", "#868e96"
BRANCHES: Final = ("#1098ad", "#c2255c")
"""Colour of branch A and B."""
BATTERY, ASTRAY, FAULT = "#5f3dc4", "#862e9c", "#8a6d00"
FAINT, FAINTEST = "26", "18"
"""Alpha of a shaded region and of the band of a fault, hexadecimal."""
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
ERROR_AXIS_DEG, KNOWLEDGE_AXIS_DEG = (0.03, 180.0), (0.003, 180.0)
UNDER: Final = 0.42
"""[-] how far under its lane a directive's mark and its dwell stand."""
STRIP: Final = 0.14
"""[-] height of the strip that shows the dwell."""
HOVER: Final = 60
"""[-] characters in a line of hover text."""
END_LANE: Final = -0.75
"""[-] where end reasons stand under the commands, whose lane is 0."""
GAP: Final = 0.035
"""[-] share of the height between two rows."""
UNIT_PX: Final = 150
"""[px] height of a row of weight 1."""
LANE: Final = 0.38
"""[-] weight of a lane in the row of plan and commands."""


class _Panel:
    """One row of the figure."""

    def __init__(self, fig: go.Figure, number: int) -> None:
        self._fig = fig
        self._axis = f"y{number}"

    def draw(self, kind: Any, name: str, **style: Any) -> None:
        """Add a trace; a name stands in the legend once."""
        traces: Any = self._fig.data
        known = any(trace.name == name for trace in traces)
        style = {"showlegend": not known, "yaxis": self._axis, "legendgroup": name} | style
        self._fig.add_trace(kind(name=name, **style))

    def line(self, x: Any, y: Any, name: str, colour: str, dash: str = "solid", **style: Any) -> None:
        """A curve over mission time."""
        line = {"color": colour, "width": 2, "dash": dash}
        style = {"hovertemplate": "%{y:.3g}", "mode": "lines", "line": line} | style
        self.draw(go.Scatter, name, x=x, y=y, **style)

    def pair(self, flown: Record, quantity: Callable[[Record, Track], Any], what: str) -> None:
        """A quantity in truth, and as the onboard estimate has it."""
        hover = {"hovertemplate": f"%{{y:.3g}} {what}"}
        true, estimated = quantity(flown, flown.truth), quantity(flown, flown.estimate)
        self.line(flown.truth.t, true, "true", TRUE, **hover)
        self.line(flown.estimate.t, estimated, "estimated on board", ESTIMATED, "dot", **hover)

    def area(self, x: tuple[float, float], y: tuple[float, float], name: str, colour: str) -> None:
        """A shaded region: where to be, or where never to be."""
        (left, right), (low, high) = x, y
        self.draw(
            go.Scatter,
            name,
            x=[left, right, right, left, left],
            y=[low, low, high, high, low],
            mode="lines",
            fill="toself",
            fillcolor=colour + FAINT,
            line={"color": colour, "width": 1},
            hoverinfo="skip",
        )

    def goals(self, flown: Record, kind: type[Directive], low: float) -> None:
        """Where each directive of a kind wants the curve while it is the current one."""
        spec, begun = flown.flight.spec, 0.0
        for number, directive in enumerate(spec.directives):
            done = flown.done_at(number)
            if isinstance(directive, kind) and begun < flown.over_s:
                span = (max(begun, directive.opens_s), directive.closes_s if done is None else done)
                self.area(span, (low, math.degrees(directive.limit)), "goal", GOOD)
            begun = math.inf if done is None else done

    def rule(self, flown: Record, rule: FlightRule, limit: float, begin: float = 0.0) -> None:
        """A flight rule's limit, and where it was first broken; hard ones forbid what is below."""
        spec = flown.flight.spec
        if rule.hard:
            self.area((begin, spec.clock_s), (0, limit), "forbidden", BAD)
        else:
            span = [begin, spec.clock_s]
            self.line(span, [limit, limit], "soft limit", SOFT, "dash", hoverinfo="skip")
        self.breaks(flown, rule, limit)

    def breaks(self, flown: Record, rule: FlightRule, y: float) -> None:
        """A mark where a flight rule was first broken."""
        number = flown.flight.spec.rules.index(rule)
        broken = next((p.t for p in flown.progress if number in p.broken), None)
        if broken is not None:
            self.marks([broken], [y], "rule broken", "x", BAD)

    def bars(self, spans: list[tuple[float, float]], name: str, **style: Any) -> None:
        """Labelled segments of mission time."""
        self.draw(
            go.Bar,
            name,
            orientation="h",
            base=[begin for begin, _ in spans],
            x=[end - begin for begin, end in spans],
            insidetextanchor="start",
            textangle=0,
            constraintext="none",
            **style,
        )

    def write(self, x: float, y: float, text: str, anchor: str, colour: str = "#212529") -> None:
        """Words that begin or end at an instant."""
        place = {"yref": self._axis, "yanchor": "middle", "xanchor": anchor}
        _write(self._fig, x, y, text, **place, font={"size": 12, "color": colour})

    def marks(self, x: list[float], y: list[float], name: str, symbol: str, colour: str) -> None:
        """Symbols at instants."""
        marker = {"symbol": symbol, "color": colour, "size": 11, "line": {"width": 0}}
        self.draw(go.Scatter, name, x=x, y=y, mode="markers", marker=marker, hoverinfo="skip")


def _rules(flown: Record, kind: type[Any]) -> list[Any]:
    return [rule for rule in flown.flight.spec.rules if isinstance(rule, kind)]


def _lanes(spec: MissionSpec) -> list[str]:
    """What stands in the row of plan and commands, from the bottom up."""
    quiet = any(isinstance(rule, QuietWindow) for rule in spec.rules)
    directives = [f"D{n}" for n in range(len(spec.directives), 0, -1)]
    faults = [f"F{n}" for n in range(len(spec.faults), 0, -1)]
    return ["commands", *(["quiet"] if quiet else []), *directives, *faults]


def _plan(panel: _Panel, flown: Record) -> None:
    _commands(panel, flown)
    _quiet(panel, flown)
    _directives(panel, flown)
    _faults(panel, flown)


def _directives(panel: _Panel, flown: Record) -> None:
    """The window of each directive, and when its condition held."""
    spec, end = flown.flight.spec, flown.progress[-1]
    for number, directive in enumerate(spec.directives):
        lane = float(_lanes(spec).index(f"D{number + 1}"))
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


def _quiet(panel: _Panel, flown: Record) -> None:
    for rule in _rules(flown, QuietWindow):
        lane = float(_lanes(flown.flight.spec).index("quiet"))
        span = (rule.opens_s, rule.closes_s)
        panel.area(span, (lane - UNDER + STRIP, lane + UNDER - STRIP), "forbidden", BAD)
        _caption(panel, flown, span, lane, limit(rule))
        panel.breaks(flown, rule, lane)


def _faults(panel: _Panel, flown: Record) -> None:
    """What broke from when on, in words; the band over all rows is drawn by `_bands`."""
    spec = flown.flight.spec
    for number, fault in enumerate(spec.faults, start=1):
        lane = float(_lanes(spec).index(f"F{number}"))
        late = "" if fault in flown.broke else ": after the end of the mission"
        anchor = "right" if fault.onset_s > spec.clock_s / 2 else "left"
        text = f"<b>{damage(fault)}</b>{late}"
        panel.write(fault.onset_s, lane, text, anchor, FAULT)


def _caption(panel: _Panel, flown: Record, span: tuple[float, float], lane: float, text: str) -> None:
    """Words in a window, or beside it if it is too narrow."""
    (opens, closes), clock = span, flown.flight.spec.clock_s
    if len(text) <= CHARACTERS * (closes - opens) / clock:
        panel.write(opens, lane, text, "left")
    elif opens > clock / 2:
        panel.write(opens, lane, text, "right")
    else:
        panel.write(closes, lane, text, "left")


def _commands(panel: _Panel, flown: Record) -> None:
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


def _hover(*texts: str) -> str:
    """Texts under one another, in lines of bearable length."""
    lines = [line for text in texts for line in textwrap.wrap(text, HOVER)]
    return "<br>".join(escape(line) for line in lines)


def _fitting(words: str, room: float) -> str:
    """As much of a numbered command as there is room for: all of it, its name, its number."""
    number, name, *_ = words.split()
    return next((text for text in (words, f"{number} {name}") if len(text) <= room), number)


def _pointing(panel: _Panel, flown: Record) -> None:
    panel.goals(flown, Point, ERROR_AXIS_DEG[0])
    panel.pair(flown, pointing_error_deg, "deg pointing error")


def _knowledge(panel: _Panel, flown: Record) -> None:
    style = {"fill": "tozeroy", "fillcolor": ASTRAY + FAINT}
    style |= {"hovertemplate": "%{y:.3g} deg between estimated and true attitude"}
    panel.line(flown.truth.t, knowledge_error_deg(flown), "estimate is wrong by", ASTRAY, **style)


def _rate(panel: _Panel, flown: Record) -> None:
    panel.goals(flown, ReduceRate, 0.0)
    for rule in _rules(flown, RateCap):
        panel.rule(flown, rule, math.degrees(rule.rate_rad_s), rule.from_s)
    panel.pair(flown, body_rate_deg_s, "deg/s body rate")


def _sun(panel: _Panel, flown: Record) -> None:
    for rule in _rules(flown, SunKeepOut):
        panel.rule(flown, rule, math.degrees(rule.angle_rad))
    panel.pair(flown, sun_angle_deg, "deg to the Sun")


def _gas(panel: _Panel, flown: Record) -> None:
    for rule in _rules(flown, Reserve):
        panel.rule(flown, rule, 1e3 * rule.propellant_kg)
    panel.pair(flown, propellant_g, "g propellant")


def _valves(panel: _Panel, flown: Record) -> None:
    style = {"fill": "tozeroy", "line_shape": "hv", "hovertemplate": "%{y:.1f} valves open"}
    t, flowing = flown.truth.t, flowing_valves(flown)
    for (branch, mean), colour in zip(open_valves(flown).items(), BRANCHES, strict=True):
        fired = "legendonly" if branch == "B" and not mean.any() else True
        panel.line(t, mean, f"branch {branch}", colour, visible=fired, **style)
    for rule in _rules(flown, QuietWindow):
        panel.area((rule.opens_s, rule.closes_s), (0, max(flowing.max(), 1.0)), "forbidden", BAD)
        fired = fired_in_quiet(flown, rule)
        panel.marks(t[fired].tolist(), flowing[fired].tolist(), "fired in quiet window", "x", BAD)
    if any(unit_of(fault) for fault in flown.broke):
        hover = {"line_shape": "hv", "hovertemplate": "%{y:.1f} valves let gas out"}
        panel.line(t, flowing, "gas truly flowing", TRUE, "dot", **hover)


def _battery(panel: _Panel, flown: Record) -> None:
    snapshots = flown.flight.snapshots
    charge = [100 * s.sensed.battery_fraction for s in snapshots]
    panel.line([s.t for s in snapshots], charge, "battery", BATTERY, mode="lines+markers")


@dataclass(frozen=True)
class _Row:
    """What a row of the figure shows."""

    title: str
    weight: float
    """[-] share of the height; the plan's grows by its lanes."""
    draw: Callable[[_Panel, Record], None]
    axis: dict[str, Any] = field(default_factory=dict)
    shown: Callable[[MissionSpec], bool] = lambda spec: True


def _keeps_out(spec: MissionSpec) -> bool:
    return any(isinstance(rule, SunKeepOut) for rule in spec.rules)


def _logarithmic(limits: tuple[float, float], *ticks: float) -> dict[str, Any]:
    return {"type": "log", "range": [math.log10(limit) for limit in limits], "tickvals": ticks}


STAY: Final = ": must stay in the green box"
FROM_ZERO: Final = {"rangemode": "tozero"}
ROWS: Final = (
    _Row("<b>Plan and commands</b>", 1.5 * LANE, _plan, {"showgrid": False}),
    _Row(
        f"<b>Pointing error</b> [deg] to the next target{STAY}",
        1.2,
        _pointing,
        _logarithmic(ERROR_AXIS_DEG, 0.1, 1, 10, 100),
    ),
    _Row(
        "<b>Estimated against true attitude</b> [deg] between them",
        0.8,
        _knowledge,
        _logarithmic(KNOWLEDGE_AXIS_DEG, 0.01, 1, 100),
    ),
    _Row("<b>Body rate</b> [deg/s]", 1.0, _rate, FROM_ZERO),
    _Row("<b>Payload to Sun</b> [deg]", 0.9, _sun, {"range": [0, 185]}, _keeps_out),
    _Row("<b>Usable propellant</b> [g]", 1.0, _gas, FROM_ZERO),
    _Row("<b>Valves commanded open</b> (mean over each second)", 0.8, _valves, FROM_ZERO),
    _Row("<b>Battery</b> [%]", 0.7, _battery, {"range": [0, 105]}),
)


def figure(flown: Record) -> go.Figure:
    """A flight on one time axis: plan and commands, then one row for each quantity."""
    spec = flown.flight.spec
    rows, lanes = [row for row in ROWS if row.shown(spec)], _lanes(spec)
    rows[0] = replace(rows[0], weight=rows[0].weight + LANE * (len(lanes) - 1))
    total = sum(row.weight for row in rows)
    fig = go.Figure()
    top = 1.0
    for number, row in enumerate(rows, start=1):
        bottom = max(top - row.weight / total, 0.0)
        axis = {"domain": [bottom, top - GAP], "zeroline": False, "fixedrange": True}
        fig.update_layout({f"yaxis{number}": axis | row.axis})
        _write(fig, 0, top - GAP, row.title, xref="paper", xanchor="left")
        row.draw(_Panel(fig, number), flown)
        top = bottom
    ticks = {"tickvals": list(range(len(lanes))), "ticktext": lanes, "range": [-1, len(lanes) - 0.5]}
    fig.update_layout(yaxis=ticks)
    _bands(fig, flown)
    _end(fig, flown)
    _style(fig, spec, total * UNIT_PX, f"y{len(rows)}")
    return fig


def _write(fig: go.Figure, x: float, y: float, text: str, **style: Any) -> None:
    place = {"yref": "paper", "yanchor": "bottom", "showarrow": False, "font": {"size": 13}}
    fig.add_annotation(x=x, y=y, text=text, **(place | style))


def _bands(fig: go.Figure, flown: Record) -> None:
    """A line where something broke, and a band from the first to the end of the mission."""
    span = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    if flown.broke:
        first, band = flown.broke[0].onset_s, {"fillcolor": FAULT + FAINTEST, "line": {"width": 0}}
        fig.add_shape(x0=first, x1=flown.over_s, name="broken", **band, **span)
    for fault in flown.flight.spec.faults:
        onset, line = fault.onset_s, {"color": FAULT, "width": 2, "dash": "dash"}
        fig.add_shape(x0=onset, x1=onset, line=line, name="fault", **(span | {"layer": "above"}))


def _end(fig: go.Figure, flown: Record) -> None:
    """Thin lines where commands ended, a bold one where the mission was decided, grey after."""
    span = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    for snapshot in flown.flight.snapshots[1:]:
        fig.add_shape(x0=snapshot.t, x1=snapshot.t, line={"color": "#dee2e6", "width": 1}, **span)
    over, clock = flown.over_s, flown.flight.spec.clock_s
    colour = GOOD if flown.flight.succeeded else BAD
    grey = {"fillcolor": "#f1f3f5", "line": {"width": 0}}
    fig.add_shape(x0=over, x1=clock, **span, **grey)
    fig.add_shape(x0=over, x1=over, line={"color": colour, "width": 3}, **span)
    text = f"<b>mission {flown.flight.outcome.replace('_', ' ')}</b> at {over:.0f} s"
    anchor = "right" if over > clock / 2 else "left"
    _write(fig, over, 1 - GAP, text, xanchor=anchor, font={"color": colour, "size": 14})


def _style(fig: go.Figure, spec: MissionSpec, height: float, last: str) -> None:
    fig.update_xaxes(
        range=[0, spec.clock_s], anchor=last, title="mission time [s]", showspikes=True,
        spikemode="across", spikethickness=1, spikedash="solid", spikecolor=SOFT,
    )  # fmt: skip
    fig.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 80, "r": 20, "t": 10, "b": 50},
        font={"family": "system-ui, sans-serif", "size": 12},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        hovermode="x unified",
        hoversubplots="axis",
        bargap=0.35,
        barmode="overlay",
    )
