# pyright: basic
"""A flight on one time axis: plan and commands, then one row for each quantity."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go

from orbital_ops_env.missions.directives import Point, ReduceRate
from orbital_ops_env.missions.rules import QuietWindow, RateCap, Reserve, SunKeepOut
from orbital_ops_env.sim.faults import unit_of
from orbital_ops_env.studies import plan_row
from orbital_ops_env.studies.panel import BAD, FAINT, FAULT, GOOD, SOFT, TRUE, Panel, inward, write
from orbital_ops_env.studies.record import (
    Record,
    body_rate_deg_s,
    flowing_valves,
    knowledge_error_deg,
    open_valves,
    pointing_error_deg,
    propellant_g,
    sun_angle_deg,
)

BRANCHES: Final = ("#1098ad", "#c2255c")
"""Colour of branch A and B."""
BATTERY, ASTRAY = "#5f3dc4", "#862e9c"
FAINTEST: Final = "18"
"""Alpha of the band of a fault, hexadecimal."""
ERROR_AXIS_DEG, KNOWLEDGE_AXIS_DEG = (0.03, 180.0), (0.003, 180.0)
GAP: Final = 0.035
"""[-] share of the height between two rows."""
UNIT_PX: Final = 150
"""[px] height of a row of weight 1."""
ALL_ROWS: Final = {"yref": "paper", "y0": 0, "y1": 1}
"""What makes a shape as high as the figure."""


def _pointing(panel: Panel, flown: Record) -> None:
    panel.goals(flown, Point, ERROR_AXIS_DEG[0])
    panel.pair(flown, pointing_error_deg, "deg pointing error")


def _knowledge(panel: Panel, flown: Record) -> None:
    style = {"fill": "tozeroy", "fillcolor": ASTRAY + FAINT}
    style |= {"hovertemplate": "%{y:.3g} deg between estimated and true attitude"}
    panel.line(flown.truth.t, knowledge_error_deg(flown), "estimate is wrong by", ASTRAY, **style)


def _rate(panel: Panel, flown: Record) -> None:
    panel.goals(flown, ReduceRate, 0.0)
    for rule in flown.rules(RateCap):
        panel.rule(flown, rule, math.degrees(rule.rate_rad_s))
    panel.pair(flown, body_rate_deg_s, "deg/s body rate")


def _sun(panel: Panel, flown: Record) -> None:
    for rule in flown.rules(SunKeepOut):
        panel.rule(flown, rule, math.degrees(rule.angle_rad))
    panel.pair(flown, sun_angle_deg, "deg to the Sun")


def _gas(panel: Panel, flown: Record) -> None:
    for rule in flown.rules(Reserve):
        panel.rule(flown, rule, 1e3 * rule.propellant_kg)
    panel.pair(flown, propellant_g, "g propellant")


def _valves(panel: Panel, flown: Record) -> None:
    style = {"fill": "tozeroy", "line_shape": "hv", "hovertemplate": "%{y:.1f} valves open"}
    t, flowing = flown.truth.t, flowing_valves(flown)
    for (branch, mean), colour in zip(open_valves(flown).items(), BRANCHES, strict=True):
        visible = "legendonly" if branch == "B" and not mean.any() else True
        panel.line(t, mean, f"branch {branch}", colour, visible=visible, **style)
    for rule in flown.rules(QuietWindow):
        panel.area((rule.opens_s, rule.closes_s), (0, max(flowing.max(), 1.0)), "forbidden", BAD)
        fired = rule.broken(flown.truth, flown.flight.spec)
        panel.marks(t[fired].tolist(), flowing[fired].tolist(), "fired in quiet window", "x", BAD)
    if any(unit_of(fault) for fault in flown.broke):
        hover = {"line_shape": "hv", "hovertemplate": "%{y:.1f} valves let gas out"}
        panel.line(t, flowing, "gas truly flowing", TRUE, "dot", **hover)


def _battery(panel: Panel, flown: Record) -> None:
    snapshots = flown.flight.snapshots
    charge = [100 * s.sensed.battery_fraction for s in snapshots]
    panel.line([s.t for s in snapshots], charge, "battery", BATTERY, mode="lines+markers")


@dataclass(frozen=True)
class _Row:
    """What a row of the figure shows."""

    title: str
    weight: float
    """[-] share of the height."""
    draw: Callable[[Panel, Record], None]
    axis: dict[str, Any]
    shown: Callable[[Record], bool] = lambda flown: True


def _keeps_out(flown: Record) -> bool:
    return bool(flown.rules(SunKeepOut))


def _logarithmic(limits: tuple[float, float], *ticks: float) -> dict[str, Any]:
    return {"type": "log", "range": [math.log10(limit) for limit in limits], "tickvals": ticks}


FROM_ZERO: Final = {"rangemode": "tozero"}
QUANTITIES: Final = (
    _Row(
        "<b>Pointing error</b> [deg] to the next target: must stay in the green box",
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
    plan = _Row("<b>Plan and commands</b>", plan_row.weight(flown), plan_row.draw, plan_row.axis(flown))
    rows = [plan, *(row for row in QUANTITIES if row.shown(flown))]
    total = sum(row.weight for row in rows)
    fig = go.Figure()
    top = 1.0
    for number, row in enumerate(rows, start=1):
        bottom = max(top - row.weight / total, 0.0)
        axis = {"domain": [bottom, top - GAP], "zeroline": False, "fixedrange": True}
        fig.update_layout({f"yaxis{number}": axis | row.axis})
        write(fig, 0, top - GAP, row.title, xref="paper", xanchor="left")
        row.draw(Panel(fig, number), flown)
        top = bottom
    _bands(fig, flown)
    _end(fig, flown)
    _style(fig, flown.flight.spec.clock_s, total * UNIT_PX, f"y{len(rows)}")
    return fig


def _bands(fig: go.Figure, flown: Record) -> None:
    """A line where something broke, and a band from the first to the end of the mission."""
    if flown.broke:
        first, band = flown.broke[0].onset_s, {"fillcolor": FAULT + FAINTEST, "line": {"width": 0}}
        fig.add_shape(x0=first, x1=flown.over_s, name="broken", layer="below", **band, **ALL_ROWS)
    for fault in flown.flight.faults:
        onset, line = fault.onset_s, {"color": FAULT, "width": 2, "dash": "dash"}
        fig.add_shape(x0=onset, x1=onset, line=line, name="fault", layer="above", **ALL_ROWS)


def _end(fig: go.Figure, flown: Record) -> None:
    """Thin lines where commands ended, a bold one where the mission was decided, grey after."""
    span = ALL_ROWS | {"layer": "below"}
    for snapshot in flown.flight.snapshots[1:]:
        fig.add_shape(x0=snapshot.t, x1=snapshot.t, line={"color": "#dee2e6", "width": 1}, **span)
    over, colour = flown.over_s, GOOD if flown.flight.succeeded else BAD
    grey = {"fillcolor": "#f1f3f5", "line": {"width": 0}}
    fig.add_shape(x0=over, x1=flown.flight.spec.clock_s, **span, **grey)
    fig.add_shape(x0=over, x1=over, line={"color": colour, "width": 3}, **span)
    text = f"<b>mission {flown.flight.outcome.replace('_', ' ')}</b> at {over:.0f} s"
    write(fig, over, 1 - GAP, text, xanchor=inward(flown, over), font={"color": colour, "size": 14})


def _style(fig: go.Figure, clock_s: float, height: float, last: str) -> None:
    fig.update_xaxes(
        range=[0, clock_s], anchor=last, title="mission time [s]", showspikes=True,
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
