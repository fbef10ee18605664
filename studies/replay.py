"""What happened in a flight, and why it was won or lost: one self-contained page, truth included.

The page holds every flight of one mission on the same time axis. It loads nothing from the network.
"""

from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import Final

from plotly.offline import get_plotlyjs

from orbital_ops_env.rewards.rubric import Weights
from orbital_ops_env.studies.record import Record
from orbital_ops_env.studies.timeline import figure
from orbital_ops_env.studies.words import brief, damage, label, verdict

MEANING: Final = {
    "overall": ("Return", "sum of all step rewards"),
    "primary": ("Success", "every directive done, no hard rule broken"),
    "process": ("Process", "directives done and progress of the next, as a share; 0 after a hard violation"),
    "efficiency": ("Efficiency", "gas and time saved; counts on success only"),
    "safety": ("Safety", "soft rules kept, faults rightly reported; counts on success only"),
    "format": ("Format", "replies that were exactly one command; counts on success only"),
}
"""Component to (name, what it says)."""
ON_SUCCESS: Final = ("efficiency", "safety", "format")
"""Components that count on success only."""
STYLE: Final = """
body{font:15px/1.45 system-ui,sans-serif;color:#212529;margin:0 auto;max-width:1380px;
 padding:20px 28px}
h1{font-size:24px;margin:0} h2{font-size:16px;margin:18px 0 6px} i{font-style:normal}
ul{margin:0;padding-left:18px} section[hidden]{display:none}
.line{color:#868e96;margin:2px 0 14px} .muted{color:#868e96;font-size:13px}
.top{display:grid;grid-template-columns:1fr 1fr;gap:28px}
table{border-collapse:collapse;width:100%;font-size:14px}
td,th{padding:4px 10px;text-align:left;border-bottom:1px solid #e9ecef}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.tabs{display:grid;grid-auto-flow:column;grid-auto-columns:1fr;gap:14px;margin:18px 0 8px}
.tabs button{font:inherit;text-align:left;padding:10px 16px;border:2px solid #dee2e6;
 border-left-width:8px;border-radius:8px;background:#fff;cursor:pointer}
.tabs b{font-size:17px} .won b i{color:#2b8a3e} .lost b i{color:#c92a2a}
.tabs button[aria-selected=true]{background:#f1f8ff;border-color:#0b4f9e}
.tabs .won{border-left-color:#2b8a3e!important} .tabs .lost{border-left-color:#c92a2a!important}
"""
SCRIPT: Final = """
function choose(k){document.querySelectorAll('.tabs button').forEach((b,n)=>
b.setAttribute('aria-selected',n==k));document.querySelectorAll('section').forEach((s,n)=>s.hidden=n!=k);
const plot=document.getElementById('flight'+k),data=FLIGHTS[k];
Plotly.react(plot,data.data,data.layout,{responsive:true,displayModeBar:false}).then(()=>
{if(window.range)Plotly.relayout(plot,{'xaxis.range':window.range});
plot.removeAllListeners('plotly_relayout');plot.on('plotly_relayout',()=>
window.range=plot.layout.xaxis.range.slice())})}
choose(0)
"""


def page(records: Sequence[Record]) -> str:
    """The flights of one mission as a page that needs no network.

    Args:
        records: At least one flight; all of the same mission.
    """
    spec = records[0].flight.spec
    seeds = f"{spec} episode_seed={records[0].flight.episode_seed}"
    asked = "".join(f"<li>{escape(line)}</li>" for line in brief(spec))
    plots = ",".join(str(figure(flown).to_json()) for flown in records)  # pyright: ignore[reportUnknownMemberType]
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>OrbitalOps replay: {escape(str(spec))}</title><style>{STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>OrbitalOps mission replay</h1><p class="line">{escape(seeds)}</p>
<div class="top"><div><h2>The mission</h2><ul>{asked}</ul>{_broken(records)}</div>
<div><h2>The score</h2>{_scores(records)}</div></div>
<h2>The flights <span class="muted">(click one; drag over a plot to zoom, double-click to zoom out)
</span></h2><div class="tabs">{"".join(_card(n, flown) for n, flown in enumerate(records))}</div>
{"".join(_section(n, flown) for n, flown in enumerate(records))}
<script>const FLIGHTS=[{plots}];{SCRIPT}</script></body></html>"""


def _broken(records: Sequence[Record]) -> str:
    """The faults of the mission, and the flights that were over before."""
    lines: list[str] = []
    for number, fault in enumerate(records[0].flight.spec.faults, start=1):
        early = (flown for flown in records if flown.over_s <= fault.onset_s)
        spared = [f"{flown.name} at {flown.over_s:.0f} s" for flown in early]
        late = f" (after the end of {', '.join(spared)})" if spared else ""
        lines.append(f"<li>{escape(f'F{number}  {damage(fault)}{late}')}</li>")
    head = 'What broke <span class="muted">(never told to the controller)</span>'
    return f"<h2>{head}</h2><ul>{''.join(lines)}</ul>" if lines else "<h2>Nothing broke</h2>"


def _scores(records: Sequence[Record]) -> str:
    values = [getattr(Weights(), f.name) for f in fields(Weights)]
    weights = dict(zip(list(MEANING)[1:], values, strict=True))
    lines = [_cells("th", ["component", "weight", *(flown.name for flown in records)])]
    for key, (name, meaning) in MEANING.items():
        scores = [_score(flown, key) for flown in records]
        weight = f"{weights[key]:.2f}" if key in weights else ""
        what = f'{name} <span class="muted">{meaning}</span>'
        lines.append(_cells("td", [what, weight, *scores]))
    return f"<table>{''.join(lines)}</table>"


def _score(flown: Record, key: str) -> str:
    """A component; grey where it does not count."""
    score = f"{flown.flight.components[f'reward/{key}']:.3f}"
    counts = flown.flight.succeeded or key not in ON_SUCCESS
    return score if counts else f'<span class="muted">{score}</span>'


def _cells(tag: str, cells: list[str]) -> str:
    first, *numbers = cells
    row = f"<{tag}>{first}</{tag}>" + "".join(f'<{tag} class="n">{n}</{tag}>' for n in numbers)
    return f"<tr>{row}</tr>"


def _card(number: int, flown: Record) -> str:
    won = "won" if flown.flight.succeeded else "lost"
    head = f"{escape(flown.name)}: <i>{flown.flight.outcome.replace('_', ' ')}</i>"
    score = f"return {flown.flight.return_:.3f}"
    return (
        f'<button class="{won}" onclick="choose({number})"><b>{head}</b>, {score}<br>'
        f"{escape(verdict(flown))}</button>"
    )


HEADS: Final = ("command", "began [s]", "ended [s]", "error", "rate", "gas used [g]", "ended by")


def _section(number: int, flown: Record) -> str:
    views, lines = flown.flight.views, [_cells("th", list(HEADS))]
    for n, (command, why) in enumerate(zip(flown.flight.commands, flown.flight.rationales, strict=True)):
        snapshot, seen = flown.flight.snapshots[n + 1], views[n + 1].telemetry
        used = views[n].telemetry.propellant_g - seen.propellant_g
        reason = f'<div class="muted">{escape(why)}</div>' if why else ""
        row = [
            f"{n + 1} {escape(label(command))}{reason}",
            f"{snapshot.began:.0f}",
            f"{snapshot.t:.0f}",
            "" if seen.error_deg is None else f"{seen.error_deg:.1f}°",
            f"{seen.rate_deg_s:.2f}°/s",
            f"{used:.2f}",
            f"{snapshot.reason} {escape(snapshot.detail)}",
        ]
        lines.append(_cells("td", row))
    title = f"Command log of {escape(flown.name)}"
    note = "(as telemetry reported it; under each command, why it was sent)"
    return (
        f'<section><div id="flight{number}"></div><h2>{title} <span class="muted">{note}</span></h2>'
        f"<table>{''.join(lines)}</table></section>"
    )
