# pyright: basic
"""One row of the figure of a flight: what every row draws with, and its colours."""

import math
from collections.abc import Callable
from typing import Any, Final

import plotly.graph_objects as go

from orbital_ops_env.missions.directives import Directive
from orbital_ops_env.missions.rules import BatteryFloor, FlightRule, KeepOut, RateCap, Reserve, SunKeepOut
from orbital_ops_env.sim.state import Track
from orbital_ops_env.studies.record import Record

TRUE, ESTIMATED, GOOD, BAD, SOFT = "#0b4f9e", "#e8710a", "#2b8a3e", "#c92a2a", "#868e96"
Limit = SunKeepOut | KeepOut | Reserve | BatteryFloor | RateCap
"""Flight rules with a limit, from a mission time and until one."""
FAULT: Final = "#8a6d00"
FAINT: Final = "26"
"""Alpha of a shaded region, hexadecimal."""


class Panel:
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

    def rule(self, flown: Record, rule: Limit, limit: float) -> None:
        """A flight rule's limit, and where it was first broken; hard ones forbid what is below."""
        span = (rule.from_s, flown.flight.spec.clock_s if rule.until_s is None else rule.until_s)
        if rule.hard:
            self.area(span, (0, limit), "forbidden", BAD)
        else:
            self.line(list(span), [limit, limit], "soft limit", SOFT, "dash", hoverinfo="skip")
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
        write(self._fig, x, y, text, **place, font={"size": 12, "color": colour})

    def marks(self, x: list[float], y: list[float], name: str, symbol: str, colour: str) -> None:
        """Symbols at instants."""
        marker = {"symbol": symbol, "color": colour, "size": 11, "line": {"width": 0}}
        self.draw(go.Scatter, name, x=x, y=y, mode="markers", marker=marker, hoverinfo="skip")


def write(fig: go.Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Words at an instant; `y` is a share of the figure's height unless `style` says otherwise."""
    place = {"yref": "paper", "yanchor": "bottom", "showarrow": False, "font": {"size": 13}}
    fig.add_annotation(x=x, y=y, text=text, **(place | style))


def inward(flown: Record, t: float) -> str:
    """The end by which words are tied to an instant so that they run into the figure."""
    return "right" if t > flown.flight.spec.clock_s / 2 else "left"
